"""Fair shares on a real store: one tenant's flood leaves room for another, and nobody polls for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from services.executor.adapters.redis_sessions import RedisSlots
from services.executor.core.turn.fair_share import FairShareSlots, share
from services.executor.core.turn.runner import Runner, RunnerLimits
from services.executor.entrypoints.arq_worker import WakeWorker, queue_pool
from services.executor.ports.policy import Tenants
from services.executor.ports.sessions import RunsTurns, Work
from services.executor.ports.turns import TurnStore
from shared.contracts.tenant import TenantRecord
from shared.infra import keys
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from tests.doubles.redis_tasks import a_record, a_turn
from tests.doubles.runners import a_runner
from tests.integration.state_stage import an_end, sessions_of

pytestmark = pytest.mark.promise("tenant.fair_shares")
LIMITS = RunnerLimits(capacity=20)
FLOOD = 40


class Capped(Tenants):
    """Every tenant has the same cap."""

    def __init__(self, cap: int | None) -> None:
        self._cap = cap

    async def get(self, tenant: str) -> TenantRecord:
        return TenantRecord(id=tenant, max_running=self._cap)


class Held(RunsTurns):
    """Turns that end when the test lets them; how many of a tenant ran at once is noted."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self.all_ended = asyncio.Event()
        self.most: dict[str, int] = {}
        self.now: dict[str, int] = {}
        self.let_go = asyncio.Event()

    async def run(self, work: Work, store: TurnStore) -> None:
        tenant = work.record.tenant
        self.now[tenant] = self.now.get(tenant, 0) + 1
        self.most[tenant] = max(self.most.get(tenant, 0), self.now[tenant])
        await self.let_go.wait()
        self.now[tenant] -= 1
        self._expected -= 1
        await store.finish(an_end(work))
        if not self._expected:
            self.all_ended.set()


async def _accepted(store: TaskStore, tenant: str, number: int) -> str:
    session_id = f"s{number}"
    record = a_record(session_id).model_copy(update={"tenant": tenant})
    await store.accept(record, a_turn(record), dedupe=None)
    return session_id


@asynccontextmanager
async def _fleet(redis: Redis, url: str, worker: Held, cap: int | None, size: int = 1) -> AsyncIterator[list[Runner]]:
    """Executors that take what is queued, each as a process of its own would."""
    runners = []
    async with asyncio.timeout(100), asyncio.TaskGroup() as group:
        for number in range(size):
            wakes = ArqWakes(redis)
            slots = FairShareSlots(RedisSlots(redis), Capped(cap), wakes, slot_seconds=60.0)
            runner = a_runner(sessions_of(redis, f"r{number}"), wakes, worker, LIMITS, slots=slots)
            runners.append(runner)
            group.create_task(runner.serve())
            group.create_task(_look_until_stopped(WakeWorker(queue_pool(url), runner, wakes), runner))
        await asyncio.sleep(0)
        yield runners
        for runner in runners:
            await runner.stop(0.0)


async def _look_until_stopped(queue: WakeWorker, runner: Runner) -> None:
    looking = asyncio.create_task(queue.main())
    while not runner.stopping:
        await asyncio.sleep(0.05)
    looking.cancel()
    await asyncio.wait([looking])
    await queue.close_quietly()


async def _queued(redis: Redis, store: TaskStore, tenant: str, count: int) -> None:
    for number in range(count):
        await ArqWakes(redis).wake(tenant, await _accepted(store, tenant, number))


@pytest.mark.parametrize("cap", [None, 5])
async def test_a_tenants_flood_leaves_room_for_another(
    redis: Redis, redis_url: str, task_store: TaskStore, cap: int | None
) -> None:
    """With a cap and without one: the other tenant's session is begun while the flood waits."""
    await _queued(redis, task_store, "flood", FLOOD)
    worker = Held(FLOOD + 1)
    async with _fleet(redis, redis_url, worker, cap) as (runner,):
        while worker.now.get("flood", 0) < (cap or 18):
            await asyncio.sleep(0.01)
        await _queued(redis, task_store, "quiet", 1)
        while not worker.now.get("quiet"):
            await asyncio.sleep(0.01)
        assert runner.free > 0
        worker.let_go.set()
        await worker.all_ended.wait()
    assert worker.most == {"flood": cap or 18, "quiet": 1}


