"""What other services ask of a learner: to import a file of what is learned."""

import structlog
from pydantic import ValidationError

from services.learner.core.files.importer import Importer
from shared.contracts.learning_files import FileErrand, FileReport, LearningFile
from shared.infra.errands import Errands
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()


async def keep_importing(errands: Errands, importer: Importer) -> None:
    """Runs until cancelled."""

    async def do(text: str) -> str:
        try:
            errand = FileErrand.model_validate_json(text)
        except ValidationError as error:
            problem = f"it is no errand that this version knows: {error.error_count()} fields are wrong"
            return FileReport(file=LearningFile.CASE_LOG, problems=(problem,)).model_dump_json()
        try:
            report = await importer.carry_out(errand)
        except StoreUnavailable:
            raise
        except Exception as error:  # the edge of one file: what is in it stops no learner
            log.exception("file_not_imported", tenant=errand.tenant, file=errand.file.value)
            problem = f"it cannot be imported: {type(error).__name__}"
            return FileReport(file=errand.file, problems=(problem,), dry_run=errand.dry_run).model_dump_json()
        log.info("file_imported", tenant=errand.tenant, **report.model_dump(mode="json", exclude={"v"}))
        return report.model_dump_json()

    await errands.serve(do)
