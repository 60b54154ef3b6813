"""A worker whose log lines carry the session, the task and the turn that they belong to (``RunsTurns``)."""

from contextlib import AbstractContextManager

import structlog
from typing_extensions import override

from services.executor.core.turn.runner import RunsTurns
from services.executor.ports.sessions import Work
from services.executor.ports.turns import TurnStore


class BoundTurns(RunsTurns):
    def __init__(self, worker: RunsTurns) -> None:
        self._worker = worker

    @override
    async def run(self, work: Work, store: TurnStore) -> None:
        with _log_context(work):
            await self._worker.run(work, store)

    @override
    async def settle(self, work: Work, store: TurnStore) -> None:
        with _log_context(work):
            await self._worker.settle(work, store)


def _log_context(work: Work) -> AbstractContextManager[None]:
    record = work.record
    named = {"tenant": record.tenant, "session": record.session_id, "task": record.task_id}
    return structlog.contextvars.bound_contextvars(**named, turn=work.turn.turn_id)
