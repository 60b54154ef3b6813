"""The queue of wakes on a real store: each session once, tenants in turn, and one tenant's flood leaves room."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
from arq.constants import in_progress_key_prefix
from hypothesis import given, strategies as st
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_sessions import RedisSlots
from services.executor.adapters.redis_upkeep import Reaper
from services.executor.core.session.journal import RepairedFaultCounter
from services.executor.core.turn.runner import FairShareSlots, Runner, compute_fair_slot_count
from services.executor.core.turn.session_run import RunnerLimits
from services.executor.entrypoints.arq_worker import WakeWorker, open_queue_pool
from services.executor.ports.services import Tenants
from services.executor.ports.turns import FreeSlotsByTenant, TurnRunner, TurnStore, TurnWork
from shared.contracts.tenant import TenantRecord
from shared.infra import keys
from shared.infra.lua import Argument, Scripts, build_script
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from tests.doubles.idle_runner import IdleRunner
from tests.doubles.redis_tasks import a_record, a_turn
from tests.doubles.runners import a_runner
from tests.integration.state_stage import accepted, an_end, sessions_of

LIMITS = RunnerLimits(capacity=20)
FLOOD = 40


class Capped(Tenants):
    """Every tenant has the same cap."""

    def __init__(self, cap: int | None) -> None:
        self._cap = cap

    async def get(self, tenant: str) -> TenantRecord:
        return TenantRecord(id=tenant, max_running=self._cap)


class Held(TurnRunner):
    """Turns that end when the test lets them; how many of a tenant ran at once is noted."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self.all_ended = asyncio.Event()
        self.most: dict[str, int] = {}
        self.now: dict[str, int] = {}
        self.let_go = asyncio.Event()

    async def run(self, work: TurnWork, store: TurnStore) -> None:
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
            group.create_task(_look_until_stopped(WakeWorker(open_queue_pool(url), runner, wakes), runner))
        await asyncio.sleep(0)
        yield runners
        for runner in runners:
            await runner.stop(0.0)


async def _look_until_stopped(queue: WakeWorker, runner: Runner) -> None:
    looking = asyncio.create_task(queue.main())
    while not runner.is_stopping:
        await asyncio.sleep(0.05)
    looking.cancel()
    await asyncio.wait([looking])
    await queue.drain_and_close()


async def _queued(redis: Redis, store: TaskStore, tenant: str, count: int) -> None:
    for number in range(count):
        await ArqWakes(redis).wake(tenant, await _accepted(store, tenant, number))


