"""What other services ask of a learner: to import a file of what is learned."""

import structlog
from pydantic import ValidationError

from services.learner.core.files.importer import Importer
from shared.contracts.learning_files import FileReport, FileRequest, LearningFile
from shared.infra.rpc import RpcQueue
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()


async def keep_importing(queue: RpcQueue, importer: Importer) -> None:
    """Runs until cancelled."""

    async def do(text: str) -> str:
        try:
            request = FileRequest.model_validate_json(text)
        except ValidationError as error:
            problem = f"it is no request that this version knows: {error.error_count()} fields are wrong"
            return FileReport(file=LearningFile.CASE_LOG, problems=(problem,)).model_dump_json()
        try:
            report = await importer.carry_out(request)
        except StoreUnavailable:
            raise
        except Exception as error:  # the edge of one file: what is in it stops no learner
            log.exception("file_not_imported", tenant=request.tenant, file=request.file.value)
            problem = f"it cannot be imported: {type(error).__name__}"
            return FileReport(file=request.file, problems=(problem,), dry_run=request.dry_run).model_dump_json()
        log.info("file_imported", tenant=request.tenant, **report.model_dump(mode="json", exclude={"v"}))
        return report.model_dump_json()

    await queue.serve(do)
