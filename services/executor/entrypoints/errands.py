"""What other services ask of an executor: to import synthesized processes."""

from pydantic import ValidationError

from services.executor.core.importing import import_processes
from services.executor.ports.learned import Learned
from shared.contracts.learning_files import FileErrand, FileReport, LearningFile
from shared.infra.errands import Errands


async def keep_importing(errands: Errands, learned: Learned) -> None:
    """Runs until cancelled."""

    async def do(text: str) -> str:
        try:
            errand = FileErrand.model_validate_json(text)
        except ValidationError as error:
            problem = f"it is no errand that this version knows: {error.error_count()} fields are wrong"
            return FileReport(file=LearningFile.SYNTHESIZED, problems=(problem,)).model_dump_json()
        return (await import_processes(learned, errand)).model_dump_json()

    await errands.serve(do)
