"""The queue's side of the executor: a job is only a claim, so it ends at once."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import Protocol, cast

import structlog
from arq.connections import ArqRedis
from arq.worker import Worker, func

from shared.infra.keys import BELL, HEALTH, QUEUE
from shared.infra.lua import answering
from shared.infra.redis import queue_connections
from shared.infra.wakes import WAKE_JOB, from_bytes, to_bytes
from shared.ports.store import StoreUnavailable

_CLAIM_SECONDS = 10  # also how long arq keeps a wake that died half-way from being taken again
_POLL_SECONDS = 1.0  # the doorbell is the fast way; this finds what it missed
_BELL_SECONDS = 5
_AGAIN_SECONDS = 0.5
_AT_ONCE = 100

log = structlog.get_logger()


class TakesSessions(Protocol):
    """What the queue needs of the runner."""

    room: asyncio.Event

    @property
    def free(self) -> int: ...

    async def offer(self, tenant: str, session_id: str) -> bool: ...


class WakeWorker(Worker):
    """arq's worker, which looks when the doorbell rings, and only while the runner has room."""

    def __init__(self, pool: ArqRedis, runner: TakesSessions) -> None:
        super().__init__(
            [func(self._wake, name=WAKE_JOB)],  # type: ignore[arg-type]  # arq types the context as dict[Any, Any]
            queue_name=QUEUE,
            redis_pool=pool,
            handle_signals=False,
            max_jobs=_AT_ONCE,
            job_timeout=_CLAIM_SECONDS,
            keep_result=0,
            poll_delay=_POLL_SECONDS,
            health_check_key=HEALTH,
            health_check_interval=30,
            job_serializer=to_bytes,
            job_deserializer=from_bytes,
            log_results=False,
        )
        self._runner = runner
        self._rung = asyncio.Event()

    async def main(self) -> None:
        """Look at the queue for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            while True:
                await self._look()

    async def _look(self) -> None:
        await self._runner.room.wait()
        self._rung.clear()
        try:
            self.queue_read_limit = max(1, min(self._runner.free, _AT_ONCE))
            async with answering():
                await self._poll_iteration()
        except StoreUnavailable as error:
            await self._complain(error)
            self._count_anew()
        else:
            await self._wait_for_ring()

    async def _wait_for_ring(self) -> None:
        try:
            async with asyncio.timeout(_POLL_SECONDS):
                await self._rung.wait()
        except TimeoutError:
            return

    async def _listen(self) -> None:
        """Wait for the doorbell, but leave it to others while there is no room here."""
        while True:
            await self._runner.room.wait()
            try:
                async with answering(_BELL_SECONDS + 5.0):
                    if await self._ring():
                        self._rung.set()
            except StoreUnavailable as error:
                await self._complain(error)

    async def _ring(self) -> bool:
        ring = self.pool.blpop([BELL], _BELL_SECONDS)
        return bool(await cast("Awaitable[object]", ring))

    async def close_quietly(self) -> None:
        """Let claims under way end, then leave the queue: arq's own ``close`` would cancel them."""
        self.allow_pick_jobs = False
        if self.tasks:
            await asyncio.wait(self.tasks.values(), timeout=_CLAIM_SECONDS)
        await self.pool.aclose()

    async def _wake(self, _context: Mapping[str, object], tenant: str, session_id: str) -> None:
        try:
            await self._runner.offer(tenant, session_id)
        except StoreUnavailable as error:  # the reaper wakes the session again
            log.warning("claim_failed", session=session_id, error=str(error))

    async def _complain(self, error: Exception) -> None:
        log.warning("queue_unavailable", error=str(error))
        await asyncio.sleep(_AGAIN_SECONDS)

    def _count_anew(self) -> None:
        """arq counts a job before it asks Redis for it; an error in between would take that place for good."""
        under_way = sum(not task.done() for task in self.tasks.values())
        for _ in range(self.job_counter - under_way):
            self._release_sem_dec_counter_on_complete()


def queue_pool(url: str) -> ArqRedis:
    """arq's connections to the queue's server. Its own log of each job is turned down."""
    logging.getLogger("arq").setLevel(logging.WARNING)
    return ArqRedis(
        queue_connections(url), job_serializer=to_bytes, job_deserializer=from_bytes, default_queue_name=QUEUE
    )
