"""The queue of wakes: each session once, tenants in turn, and nobody is told twice of what somebody has just taken."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_upkeep import RedisUpkeep
from services.executor.core.turn.reaper import FaultCounts, Reaper
from services.executor.entrypoints.arq_worker import WakeWorker, queue_pool
from services.executor.ports.sessions import FreeSlotsByTenant
from shared.infra import keys
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from tests.doubles.idle_runner import IdleRunner
from tests.integration.state_stage import accepted, sessions_of

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
    def free(self) -> int:
        return self._most - len(self.offered)

    @property
    @override
    def free_slots(self) -> FreeSlotsByTenant:
        taken = [tenant for tenant, _ in self.offered]
        return FreeSlotsByTenant(
            self.free, self.free, {name: most - taken.count(name) for name, most in self._of.items()}
        )

    @override
    async def offer(self, tenant: str, session_id: str) -> bool:
        if self.free <= 0:
            return False
        self.offered.append((tenant, session_id))
        while self.meanwhile and self.wakes:
            await self.wakes.wake(*self.meanwhile.pop())
        if not self.free:
            self.has_free_slot.clear()
        return True


@asynccontextmanager
async def _looking(url: str, wakes: ArqWakes, runner: Slots) -> AsyncIterator[None]:
    worker = WakeWorker(queue_pool(url), runner, wakes)
    async with asyncio.timeout(20):
        looking = asyncio.create_task(worker.main())
        yield
        looking.cancel()
        await asyncio.wait([looking])
        await worker.close_quietly()


async def _taken(redis: Redis, url: str, slots: int, of: dict[str, int] | None = None, *, left: int) -> list[Session]:
    """What a process takes that has so many slots, once so many wakes are left in the queue."""
    runner = Slots(slots, of)
    async with _looking(url, ArqWakes(redis), runner):
        while await redis.zcard(keys.QUEUE) > left:
            await asyncio.sleep(0.01)
    assert await redis.zcard(keys.QUEUE) == left
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
    assert await wakes.wake_unattended(sessions("acme", 3)) == []
    assert await _taken(redis, redis_url, 10, left=0) == sessions("acme", 3)


@pytest.mark.promise("queue.one_wake")
async def test_what_was_just_taken_is_not_queued_by_a_reaper_but_by_a_new_message(redis: Redis, redis_url: str) -> None:
    wakes = ArqWakes(redis)
    (one,) = sessions("acme", 1)
    await queued(wakes, one)
    await _taken(redis, redis_url, 10, left=0)
    assert await wakes.wake_unattended([one]) == []
    await redis.delete(keys.TAKEN)
    assert await wakes.wake_unattended([one]) == [one]
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
        while await redis.zcard(keys.QUEUE) or len(runner.offered) < 2:
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


async def test_who_was_begun_before_goes_first(redis: Redis, redis_url: str) -> None:
    wakes = ArqWakes(redis)
    await queued(wakes, *sessions("acme", 3))
    await wakes.wake_first("acme", "begun")
    assert await _taken(redis, redis_url, 2, left=2) == [("acme", "begun"), ("acme", "s000")]


async def test_who_was_begun_before_goes_first_though_it_stands_in_the_queue_already(
    redis: Redis, redis_url: str
) -> None:
    """Its executor died, and meanwhile it was told of more work."""
    wakes = ArqWakes(redis)
    await queued(wakes, *sessions("acme", 4))
    assert await wakes.wake_unattended([("acme", "s003")], begun=True) == []
    assert await _taken(redis, redis_url, 2, left=2) == [("acme", "s000"), ("acme", "s003")]


async def test_an_empty_queue_leaves_nothing_behind_for_good(redis: Redis, redis_url: str) -> None:
    await queued(ArqWakes(redis), *sessions("a:b", 2), *sessions("c", 1))
    await _taken(redis, redis_url, 10, left=0)
    left = {name: await redis.pttl(name) for name in await _names(redis)}
    assert set(left) <= {keys.TAKEN, keys.PLACES, keys.BELL, keys.HEALTH}
    assert all(left[name] > 0 for name in left if name != keys.BELL)


async def _names(redis: Redis) -> list[str]:
    return [name for pattern in ("pa:queue:*", "arq:*") async for name in redis.scan_iter(pattern)]


@pytest.mark.promise("queue.one_wake")
async def test_the_reaper_leaves_who_waits_in_the_queue_alone_and_counts_nothing(
    redis: Redis, task_store: TaskStore
) -> None:
    """However long no executor has room: only what stands in no queue is woken, and is a fault."""
    wakes, mended = ArqWakes(redis), FaultCounts()
    for name in (f"s{number}" for number in range(20)):
        await accepted(task_store, name)
        if name != "s0":
            await wakes.wake("acme", name)
        partition = keys.partition_keys_of("acme", name)
        await redis.zadd(partition.waiting, {f"acme:{name}": 1}, xx=True)
    assert await Reaper(RedisUpkeep(redis), wakes, mended).tick() == 1
    assert sum(mended.counts.values()) == 1
    assert await redis.zcard(keys.QUEUE) == 20


@pytest.mark.promise("queue.one_wake")
async def test_a_further_try_whose_time_has_come_is_woken_and_is_no_fault(redis: Redis, task_store: TaskStore) -> None:
    await accepted(task_store)
    one, wakes, mended = sessions_of(redis, "one"), ArqWakes(redis), FaultCounts()
    lease = await one.claim("acme", "s1")
    assert lease is not None
    await one.abandon(lease, retry_in=-10.0)
    assert await Reaper(RedisUpkeep(redis), wakes, mended).tick() == 1
    assert await redis.zrange(keys.QUEUE, 0, -1) == ["acme:s1"]
    assert sum(mended.counts.values()) == 0
