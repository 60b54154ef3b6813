"""What other services ask of a learner: to import a file of what is learned."""

import structlog
from pydantic import ValidationError

from services.learner.core.files.importer import Importer
from shared.contracts.learning_files import FileErrand, FileReport, LearningFile
from shared.infra.errands import Errands

log = structlog.get_logger()


async def keep_importing(errands: Errands, importer: Importer) -> None:
    """Runs until cancelled."""

    async def do(text: str) -> str:
        try:
            errand = FileErrand.model_validate_json(text)
        except ValidationError as error:
            problem = f"it is no errand that this version knows: {error.error_count()} fields are wrong"
            return FileReport(file=LearningFile.CASE_LOG, problems=(problem,)).model_dump_json()
        report = await importer.carry_out(errand)
        log.info("file_imported", tenant=errand.tenant, **report.model_dump(mode="json", exclude={"v"}))
        return report.model_dump_json()

    await errands.serve(do)