@pytest.mark.promise("tenant.fair_shares")
@pytest.mark.parametrize("cap", [None, 5])
async def test_a_flood_leaves_room_for_another(
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
        assert runner.free_capacity > 0
        worker.let_go.set()
        await worker.all_ended.wait()
    assert worker.most == {"flood": cap or 18, "quiet": 1}


@pytest.mark.promise("tenant.fair_shares")
async def test_every_slot_is_used_and_a_session_woken_once(redis: Redis, redis_url: str, task_store: TaskStore) -> None:
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


@pytest.mark.promise("tenant.fair_shares")
async def test_a_cap_holds_over_executors_and_an_end_wakes_one(
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


@pytest.mark.promise("tenant.fair_shares")
@given(free=st.integers(0, 600), here=st.integers(0, 600))
def test_a_tenant_takes_no_more_than_there_is_and_leaves_a_place_for_another(free: int, here: int) -> None:
    left = free - compute_fair_slot_count(here, free)
    assert 0 <= left <= free
    assert compute_fair_slot_count(0, left) > 0 or free < 2


@pytest.mark.promise("tenant.fair_shares")
def test_a_tenant_alone_takes_nine_tenths_and_one_beside_another_less_than_half() -> None:
    assert [compute_fair_slot_count(0, capacity) for capacity in (1, 2, 16, 500)] == [1, 1, 15, 450]
    mine, yours = 0, 0
    while compute_fair_slot_count(mine, 500 - mine - yours) or compute_fair_slot_count(yours, 500 - mine - yours):
        mine += compute_fair_slot_count(mine, 500 - mine - yours) > 0
        yours += compute_fair_slot_count(yours, 500 - mine - yours) > 0
    assert (mine, yours) == (237, 237)


@pytest.mark.promise("tenant.fair_shares")
async def test_a_session_over_the_cap_holds_no_lease_and_rests(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
    """It is put off, not dropped: the reaper asks again in half a minute, in case its wake is lost."""
    first, second = [await _accepted(task_store, "flood", number) for number in range(2)]
    now = (await redis.time())[0] * 1000
    worker = Held(2)
    async with _fleet(redis, redis_url, worker, cap=1) as (runner,):
        taken = [await runner.offer("flood", first), await runner.offer("flood", second)]
        member = keys.pack_member(keys.SessionMember("flood", second))
        partition = keys.partition_keys_of("flood", second)
        due, leased = await redis.zscore(partition.waiting, member), await redis.zscore(partition.leased, member)
        worker.let_go.set()
        await worker.all_ended.wait()
    assert taken == [True, False]
    assert leased is None
    assert due is not None
    assert due - now > 20_000


@pytest.mark.promise("tenant.fair_shares")
async def test_the_slots_of_a_dead_executor_are_free_after_their_time(redis: Redis) -> None:
    """Nobody has to clean up after it."""
    store = RedisSlots(redis)
    assert (await store.acquire("acme", "a", 1, 0.001)).has_slot
    await redis.wait(0, 5)
    assert await _until_taken(store)


@pytest.mark.promise("tenant.fair_shares")
async def test_an_extension_that_comes_after_its_session_left_brings_no_slot_back(redis: Redis) -> None:
    store = RedisSlots(redis)
    await store.acquire("acme", "a", 1, 60.0)
    await store.release("acme", "a", 1)
    await store.extend([("acme", "a")], 60.0)
    assert (await store.acquire("acme", "b", 1, 60.0)).has_slot


async def _until_taken(store: RedisSlots) -> bool:
    async with asyncio.timeout(20):
        while not (await store.acquire("acme", "b", 1, 5.0)).has_slot:
            continue
    return True


@pytest.mark.promise("tenant.fair_shares")
async def test_a_slot_goes_to_whoever_has_waited_longest_however_many_come_meanwhile(redis: Redis) -> None:
    """A session that comes between the release and the wake waits behind the others."""
    store = RedisSlots(redis)
    for name in ("a", "s1", "s2"):
        await store.acquire("acme", name, 1, 10.0)
    assert await store.release("acme", "a", 1) == ["s1"]
    assert await store.acquire("acme", "new", 1, 10.0) == (False, [], False)
    assert await store.acquire("acme", "s1", 1, 10.0) == (True, [], False)
    assert await store.release("acme", "s1", 1) == ["s2"]


@pytest.mark.promise("tenant.fair_shares")
async def test_who_finds_a_session_at_work_elsewhere_does_not_give_its_slot_away(redis: Redis) -> None:
    """A message to a running session wakes another executor, which gets no lease."""
    owner, other, heir = (FairShareSlots(RedisSlots(redis), Capped(1), ArqWakes(redis), 10.0) for _ in range(3))
    assert await owner.acquire("acme", "a")
    assert not await other.acquire("acme", "s1")
    assert await other.acquire("acme", "a")
    await other.release("acme", "a", has_run=False)
    assert not await other.acquire("acme", "s1")
    assert await heir.acquire("acme", "a")
    await heir.release("acme", "a")
    assert await other.acquire("acme", "s1")
    await other.release("acme", "s1", has_run=False)  # the slot was kept for it, and it had no turn any more
    assert not await redis.exists(*keys.slot_keys("acme"))


@pytest.mark.promise("tenant.fair_shares")
async def test_slots_without_an_owner_go_to_the_queue_first_and_a_lower_cap_passes_none_on(redis: Redis) -> None:
    """Of an executor that died, or of a cap that was raised; and of a session whose wake was lost, for a while."""
    store, running = RedisSlots(redis), keys.slot_keys("acme")[0]
    for name in ("a", "s1", "s2", "s3"):
        await store.acquire("acme", name, 1, 10.0)
    assert await store.acquire("acme", "new", 3, 10.0) == (False, ["s1", "s2"], False)
    assert await store.release("acme", "a", 2) == []
    await redis.zadd(running, {"s1": 1}, xx=True)
    assert await store.acquire("acme", "s2", 2, 10.0) == (True, ["s3"], False)


Session = tuple[str, str]


class Slots(IdleRunner):
    """A runner with so many slots, none of which falls free; what it was offered is noted."""

    def __init__(self, slots: int, of: dict[str, int] | None = None) -> None:
        super().__init__()
        self.has_free_slot, self.changed = asyncio.Event(), asyncio.Event()
        self.has_free_slot.set()
        self._most, self._of = slots, of or {}
        self.meanwhile: list[Session] = []  # woken while the first one is being claimed
        self.wakes: ArqWakes | None = None

    @property
    @override
    def free_capacity(self) -> int:
        return self._most - len(self.offered)

    @property
    @override
    def free_slots(self) -> FreeSlotsByTenant:
        taken = [tenant for tenant, _ in self.offered]
        return FreeSlotsByTenant(
            self.free_capacity, self.free_capacity, {name: most - taken.count(name) for name, most in self._of.items()}
        )

    @override
    async def offer(self, tenant: str, session_id: str) -> bool:
        if self.free_capacity <= 0:
            return False
        self.offered.append((tenant, session_id))
        while self.meanwhile and self.wakes:
            await self.wakes.wake(*self.meanwhile.pop())
        if not self.free_capacity:
            self.has_free_slot.clear()
        return True


@asynccontextmanager
async def _looking(url: str, wakes: ArqWakes, runner: Slots) -> AsyncIterator[None]:
    worker = WakeWorker(open_queue_pool(url), runner, wakes)
    async with asyncio.timeout(20):
        looking = asyncio.create_task(worker.main())
        yield
        looking.cancel()
        await asyncio.wait([looking])
        await worker.drain_and_close()


async def _taken(redis: Redis, url: str, slots: int, of: dict[str, int] | None = None, *, left: int) -> list[Session]:
    """What a process takes that has so many slots, once so many wakes are left in the queue."""
    runner = Slots(slots, of)
    async with _looking(url, ArqWakes(redis), runner):
        while await redis.zcard(keys.QUEUE_KEY) > left:
            await asyncio.sleep(0.01)
    assert await redis.zcard(keys.QUEUE_KEY) == left
    return sorted(runner.offered)


def sessions(tenant: str, count: int, first: int = 0) -> list[Session]:
    return [(tenant, f"s{number:03}") for number in range(first, first + count)]


async def queued(wakes: ArqWakes, *names: Session) -> None:
    for tenant, session_id in names:
        await wakes.wake(tenant, session_id)


@pytest.mark.promise("queue.one_wake")
async def test_a_session_stands_in_the_queue_once_however_often_it_is_woken(redis: Redis, redis_url: str) -> None:
    wakes = ArqWakes(redis)
    await queued(wakes, *sessions("acme", 3), *sessions("acme", 3))
    assert await wakes.wake_unless_queued(sessions("acme", 3)) == []
    assert await _taken(redis, redis_url, 10, left=0) == sessions("acme", 3)


@pytest.mark.promise("queue.one_wake")
async def test_what_was_just_taken_is_not_queued_by_a_reaper_but_by_a_new_message(redis: Redis, redis_url: str) -> None:
    wakes = ArqWakes(redis)
    (one,) = sessions("acme", 1)
    await queued(wakes, one)
    await _taken(redis, redis_url, 10, left=0)
    assert await wakes.wake_unless_queued([one]) == []
    await redis.delete(keys.TAKEN_WAKES_KEY)
    assert await wakes.wake_unless_queued([one]) == [one]
    await _taken(redis, redis_url, 10, left=0)
    await queued(wakes, one)
    assert await _taken(redis, redis_url, 10, left=0) == [one]


@pytest.mark.promise("queue.one_wake")
async def test_who_is_woken_while_its_wake_is_looked_at_is_looked_at_once_more(redis: Redis, redis_url: str) -> None:
    """However often it was woken meanwhile; a job that ends would take the second wake with it."""
    wakes, runner = ArqWakes(redis), Slots(10)
    (one,) = sessions("acme", 1)
    runner.wakes, runner.meanwhile = wakes, [one, one, one]
    await queued(wakes, one)
    async with _looking(redis_url, wakes, runner):
        while await redis.zcard(keys.QUEUE_KEY) or len(runner.offered) < 2:
            await asyncio.sleep(0.01)
    assert runner.offered == [one, one]


@pytest.mark.promise("tenant.fair_shares")
async def test_tenants_take_turns_whoever_came_first_and_however_many_came(redis: Redis, redis_url: str) -> None:
    """A tenant that comes while a hundred of another wait is next; so is one that comes later still."""
    wakes = ArqWakes(redis)
    await queued(wakes, *sessions("flood", 100))
    assert await _taken(redis, redis_url, 30, left=70) == sessions("flood", 30)
    await queued(wakes, *sessions("quiet", 2))
    assert await _taken(redis, redis_url, 5, left=67) == [*sessions("flood", 3, 30), *sessions("quiet", 2)]
    await queued(wakes, ("late", "s1"))
    assert ("late", "s1") in await _taken(redis, redis_url, 3, left=65)


@pytest.mark.promise("tenant.fair_shares")
async def test_a_tenant_without_room_keeps_its_places_and_holds_up_nobody(redis: Redis, redis_url: str) -> None:
    wakes = ArqWakes(redis)
    await queued(wakes, *sessions("flood", 50), *sessions("quiet", 3))
    assert await _taken(redis, redis_url, 10, {"flood": 0, "quiet": 2}, left=51) == sessions("quiet", 2)
    assert await _taken(redis, redis_url, 100, left=0) == [*sessions("flood", 50), *sessions("quiet", 1, 2)]


@pytest.mark.promise("queue.one_wake")
async def test_a_wake_is_taken_by_one_process_however_many_look(redis: Redis) -> None:
    """A look takes the places of no wake that another has in hand; one that died with it gives it back in seconds."""
    wakes, own = ArqWakes(redis), sessions("ac:me", 5)
    await queued(wakes, *own)
    looks = await asyncio.gather(*(wakes.take_wakes(3, 2, {"ac:me": 9}) for _ in range(3)))
    taken = [tuple(keys.unpack_member(keys.SessionMember, job_id)) for look in looks for job_id, _ in look]
    assert sorted(map(len, looks)) == [0, 2, 3]
    assert sorted(taken) == own
    locks = [await redis.pttl(in_progress_key_prefix + job_id) for look in looks for job_id, _ in look]
    assert all(0 < lock <= 3000 for lock in locks)


@pytest.mark.promise("queue.one_wake")
async def test_a_look_whose_reply_was_lost_finds_what_it_took(redis: Redis) -> None:
    """It is repeated with its token, and who repeats says so; another finds nothing."""
    await queued(ArqWakes(redis), *sessions("acme", 3))

    async def look(token: str, *, is_repeated: bool) -> list[str]:
        text = build_script("take_wakes", is_repeated=is_repeated)
        arguments: list[Argument] = [token, 3000, 256, in_progress_key_prefix, 2, 2]
        return cast("list[str]", await Scripts(redis).execute("EVAL", text, 1, keys.QUEUE_KEY, *arguments))

    first = await look("mine", is_repeated=False)
    assert len(first) == 4
    assert await look("mine", is_repeated=True) == first
    assert not set(first[::2]) & set(await look("another's", is_repeated=True))


async def test_who_was_begun_before_goes_first(redis: Redis, redis_url: str) -> None:
    wakes = ArqWakes(redis)
    await queued(wakes, *sessions("acme", 3))
    await wakes.wake_ahead("acme", "begun")
    assert await _taken(redis, redis_url, 2, left=2) == [("acme", "begun"), ("acme", "s000")]


async def test_who_was_begun_before_goes_first_though_it_is_queued_already(redis: Redis, redis_url: str) -> None:
    """Its executor died, and meanwhile it was told of more work."""
    wakes = ArqWakes(redis)
    await queued(wakes, *sessions("acme", 4))
    assert await wakes.wake_unless_queued([("acme", "s003")], has_begun=True) == []
    assert await _taken(redis, redis_url, 2, left=2) == [("acme", "s000"), ("acme", "s003")]


async def test_an_empty_queue_leaves_nothing_behind_for_good(redis: Redis, redis_url: str) -> None:
    await queued(ArqWakes(redis), *sessions("a:b", 2), *sessions("c", 1))
    await _taken(redis, redis_url, 10, left=0)
    left = {name: await redis.pttl(name) for name in await _names(redis)}
    assert set(left) <= {keys.TAKEN_WAKES_KEY, keys.QUEUE_PLACES_KEY, keys.DOORBELL_KEY, keys.QUEUE_HEALTH_KEY}
    assert all(left[name] > 0 for name in left if name != keys.DOORBELL_KEY)


async def _names(redis: Redis) -> list[str]:
    return [name for pattern in ("pa:queue:*", "arq:*") async for name in redis.scan_iter(pattern)]


@pytest.mark.promise("queue.one_wake")
async def test_the_reaper_leaves_alone_who_waits_in_the_queue(redis: Redis, task_store: TaskStore) -> None:
    """However long no executor has room: only what stands in no queue is woken, and is a fault."""
    wakes, mended = ArqWakes(redis), RepairedFaultCounter()
    for name in (f"s{number}" for number in range(20)):
        await accepted(task_store, name)
        if name != "s0":
            await wakes.wake("acme", name)
        partition = keys.partition_keys_of("acme", name)
        await redis.zadd(partition.waiting, {f"acme:{name}": 1}, xx=True)
    assert await Reaper(redis, wakes, mended).repair_once() == 1
    assert sum(mended.counts.values()) == 1
    assert await redis.zcard(keys.QUEUE_KEY) == 20


@pytest.mark.promise("queue.one_wake")
async def test_a_further_try_whose_time_has_come_is_woken_and_is_no_fault(redis: Redis, task_store: TaskStore) -> None:
    await accepted(task_store)
    one, wakes, mended = sessions_of(redis, "one"), ArqWakes(redis), RepairedFaultCounter()
    lease = await one.claim("acme", "s1")
    assert lease is not None
    await one.abandon(lease, retry_in=-10.0)
    assert await Reaper(redis, wakes, mended).repair_once() == 1
    assert await redis.zrange(keys.QUEUE_KEY, 0, -1) == ["acme:s1"]
    assert sum(mended.counts.values()) == 0
