"""Fair shares on a real store: one tenant's flood leaves room for another, and nobody polls for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_slots import RedisSlots
from services.executor.core.turn.fair_share import Shares
from services.executor.core.turn.runner import Runner, RunnerLimits, RunsTurns
from services.executor.ports.policy import Tenants
from services.executor.ports.sessions import Work
from services.executor.ports.turns import TurnStore
from shared.contracts.tenant import TenantRecord
from shared.infra import keys
from shared.infra.task_store import TaskStore
from shared.ports.tasks import Wakes
from tests.doubles.redis_tasks import a_record, a_turn
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


class Offers(Wakes):
    """A wake is an offer to one of the runners, as the queue makes it."""

    def __init__(self) -> None:
        self.runners: list[Runner] = []
        self.woken: list[str] = []

    async def wake(self, tenant: str, session_id: str) -> None:
        self.woken.append(session_id)
        self._group.create_task(self.runners[len(self.woken) % len(self.runners)].offer(tenant, session_id))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as self._group:
            yield


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
async def _fleet(redis: Redis, worker: Held, cap: int | None, size: int = 1) -> AsyncIterator[list[Runner]]:
    offers = Offers()
    async with asyncio.timeout(30), offers.open(), asyncio.TaskGroup() as group:
        for number in range(size):
            seats = Shares(RedisSlots(redis), Capped(cap), offers, LIMITS.capacity, seat_seconds=5.0)
            runner = Runner(sessions_of(redis, f"r{number}"), offers, worker, LIMITS, seats=seats)
            offers.runners.append(runner)
            group.create_task(runner.serve())
        await asyncio.sleep(0)
        yield offers.runners
        for runner in offers.runners:
            await runner.stop(0.0)


@pytest.mark.parametrize("cap", [None, 5])
async def test_a_tenants_flood_leaves_room_for_another(redis: Redis, task_store: TaskStore, cap: int | None) -> None:
    """With a cap and without one: the other tenant's session is taken while the flood waits."""
    flood = [await _accepted(task_store, "flood", number) for number in range(FLOOD)]
    quiet = await _accepted(task_store, "quiet", 1)
    worker = Held(FLOOD + 1)
    async with _fleet(redis, worker, cap) as (runner,):
        taken = sum([await runner.offer("flood", session_id) for session_id in flood])
        assert await runner.offer("quiet", quiet)
        worker.let_go.set()
        await worker.all_ended.wait()
    assert taken == (cap or 18)
    assert worker.most == {"flood": taken, "quiet": 1}


async def test_a_cap_holds_over_all_executors_and_each_end_wakes_one_that_waits(
    redis: Redis, task_store: TaskStore
) -> None:
    """Every session is worked on in the end, without a look of the reaper."""
    flood = [await _accepted(task_store, "flood", number) for number in range(FLOOD)]
    worker = Held(FLOOD)
    worker.let_go.set()
    async with _fleet(redis, worker, cap=4, size=2) as runners:
        for number, session_id in enumerate(flood):
            await runners[number % 2].offer("flood", session_id)
        await worker.all_ended.wait()
        await asyncio.gather(*(runner.idle.wait() for runner in runners))
    assert worker.most["flood"] <= 4
    assert not await redis.exists(*keys.seat_keys("flood"))


async def test_a_session_over_the_cap_holds_no_lease_and_is_left_alone_by_the_reaper(
    redis: Redis, task_store: TaskStore
) -> None:
    """It is put off, not dropped: the reaper asks again in half a minute, in case its wake is lost."""
    first, second = [await _accepted(task_store, "flood", number) for number in range(2)]
    worker = Held(2)
    async with _fleet(redis, worker, cap=1) as (runner,):
        taken = [await runner.offer("flood", first), await runner.offer("flood", second)]
        member = keys.pack(keys.Member("flood", second))
        partition = keys.partition_keys_of("flood", second)
        due, leased = await redis.zscore(partition.waiting, member), await redis.zscore(partition.leased, member)
        now = (await redis.time())[0] * 1000
        worker.let_go.set()
        await worker.all_ended.wait()
    assert taken == [True, False]
    assert leased is None
    assert due is not None
    assert due - now > 20_000


async def test_the_seats_of_a_dead_executor_are_free_after_their_time(redis: Redis) -> None:
    """Nobody has to clean up after it."""
    store = RedisSlots(redis)
    assert await store.take("acme", "a", 1, 0.001)
    await redis.wait(0, 5)
    assert await _until_seated(store)


async def _until_seated(store: RedisSlots) -> bool:
    async with asyncio.timeout(5):
        while not await store.take("acme", "b", 1, 5.0):
            continue
    return True
