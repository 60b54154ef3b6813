"""The heartbeat goes on beside a calculation that holds up the event loop, and not beside one that never ends."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_sessions import RedisSessions
from services.executor.core.turn.heartbeat import LeaseKeeper
from services.executor.core.turn.runner import Runner, RunnerLimits
from services.executor.entrypoints.heartbeat_thread import heartbeat_in_thread
from services.executor.ports.sessions import Beat, Lease, RunsTurns, Work
from services.executor.ports.turns import TurnStore
from shared.infra.keys import partition_keys_of
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.runners import a_runner
from tests.integration.state_stage import accepted, an_end, sessions_of

pytestmark = pytest.mark.promise("state.heartbeat_beside_work")
LEASE_SECONDS = 1.0
LIMITS = RunnerLimits(lease_seconds=LEASE_SECONDS, attempts=1)


class Calculates(RunsTurns):
    """Holds the event loop for longer than two leases, as no turn should."""

    def __init__(self) -> None:
        self.begun = 0

    async def run(self, work: Work, store: TurnStore) -> None:
        self.begun += 1
        until = time.monotonic() + 2.5 * LEASE_SECONDS
        while time.monotonic() < until:
            sum(range(1000))
        await store.finish(an_end(work))


class Waits(RunsTurns):
    def __init__(self) -> None:
        self.begun, self.cancelled = asyncio.Event(), asyncio.Event()

    async def run(self, work: Work, store: TurnStore) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()


@asynccontextmanager
async def _running(redis: Redis, url: str, worker: RunsTurns) -> AsyncIterator[Runner]:
    @asynccontextmanager
    async def leases() -> AsyncIterator[RedisSessions]:
        other = connect(url)
        try:
            yield RedisSessions(other, "one", LEASE_SECONDS)
        finally:
            await other.aclose()

    sessions, heartbeat = sessions_of(redis, "one", LEASE_SECONDS), heartbeat_in_thread(leases)
    runner = a_runner(sessions, HeardWakes(), worker, LIMITS, heartbeat=heartbeat)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(runner.serve())
        await asyncio.sleep(0)
        yield runner
        await runner.stop(0.0)


async def test_a_long_calculation_costs_no_session_its_lease(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
    await accepted(task_store)
    worker = Calculates()
    async with _running(redis, redis_url, worker) as runner:
        assert await runner.offer("acme", "s1")
        await runner.idle.wait()
    assert worker.begun == 1
    assert await redis.xlen(partition_keys_of("acme", "s1").outcomes) == 1
    assert await redis.xlen(partition_keys_of("acme", "s1").dead_turns) == 0


async def test_a_lease_that_another_took_ends_the_turn_here(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
    """The heart beats in another thread; what it learns there is told to the sessions' own event loop."""
    await accepted(task_store)
    worker = Waits()
    async with _running(redis, redis_url, worker) as runner:
        assert await runner.offer("acme", "s1")
        await worker.begun.wait()
        async for name in redis.scan_iter("pa:*:s:acme:s1:lease"):
            await redis.hset(name, "owner", "somebody else")  # type: ignore[misc]  # redis-py
        await worker.cancelled.wait()


class CountsBeats:
    def __init__(self) -> None:
        self.beats = 0

    async def extend_all(self, leases: object) -> Beat:
        self.beats += 1
        return Beat()


async def test_a_process_that_hangs_keeps_no_lease_for_good() -> None:
    """Nobody notes that the sessions' event loop lives, so the heart ceases to beat."""
    keeper, counting = LeaseKeeper(0.03), CountsBeats()
    watching = asyncio.ensure_future(keeper.watch(Lease("acme", "s1", 1, "one")))
    beating = asyncio.ensure_future(keeper.keep_extending(counting))
    await asyncio.sleep(0.6)
    before = counting.beats
    await asyncio.sleep(0.2)
    for task in (watching, beating):
        task.cancel()
    await asyncio.wait([watching, beating])
    assert before > 0
    assert counting.beats == before
