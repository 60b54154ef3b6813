"""The reaper: lost wakes, dead owners and due timers."""

import asyncio
from collections.abc import Collection
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_upkeep import RedisUpkeep
from services.executor.core.turn.reaper import Reaper
from services.executor.ports.turns import Timer
from services.executor.ports.upkeep import ALL_PARTITIONS, OverdueWork
from shared.contracts.task import TurnKind
from shared.domain.words import TaskState
from shared.infra.keys import partition_keys_of
from shared.infra.task_store import TaskStore
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.redis_tasks import NOON
from tests.integration.state_stage import Begun, accepted, an_end, begin, begin_next, break_lease, sessions_of


class SameLook(RedisUpkeep):
    """Finds what it was told, so that several reapers believe in the same timer."""

    def __init__(self, redis: Redis, found: OverdueWork) -> None:
        super().__init__(redis)
        self._found = found

    async def overdue(self, partitions: Collection[int] = ALL_PARTITIONS) -> OverdueWork:
        return self._found


@pytest.fixture
def wakes() -> HeardWakes:
    return HeardWakes()


@pytest.fixture
def reaper(redis: Redis, wakes: HeardWakes) -> Reaper:
    return Reaper(RedisUpkeep(redis), wakes)


async def _overdue(redis: Redis, session_id: str) -> None:
    """Make the session's waiting as old as a lost wake."""
    keys = partition_keys_of("acme", session_id)
    await redis.zadd(keys.waiting, {f"acme:{session_id}": 1}, xx=True)


async def _again(redis: Redis, session_id: str) -> None:
    await redis.delete(partition_keys_of("acme", session_id).reaper)


async def _waits_until(redis: Redis, store: TaskStore, due: Timer) -> Begun:
    await accepted(store)
    one = sessions_of(redis, "one")
    begun = await begin(one)
    await begun.store.finish(an_end(begun.work, TaskState.INPUT_REQUIRED)._replace(timer=due))
    assert await one.next(begun.lease) is None
    return begun


@pytest.mark.promise("state.lost_wake")
async def test_a_session_whose_wake_was_lost_is_woken(
    redis: Redis, task_store: TaskStore, reaper: Reaper, wakes: HeardWakes
) -> None:
    await accepted(task_store)
    await reaper.tick()
    assert wakes.heard == []
    await _overdue(redis, "s1")
    await reaper.tick()
    assert wakes.heard == [("acme", "s1")]


async def test_a_session_that_nobody_takes_is_not_woken_at_every_look(
    redis: Redis, task_store: TaskStore, reaper: Reaper, wakes: HeardWakes
) -> None:
    await accepted(task_store)
    await _overdue(redis, "s1")
    for _ in range(3):
        await reaper.tick()
        await _again(redis, "s1")
    assert wakes.heard == [("acme", "s1")]


@pytest.mark.promise("state.dead_owner")
async def test_a_session_whose_owner_died_is_woken(
    redis: Redis, task_store: TaskStore, reaper: Reaper, wakes: HeardWakes
) -> None:
    await accepted(task_store)
    begun = await begin(sessions_of(redis, "one"))
    await reaper.tick()
    assert wakes.heard == []
    await break_lease(redis, begun.lease)
    await reaper.tick()
    assert wakes.heard == [("acme", "s1")]


@pytest.mark.promise("state.timer_once")
async def test_a_due_timer_becomes_one_turn_whoever_looks(redis: Redis, task_store: TaskStore) -> None:
    begun = await _waits_until(redis, task_store, Timer(NOON - timedelta(days=365), "a1"))
    wakes = HeardWakes()
    found = await RedisUpkeep(redis).overdue()
    reapers = [Reaper(SameLook(redis, found), wakes) for _ in range(5)]
    await asyncio.gather(*(reaper.tick() for reaper in reapers))
    assert wakes.heard == [("acme", "s1")]
    two = sessions_of(redis, "two")
    fired = await begin(two)
    assert (fired.work.turn.kind, fired.work.turn.task_id) == (TurnKind.DEADLINE, begun.work.turn.task_id)
    assert fired.work.turn.data == {"subject": "a1"}
    await fired.store.finish(an_end(fired.work))
    assert await two.next(fired.lease) is None


async def test_a_timer_that_is_not_due_stays(redis: Redis, task_store: TaskStore, reaper: Reaper) -> None:
    await _waits_until(redis, task_store, Timer(NOON + timedelta(days=36500), "a1"))
    assert await reaper.tick() == 0
    assert await redis.zcard(partition_keys_of("acme", "s1").timers) == 1


async def test_the_timer_of_an_ended_task_just_goes(
    redis: Redis, task_store: TaskStore, reaper: Reaper, wakes: HeardWakes
) -> None:
    begun = await _waits_until(redis, task_store, Timer(NOON - timedelta(days=365), "a1"))
    await task_store.signal("acme", "s1", begun.work.turn.model_copy(update={"turn_id": "t2", "kind": TurnKind.CANCEL}))
    two = sessions_of(redis, "two")
    cancel = await begin(two)
    await cancel.store.finish(an_end(cancel.work, TaskState.CANCELED))
    assert await two.next(cancel.lease) is None
    await reaper.tick()
    assert wakes.heard == []
    assert await two.claim("acme", "s1") is None


async def test_two_reapers_do_not_look_after_one_partition_at_once(redis: Redis, task_store: TaskStore) -> None:
    await accepted(task_store)
    await _overdue(redis, "s1")
    looks = await asyncio.gather(*(RedisUpkeep(redis).overdue() for _ in range(4)))
    assert sorted(len(look.unwoken) for look in looks) == [0, 0, 0, 1]


async def test_what_nobody_needs_costs_no_write(redis: Redis, task_store: TaskStore, reaper: Reaper) -> None:
    await accepted(task_store)
    before = (await redis.info("persistence"))["aof_current_size"]
    await reaper.tick()
    assert (await redis.info("persistence"))["aof_current_size"] == before


async def test_a_later_turn_of_the_session_comes_after_the_deadline(redis: Redis, task_store: TaskStore) -> None:
    begun = await _waits_until(redis, task_store, Timer(NOON - timedelta(days=365), "a1"))
    turn = begun.work.turn.model_copy(update={"turn_id": "later"})
    await task_store.accept(begun.work.record, turn, dedupe=None)
    await Reaper(RedisUpkeep(redis), HeardWakes()).tick()
    two = sessions_of(redis, "two")
    first = await begin(two)
    await first.store.finish(an_end(first.work, TaskState.INPUT_REQUIRED))
    second = await begin_next(two, first.lease)
    assert [first.work.turn.kind, second.work.turn.kind] == [TurnKind.DEADLINE, TurnKind.MESSAGE]
