"""A task that waits for the end of the quiet hours stands in Redis alone, and any executor takes it up from there."""

from datetime import timedelta

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_upkeep import RedisUpkeep
from services.executor.core.turn.reaper import Reaper
from shared.contracts.task import TaskRecord, TurnKind
from shared.contracts.tenant import QuietHours
from shared.domain.words import TaskState
from shared.infra.keys import partition_keys_of, session_keys
from shared.infra.task_store import TaskStore
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.redis_tasks import a_turn
from tests.integration.state_stage import accepted, sessions_of
from tests.unit.executor.stage import APPROVE, TASK, Stage

pytestmark = pytest.mark.promise("notify.quiet_hours")

_KEYS = partition_keys_of("acme", "s1")


def _set_quiet(stage: Stage, *, quiet: bool) -> None:
    """Quiet hours by the clock of this machine, which is the one that Redis runs on."""
    hour, now = timedelta(hours=1), stage.turns.now()
    begins, ends = (now - hour, now + hour) if quiet else (now + hour, now + 2 * hour)
    hours = QuietHours(start=begins.time(), end=ends.time())
    stage.tenants.record = stage.tenants.record.model_copy(update={"quiet_hours": hours})


@pytest.fixture
def stage() -> Stage:
    """A process that heeds quiet hours, in the midst of them."""
    stage = Stage()
    stage.talk.process = "sla_breach"
    stage.talk.rounds[-1] = [APPROVE, ("notify_person", {"text": "Claim C-1 is approved."})]
    _set_quiet(stage, quiet=True)
    return stage


async def _work_off(redis: Redis, stage: Stage, owner: str) -> None:
    """Every turn that waits in the session, by one executor that then lets the session go."""
    sessions = sessions_of(redis, owner)
    lease = await sessions.claim("acme", "s1")
    assert lease is not None
    while work := await sessions.next(lease):
        await stage.worker.run(work, sessions.turn_store(lease, work))


async def _rest(redis: Redis, store: TaskStore, stage: Stage) -> TaskRecord:
    record = await accepted(store, text=TASK)
    await _work_off(redis, stage, "one")
    return await _stored(store, record)


async def _stored(store: TaskStore, record: TaskRecord) -> TaskRecord:
    now = await store.record(record.tenant, record.task_id)
    assert now is not None
    return now


async def _fire(redis: Redis) -> list[tuple[str, str]]:
    """The only timer comes due, and a reaper sees it; whom it woke."""
    (member,) = await redis.zrange(_KEYS.timers, 0, -1)
    await redis.zadd(_KEYS.timers, {member: 1}, xx=True)
    await redis.delete(_KEYS.reaper)
    wakes = HeardWakes()
    await Reaper(RedisUpkeep(redis), wakes).tick()
    return wakes.heard


async def test_a_resting_task_holds_no_lease_and_no_turn_and_stands_in_the_timers(
    redis: Redis, task_store: TaskStore, stage: Stage
) -> None:
    record = await _rest(redis, task_store, stage)
    names = session_keys("acme", "s1")
    assert (record.state, stage.claims.applied, stage.claims.told) == (TaskState.WORKING, ["C-1"], [])
    assert await redis.exists(names.inbox, names.signals, names.turns) == 0
    assert await redis.hget(names.lease, "owner") is None  # type: ignore[misc]  # redis-py's union
    assert (await redis.zcard(_KEYS.waiting), await redis.zcard(_KEYS.leased)) == (0, 0)
    assert await redis.zcard(_KEYS.timers) == 1
    assert await sessions_of(redis, "two").claim("acme", "s1") is None


async def test_another_executor_takes_it_up_when_the_timer_comes_due(
    redis: Redis, task_store: TaskStore, stage: Stage
) -> None:
    record = await _rest(redis, task_store, stage)
    _set_quiet(stage, quiet=False)
    assert await _fire(redis) == [("acme", "s1")]
    await _work_off(redis, stage, "two")
    record = await _stored(task_store, record)
    assert (record.state, record.reason, len(stage.claims.told)) == (TaskState.COMPLETED, None, 1)
    assert await redis.zcard(_KEYS.timers) == 0


async def test_a_timer_that_fires_too_early_is_set_again_and_fires_again(
    redis: Redis, task_store: TaskStore, stage: Stage
) -> None:
    record = await _rest(redis, task_store, stage)
    for _ in range(2):
        await _fire(redis)
        await _work_off(redis, stage, "two")
        assert ((await _stored(task_store, record)).state, stage.claims.told) == (TaskState.WORKING, [])
    _set_quiet(stage, quiet=False)
    await _fire(redis)
    await _work_off(redis, stage, "three")
    assert ((await _stored(task_store, record)).state, len(stage.claims.told)) == (TaskState.COMPLETED, 1)


async def test_a_canceled_one_tells_nobody_and_its_timer_goes(
    redis: Redis, task_store: TaskStore, stage: Stage
) -> None:
    record = await _rest(redis, task_store, stage)
    assert await task_store.signal("acme", "s1", a_turn(record, TurnKind.CANCEL))
    await _work_off(redis, stage, "two")
    assert ((await _stored(task_store, record)).state, stage.claims.told) == (TaskState.CANCELED, [])
    assert await _fire(redis) == []
    assert await redis.zcard(_KEYS.timers) == 0
