"""What other services ask of an executor: to import synthesized processes."""

import structlog
from pydantic import ValidationError

from services.executor.core.states.synthesis import import_processes
from services.executor.ports.learned import Learned
from shared.contracts.learning_files import FileReport, FileRequest, LearningFile
from shared.infra.rpc import RpcQueue
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()


async def keep_importing(queue: RpcQueue, learned: Learned) -> None:
    """Runs until cancelled."""

    async def do(text: str) -> str:
        try:
            request = FileRequest.model_validate_json(text)
        except ValidationError as error:
            problem = f"it is no request that this version knows: {error.error_count()} fields are wrong"
            return FileReport(file=LearningFile.SYNTHESIZED, problems=(problem,)).model_dump_json()
        try:
            return (await import_processes(learned, request)).model_dump_json()
        except StoreUnavailable:
            raise
        except Exception as error:  # the edge of one file: what is in it stops no executor
            log.exception("file_not_imported", tenant=request.tenant, file=request.file.value)
            problem = f"it cannot be imported: {type(error).__name__}"
            return FileReport(file=request.file, problems=(problem,), dry_run=request.dry_run).model_dump_json()

    await queue.serve(do)
