"""What other services ask of an executor: to import synthesized processes."""

import structlog
from pydantic import ValidationError

from services.executor.core.states.definitions import import_processes
from services.executor.ports.learned import Learned
from shared.contracts.learning_files import FileErrand, FileReport, LearningFile
from shared.infra.errands import Errands
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()


async def keep_importing(errands: Errands, learned: Learned) -> None:
    """Runs until cancelled."""

    async def do(text: str) -> str:
        try:
            errand = FileErrand.model_validate_json(text)
        except ValidationError as error:
            problem = f"it is no errand that this version knows: {error.error_count()} fields are wrong"
            return FileReport(file=LearningFile.SYNTHESIZED, problems=(problem,)).model_dump_json()
        try:
            return (await import_processes(learned, errand)).model_dump_json()
        except StoreUnavailable:
            raise
        except Exception as error:  # the edge of one file: what is in it stops no executor
            log.exception("file_not_imported", tenant=errand.tenant, file=errand.file.value)
            problem = f"it cannot be imported: {type(error).__name__}"
            return FileReport(file=errand.file, problems=(problem,), dry_run=errand.dry_run).model_dump_json()

    await errands.serve(do)
