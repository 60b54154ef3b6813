"""Tasks that are refused while too much work waits already (``Tasks``); what is stored is read and decided as ever."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import structlog
from typing_extensions import override

from services.gateway.adapters.tasks.passing_tasks import PassingTasks
from services.gateway.core.errors import TooManyRequests
from shared.contracts.task import TaskRecord, Turn
from shared.ports.tasks import Accepted, Tasks

KEPT_SECONDS = 1.0  # for which a count lets messages in: it costs one round trip a second, however many come
REFUSES_SECONDS = 0.1  # for which it refuses them: by then an executor may have begun what waited
RETRY_SECONDS = 5.0
TOLD_SECONDS = 10.0  # until it is said again that messages are refused

log = structlog.get_logger()


class Backlog(Protocol):
    async def waiting(self) -> int:
        """How many sessions wait for an executor; may raise ``StoreUnavailable``."""
        ...


class SheddingTasks(PassingTasks):
    def __init__(self, tasks: Tasks, backlog: Backlog, most: int, clock: Callable[[], float]) -> None:
        """``clock``: seconds that never go back."""
        super().__init__(tasks)
        self._limit = _WaitingLimit(backlog, most, clock)

    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        """Also raises ``TooManyRequests``; then nothing was stored. What was taken before is not refused now."""
        async with self._limit.reserve() as place:
            if place is not None:
                accepted = await self._tasks.accept(record, turn, dedupe)
                place.is_filled = accepted.fresh
                return accepted
        if before := await self._tasks.accepted_before(record, turn, dedupe):
            return before
        raise TooManyRequests("more work waits than this installation takes on", RETRY_SECONDS)


class _Reservation:
    is_filled = False


class _WaitingLimit:
    """How many more sessions may wait: what was counted, what was stored since, and what is being stored now.

    Nobody is let in or refused by a count that is too old: whoever finds it so has it made anew, and all others wait
    for that. While it is made nothing is being stored, so nothing is counted twice or left out.
    """

    def __init__(self, backlog: Backlog, most: int, clock: Callable[[], float]) -> None:
        self._backlog, self._most, self._clock = backlog, most, clock
        self._waiting, self._counted_at, self._tell_at = 0, float("-inf"), float("-inf")
        self._reserved = 0
        self._all_stored = asyncio.Event()
        self._all_stored.set()
        self._counting = asyncio.Lock()

    @asynccontextmanager
    async def reserve(self) -> AsyncIterator[_Reservation | None]:
        """A place among those that may wait; None if there is none. May raise ``StoreUnavailable``."""
        if not await self._has_place():
            yield None
            return
        self._reserved += 1
        self._all_stored.clear()
        place = _Reservation()
        try:
            yield place
        finally:
            self._reserved -= 1
            self._waiting += place.is_filled
            if not self._reserved:
                self._all_stored.set()

    async def _has_place(self) -> bool:
        """Nothing is awaited between this answer and what the caller does with it."""
        async with self._counting:
            age = self._clock() - self._counted_at
            if age >= KEPT_SECONDS or (self._is_full() and age >= REFUSES_SECONDS):
                await self._all_stored.wait()
                await self._count()
            return not self._is_full()

    def _is_full(self) -> bool:
        return self._waiting + self._reserved >= self._most

    async def _count(self) -> None:
        began = self._clock()
        self._waiting = await self._backlog.waiting()
        self._counted_at = began
        if self._is_full() and began >= self._tell_at:
            self._tell_at = began + TOLD_SECONDS
            log.warning("load_shedding", waiting=self._waiting, most=self._most)
