"""Tasks that are refused while too much work waits already (``Tasks``); what is stored is read and decided as ever."""

from collections.abc import Callable
from typing import Protocol

import structlog
from typing_extensions import override

from services.gateway.adapters.tasks.passing_tasks import PassingTasks
from services.gateway.core.errors import TooManyRequests
from shared.contracts.task import TaskRecord, Turn
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import Accepted, Tasks

KEPT_SECONDS = 1.0  # for which a count serves: it costs one round trip a second, however many messages come
RETRY_SECONDS = 5.0

log = structlog.get_logger()


class Backlog(Protocol):
    async def waiting(self) -> int:
        """How many sessions wait for an executor; may raise ``StoreUnavailable``."""
        ...


class SheddingTasks(PassingTasks):
    def __init__(self, tasks: Tasks, backlog: Backlog, most: int, clock: Callable[[], float]) -> None:
        """``clock``: seconds that never go back."""
        super().__init__(tasks)
        self._backlog, self._most, self._clock = backlog, most, clock
        self._waiting, self._again_at, self._sheds = 0, 0.0, False

    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        """Also raises ``TooManyRequests``; then nothing was stored. What was taken before is not refused now."""
        await self._count_in_time()
        if self._waiting >= self._most:
            if before := await self._tasks.accepted_before(record, turn, dedupe):
                return before
            raise TooManyRequests("more work waits than this installation takes on", RETRY_SECONDS)
        accepted = await self._tasks.accept(record, turn, dedupe)
        self._waiting += accepted.fresh  # until somebody counts again
        return accepted

    async def _count_in_time(self) -> None:
        """One of all who ask at once counts anew; the others go by the last count."""
        if self._clock() >= self._again_at:
            self._again_at = self._clock() + KEPT_SECONDS
            await self._count()

    async def _count(self) -> None:
        try:
            self._waiting = await self._backlog.waiting()
        except StoreUnavailable as error:  # who stores the message will say so, if it is still true then
            log.warning("backlog_unknown", error=str(error))
            return
        if (self._waiting >= self._most) is not self._sheds:
            self._sheds = not self._sheds
            log.warning("load_shedding", on=self._sheds, waiting=self._waiting, most=self._most)
