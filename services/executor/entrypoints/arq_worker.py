"""The queue's side of the executor: a job is only a claim, so it ends at once."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping
from typing import cast

import structlog
from arq.connections import ArqRedis
from arq.worker import Retry, Worker, func
from typing_extensions import override

from services.executor.core.turn.runner import Runner
from services.executor.ports.sessions import FreeSlotsByTenant
from shared.infra.keys import BELL, HEALTH, QUEUE, tenant_of
from shared.infra.lua import answering
from shared.infra.redis import queue_connections
from shared.infra.wakes import WAKE_JOB, ArqWakes, from_bytes, to_bytes
from shared.ports.store import StoreUnavailable

_CLAIM_SECONDS = 10
_TAKEN_SECONDS = 3  # for which arq keeps a wake that died half-way from being taken again
_POLL_SECONDS = 1.0  # the doorbell is the fast way; this finds what it missed
_BELL_SECONDS = 5
_AGAIN_SECONDS = 0.5
_AT_ONCE = 16  # sessions that are claimed side by side
_READ = 256  # wakes that one look reads: those of tenants without room here stand among them, in turn with the others
_TRIES = 1_000_000  # a wake for which there was no room after all keeps its place

log = structlog.get_logger()


class WakeWorker(Worker):
    """arq's worker, which looks when the doorbell rings or a session has ended here, and only while there is room.

    It takes the wakes for which the runner has room, tenant by tenant, and leaves all others where they stand.
    """

    def __init__(self, pool: ArqRedis, runner: Runner, wakes: ArqWakes) -> None:
        super().__init__(
            [func(self._wake, name=WAKE_JOB)],  # type: ignore[arg-type]  # arq types the context as dict[Any, Any]
            queue_name=QUEUE,
            redis_pool=pool,
            handle_signals=False,
            max_jobs=_AT_ONCE,
            job_timeout=_CLAIM_SECONDS,
            max_tries=_TRIES,
            keep_result=0,
            queue_read_limit=_READ,
            poll_delay=_POLL_SECONDS,
            health_check_key=HEALTH,
            health_check_interval=30,
            job_serializer=to_bytes,
            job_deserializer=from_bytes,
            log_results=False,
        )
        self.in_progress_timeout_s = _TAKEN_SECONDS
        self._runner, self._wakes = runner, wakes
        self._places: dict[str, int] = {}  # jobs under way: their scores when they were taken
        self._claims: list[asyncio.Task[object]] = []  # of the last look

    async def main(self) -> None:
        """Looks at the queue until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            while True:
                await self._look()

    async def _look(self) -> None:
        await self._runner.has_free_slot.wait()
        self._runner.changed.clear()
        self._claims = []
        try:
            async with answering():
                await self._poll_iteration()
        except StoreUnavailable as error:
            await self._complain(error)
            self._count_anew()
            return
        if self._claims:
            await asyncio.wait(self._claims)  # what is claimed counts before more is taken
        else:
            await self._await_change()

    @override
    async def start_jobs(self, job_ids: list[bytes]) -> None:
        """Starts those of the waiting jobs for which there is room here."""
        fitting = list(_select_fitting(job_ids, self._runner.free_slots))
        await super().start_jobs(fitting)
        names = [job_id.decode() for job_id in fitting]
        self._claims = [self.tasks[name] for name in names if name in self.tasks]

    @override
    async def run_job(self, job_id: str, score: int) -> None:
        self._places[job_id] = score
        try:
            await super().run_job(job_id, score)
        finally:
            self._places.pop(job_id, None)

    @override
    async def finish_job(
        self,
        job_id: str,
        finish: bool,
        result_data: bytes | None,
        result_timeout_s: float | None,
        keep_result_forever: bool,
        incr_score: int | None,
        keep_in_progress: float | None,
    ) -> None:
        """Ends a job by ending its wake: arq would forget a session that was woken while it was looked at."""
        if finish:
            return await self._wakes.end_wake(job_id, self._places[job_id])
        rest = (result_data, result_timeout_s, keep_result_forever, incr_score, keep_in_progress)
        return await super().finish_job(job_id, finish, *rest)

    async def _await_change(self) -> None:
        try:
            async with asyncio.timeout(_POLL_SECONDS):
                await self._runner.changed.wait()
        except TimeoutError:
            return

    async def _listen(self) -> None:
        """Waits for the doorbell, except while there is no room here: then it is left to others."""
        while True:
            await self._runner.has_free_slot.wait()
            try:
                async with answering(_BELL_SECONDS + 5.0):
                    if await self._wait_for_bell():
                        self._runner.changed.set()
            except StoreUnavailable as error:
                await self._complain(error)

    async def _wait_for_bell(self) -> bool:
        ring = self.pool.blpop([BELL], _BELL_SECONDS)
        return bool(await cast("Awaitable[object]", ring))

    async def close_quietly(self) -> None:
        """Lets claims under way end, then leaves the queue: arq's own ``close`` would cancel them."""
        self.allow_pick_jobs = False
        if self.tasks:
            await asyncio.wait(self.tasks.values(), timeout=_CLAIM_SECONDS)
        await self.pool.aclose(close_connection_pool=True)

    async def _wake(self, _context: Mapping[str, object], tenant: str, session_id: str) -> None:
        try:
            taken = await self._runner.offer(tenant, session_id)
            if not taken and self._runner.free <= 0:
                raise Retry  # the last place went to another meanwhile
        except StoreUnavailable as error:  # the reaper wakes the session again
            log.warning("claim_failed", session=session_id, error=str(error))

    async def _complain(self, error: Exception) -> None:
        log.warning("queue_unavailable", error=str(error))
        await asyncio.sleep(_AGAIN_SECONDS)

    def _count_anew(self) -> None:
        """Corrects arq's count of running jobs, which counts a job before it asks Redis for it: an error in between
        would take that place for good.
        """
        under_way = sum(not task.done() for task in self.tasks.values())
        for _ in range(self.job_counter - under_way):
            self._release_sem_dec_counter_on_complete()


def _select_fitting(job_ids: list[bytes], free_slots: FreeSlotsByTenant) -> Iterator[bytes]:
    """Yields the first jobs for whose tenants there is room."""
    left, started = min(free_slots.of_all, _AT_ONCE), Counter[str]()
    for job_id in job_ids:
        tenant = tenant_of(job_id.decode())
        if left > 0 and started[tenant] < free_slots.of.get(tenant, free_slots.of_any):
            started[tenant] += 1
            left -= 1
            yield job_id


def queue_pool(url: str) -> ArqRedis:
    """arq's connections to the queue's server. Its own log of each job is turned down."""
    logging.getLogger("arq").setLevel(logging.WARNING)
    return ArqRedis(
        queue_connections(url), job_serializer=to_bytes, job_deserializer=from_bytes, default_queue_name=QUEUE
    )