async def test_every_slot_is_used_and_each_session_is_woken_once(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
    """A slot that falls free is filled at once, by whom waits in the queue; without a look of the reaper."""
    before = await _rings(redis)
    await _queued(redis, task_store, "flood", 4 * FLOOD)
    worker = Held(4 * FLOOD)
    async with _fleet(redis, redis_url, worker, None) as (runner,):
        while worker.now.get("flood", 0) < 18:
            await asyncio.sleep(0.01)
        worker.let_go.set()
        await worker.all_ended.wait()
        await runner.idle.wait()
    assert worker.most["flood"] == 18
    assert await _rings(redis) - before == 2 * 4 * FLOOD  # once into the inbox, once for the bell


async def _rings(redis: Redis) -> int:
    said: dict[str, dict[str, int]] = await redis.info("commandstats")
    return said.get("cmdstat_rpush", {}).get("calls", 0)


async def test_a_cap_holds_over_all_executors_and_each_end_wakes_one_that_waits(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
    """Every session is worked on in the end, without a look of the reaper."""
    await _queued(redis, task_store, "flood", FLOOD)
    worker = Held(FLOOD)
    worker.let_go.set()
    async with _fleet(redis, redis_url, worker, cap=4, size=2) as runners:
        await worker.all_ended.wait()
        await asyncio.gather(*(runner.idle.wait() for runner in runners))
    assert worker.most["flood"] <= 4
    assert not await redis.exists(*keys.slot_keys("flood"))


@given(free=st.integers(0, 600), here=st.integers(0, 600))
def test_a_tenant_takes_no_more_than_there_is_and_leaves_a_place_for_another(free: int, here: int) -> None:
    left = free - share(here, free)
    assert 0 <= left <= free
    assert share(0, left) > 0 or free < 2


def test_a_tenant_alone_takes_nine_tenths_and_one_beside_another_less_than_half() -> None:
    assert [share(0, capacity) for capacity in (1, 2, 16, 500)] == [1, 1, 15, 450]
    mine, yours = 0, 0
    while share(mine, 500 - mine - yours) or share(yours, 500 - mine - yours):
        mine += share(mine, 500 - mine - yours) > 0
        yours += share(yours, 500 - mine - yours) > 0
    assert (mine, yours) == (237, 237)


async def test_a_session_over_the_cap_holds_no_lease_and_is_left_alone_by_the_reaper(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
    """It is put off, not dropped: the reaper asks again in half a minute, in case its wake is lost."""
    first, second = [await _accepted(task_store, "flood", number) for number in range(2)]
    now = (await redis.time())[0] * 1000
    worker = Held(2)
    async with _fleet(redis, redis_url, worker, cap=1) as (runner,):
        taken = [await runner.offer("flood", first), await runner.offer("flood", second)]
        member = keys.pack(keys.Member("flood", second))
        partition = keys.partition_keys_of("flood", second)
        due, leased = await redis.zscore(partition.waiting, member), await redis.zscore(partition.leased, member)
        worker.let_go.set()
        await worker.all_ended.wait()
    assert taken == [True, False]
    assert leased is None
    assert due is not None
    assert due - now > 20_000


async def test_the_slots_of_a_dead_executor_are_free_after_their_time(redis: Redis) -> None:
    """Nobody has to clean up after it."""
    store = RedisSlots(redis)
    assert await store.take("acme", "a", 1, 0.001)
    await redis.wait(0, 5)
    assert await _until_taken(store)


async def _until_taken(store: RedisSlots) -> bool:
    async with asyncio.timeout(5):
        while not await store.take("acme", "b", 1, 5.0):
            continue
    return True
