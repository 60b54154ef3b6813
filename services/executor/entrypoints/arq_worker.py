"""The queue's side of the executor: a job is only a claim, so it ends at once. One look at the queue:

WakeWorker.main        looks again and again, while the runner has room (``_take_wakes``)
  take_wakes           locks those for whose tenants there is room (arq itself asks four times for each)
  run_job              arq's: reads a wake and calls the function of its name, which is ``_wake``
    _wake              offers the session to the runner
    finish_job         ends the wake, or leaves it where it stands
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import cast

import structlog
from arq.connections import ArqRedis
from arq.constants import in_progress_key_prefix
from arq.worker import Retry, Worker, func
from typing_extensions import override

from services.executor.core.turn.runner import Runner
from shared.infra.keys import DOORBELL_KEY, QUEUE_HEALTH_KEY, QUEUE_KEY
from shared.infra.lua import bounded_redis_calls
from shared.infra.redis import make_queue_pool
from shared.infra.wakes import WAKE_JOB, ArqWakes, job_from_bytes, job_to_bytes
from shared.ports.store import StoreUnavailable

_CLAIM_SECONDS = 10
_POLL_SECONDS = 1.0  # the doorbell is the fast way; this finds what it missed
_DOORBELL_WAIT_SECONDS = 5
_RETRY_SECONDS = 0.5
_CLAIMS_AT_ONCE = 16  # sessions that are claimed side by side

log = structlog.get_logger()


class WakeWorker(Worker):
    """arq's worker, which takes jobs only while the runner has capacity. It looks for jobs when a wake was queued or a
    session has ended here, and each second. It takes the wakes of tenants that may run further sessions, and leaves all
    others in the queue.
    """

    def __init__(self, pool: ArqRedis, runner: Runner, wakes: ArqWakes) -> None:
        super().__init__(
            [func(self._wake, name=WAKE_JOB)],  # type: ignore[arg-type]  # arq types the context as dict[Any, Any]
            queue_name=QUEUE_KEY,
            redis_pool=pool,
            on_job_start=self._remember_queue_score,
            handle_signals=False,
            job_timeout=_CLAIM_SECONDS,
            max_tries=sys.maxsize,  # a wake for which there was no room after all keeps its place
            keep_result=0,
            health_check_key=QUEUE_HEALTH_KEY,
            health_check_interval=30,
            job_serializer=job_to_bytes,
            job_deserializer=job_from_bytes,
            log_results=False,
        )
        self._runner, self._wakes = runner, wakes
        self._scores: dict[str, int] = {}  # jobs under way: their scores when they were taken

    @override
    async def main(self) -> None:
        """Takes wakes until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._await_wake_signal())
            while True:
                await self._runner.has_free_slot.wait()
                try:
                    await self._take_wakes()
                except StoreUnavailable as error:
                    await self._log_and_pause(error)

    async def _take_wakes(self) -> None:
        """Starts the jobs for which there is capacity; if there are none, waits for a change."""
        self._runner.changed.clear()
        async with bounded_redis_calls():
            most, of_other_tenant, by_tenant = self._runner.free_slots
            wakes = await self._wakes.take_wakes(min(most, _CLAIMS_AT_ONCE), of_other_tenant, by_tenant)
            self.tasks |= {job_id: self.loop.create_task(self.run_job(job_id, score)) for job_id, score in wakes}
            await self.heart_beat()
        if self.tasks:
            await self._await_claims()
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._runner.changed.wait()

    async def _await_claims(self) -> None:
        """Waits for the jobs in progress, so that their claims count before more jobs are taken."""
        claims = list(self.tasks.values())
        await asyncio.wait(claims)
        self.tasks.clear()
        async with bounded_redis_calls():
            for error in filter(None, [claim.exception() for claim in claims]):
                raise error

    async def _await_wake_signal(self) -> None:
        """Waits, while there is capacity, for an entry in the doorbell, a Redis list that each wake adds to; it starts
        another look for jobs. Without capacity the entries are left to other executors.
        """
        while True:
            await self._runner.has_free_slot.wait()
            try:
                async with bounded_redis_calls(_DOORBELL_WAIT_SECONDS + 5.0):
                    if await cast("Awaitable[object]", self.pool.blpop([DOORBELL_KEY], _DOORBELL_WAIT_SECONDS)):
                        self._runner.changed.set()
            except StoreUnavailable as error:
                await self._log_and_pause(error)

    async def _log_and_pause(self, error: Exception) -> None:
        log.warning("queue_unavailable", error=str(error))
        await asyncio.sleep(_RETRY_SECONDS)

    async def _remember_queue_score(self, ctx: Mapping[str, object]) -> None:
        self._scores[str(ctx["job_id"])] = cast(int, ctx["score"])

    async def _wake(self, _context: Mapping[str, object], tenant: str, session_id: str) -> None:
        try:
            is_claimed = await self._runner.offer(tenant, session_id)
            if not is_claimed and self._runner.free_capacity <= 0:
                raise Retry  # the last place went to another meanwhile
        except StoreUnavailable as error:  # the reaper wakes the session again
            log.warning("session_claim_failed", session=session_id, error=str(error))

    @override
    async def finish_job(self, job_id: str, finish: bool, *_rest: object, **_more: object) -> None:
        """Ends a job by removing its wake. A newer wake of the session stays, which arq itself would remove, too."""
        score = self._scores.pop(job_id)
        if finish:
            await self._wakes.end_wake(job_id, score)
        else:
            await self.pool.delete(in_progress_key_prefix + job_id)

    async def drain_and_close(self) -> None:
        """Lets claims in progress end, then closes the queue. arq's own ``close`` would cancel them."""
        if self.tasks:
            await asyncio.wait(self.tasks.values(), timeout=_CLAIM_SECONDS)
        await self.pool.aclose(close_connection_pool=True)


def open_queue_pool(url: str) -> ArqRedis:
    """arq's connections to the queue's Redis. arq's log of each job is silenced."""
    logging.getLogger("arq").setLevel(logging.WARNING)
    return ArqRedis(
        make_queue_pool(url), job_serializer=job_to_bytes, job_deserializer=job_from_bytes, default_queue_name=QUEUE_KEY
    )
