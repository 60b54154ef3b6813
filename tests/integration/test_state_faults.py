"""Each fault that crashes and lost replies leave behind (lost wakes, dead owners, due timers) is mended and counted."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_upkeep import OverdueWork, Reaper
from services.executor.core.session.journal import RepairedFaultCounter
from services.executor.core.turn.session_run import RunnerLimits
from services.executor.ports.turns import RepairedFault, Timer, TurnRunner, TurnStore, TurnWork
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskRecord, TurnKind
from shared.domain.words import TaskState
from shared.infra.keys import UPKEEP_FAULTS_KEY, partition_keys_of, task_keys
from shared.infra.lua import Scripts
from shared.infra.stored_outcomes import unpack_outcome
from shared.infra.task_store import TaskStore
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.redis_tasks import NOON
from tests.integration import state_stage

LIMITS = RunnerLimits(lease_seconds=0.6, attempts=2, retry_seconds=0.01, retry_seconds_most=0.02)


async def _worked_off(redis: Redis, mended: RepairedFaultCounter, worker: TurnRunner | None = None) -> None:
    async with state_stage.running(
        redis, worker or state_stage.Acts(state_stage.finish), LIMITS, mended=mended
    ) as runner:
        assert await runner.offer("acme", "s1")
        await runner.idle.wait()


async def _state(store: TaskStore, record: TaskRecord) -> TaskState:
    found = await state_stage.stored_record(store, record)
    return found.state


async def _raw(redis: Redis, *words: str) -> object:
    return await Scripts(redis).execute(*words)


@pytest.mark.promise("state.faults_mended")
async def test_a_claim_whose_reply_was_lost_is_taken_up_at_once(redis: Redis, task_store: TaskStore) -> None:
    record = await state_stage.accepted(task_store)
    unheard = await state_stage.sessions_of(redis, "one", 60.0).claim("acme", "s1")
    mended = RepairedFaultCounter()
    await _worked_off(redis, mended)
    assert (unheard is not None, await _state(task_store, record)) == (True, TaskState.COMPLETED)
    assert mended.counts[RepairedFault.OWNER_GONE] == 1


@pytest.mark.promise("state.faults_mended", "state.dead_owner")
async def test_a_claim_whose_owner_died_is_taken_over_and_counted(redis: Redis, task_store: TaskStore) -> None:
    record = await state_stage.accepted(task_store)
    dead = await state_stage.sessions_of(redis, "two").claim("acme", "s1")
    assert dead is not None
    await state_stage.break_lease(redis, dead)
    mended, wakes = RepairedFaultCounter(), HeardWakes()
    await Reaper(redis, wakes, mended).repair_once()
    await _worked_off(redis, mended)
    assert (wakes.heard, await _state(task_store, record)) == ([("acme", "s1")], TaskState.COMPLETED)
    assert [fault for fault, number in mended.counts.items() if number] == [RepairedFault.OWNER_GONE]


@pytest.mark.promise("state.faults_mended", "state.fenced")
async def test_running_but_not_owned_is_cancelled_and_counted(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store)
    mended, worker = RepairedFaultCounter(), state_stage.Acts(state_stage.wait_for_ever)
    async with state_stage.running(redis, worker, LIMITS, mended=mended) as runner:
        await runner.offer("acme", "s1")
        await worker.begun.wait()
        lease = (await state_stage.take_over(redis)).lease
        await runner.idle.wait()
    assert (mended.counts[RepairedFault.NOT_OWNED], worker.cancelled) == (1, 1)
    assert (await state_stage.sessions_of(redis, "two").extend_all([lease])).lost == ()


@pytest.mark.promise("state.faults_mended")
async def test_an_ended_task_whose_outcome_was_never_emitted_gets_it_once(redis: Redis, task_store: TaskStore) -> None:
    """A script that is broken off half-way leaves the record ended and the turn in its queue."""
    record = await state_stage.accepted(task_store)
    ended = record.model_copy(update={"state": TaskState.COMPLETED, "metadata": {"quality": 0.75}})
    name = task_keys("acme", "s1", record.task_id).record
    await _raw(redis, "HSET", name, "json", ended.model_dump_json(), "state", "completed", "ended", "1")
    mended = RepairedFaultCounter()
    await _worked_off(redis, mended)
    outcomes = await redis.xrange(partition_keys_of("acme", "s1").outcomes)
    told = [TaskOutcome.model_validate_json(unpack_outcome(row["o"])[1]) for _, row in outcomes]
    assert [(one.task_id, one.quality) for one in told] == [(record.task_id, 0.75)]
    assert mended.counts[RepairedFault.OUTCOME_MISSING] == 1


@pytest.mark.promise("state.faults_mended")
async def test_an_overdue_timer_is_fired_and_counted_for_all(redis: Redis, task_store: TaskStore) -> None:
    await _waits_until(redis, task_store, Timer(NOON - timedelta(days=365), "a1"))
    reaper = Reaper(redis, HeardWakes(), RepairedFaultCounter())
    for _ in range(2):
        await reaper.repair_once()
    assert await _raw(redis, "HGETALL", UPKEEP_FAULTS_KEY) == {RepairedFault.TIMER_OVERDUE.value: "1"}


async def test_a_timer_that_is_fired_in_time_is_no_fault(redis: Redis, task_store: TaskStore) -> None:
    seconds, micros = await redis.time()
    await _waits_until(redis, task_store, Timer(datetime.fromtimestamp(seconds + micros / 1_000_000, UTC), "a1"))
    mended, wakes = RepairedFaultCounter(), HeardWakes()
    await Reaper(redis, wakes, mended).repair_once()
    assert (wakes.heard, sum(mended.counts.values())) == ([("acme", "s1")], 0)


@pytest.mark.promise("state.dead_letters")
async def test_a_turn_given_up_is_a_dead_letter_with_its_last_error(redis: Redis, task_store: TaskStore) -> None:
    record = await state_stage.accepted(task_store)
    for _ in range(LIMITS.attempts + 1):
        await _worked_off(redis, RepairedFaultCounter(), state_stage.Acts(state_stage.break_down))
    (letter,) = await _dead(redis)
    assert (letter.task_id, letter.attempts, letter.request) == (record.task_id, LIMITS.attempts, record.request)
    assert "the bug that kills" in letter.last_error


async def test_a_turn_is_buried_once_though_its_end_is_tried_again(redis: Redis, task_store: TaskStore) -> None:
    begun = await state_stage.begun_turn(redis, task_store)
    letter = DeadTurn(
        tenant="acme",
        session_id="s1",
        task_id=begun.record.task_id,
        turn=begun.work.turn,
        dialect=begun.record.dialect,
        requester=begun.record.requester,
        request=begun.record.request,
        attempts=2,
        reason="it died",
        last_error="",
        died_at=NOON,
    )
    for _ in range(2):
        await begun.store.finish(state_stage.an_end(begun.work)._replace(letter=letter))
    assert await _dead(redis) == [letter]


async def test_what_the_learner_has_not_applied_is_told(redis: Redis, task_store: TaskStore) -> None:
    for number in range(3):
        await redis.xadd(partition_keys_of("acme", "s1").outcomes, {"id": str(number), "o": "{}"})
    reaper = Reaper(redis, HeardWakes())
    await reaper.update_outcomes_behind()
    assert reaper.outcomes_behind == 2


async def test_a_wake_that_comes_while_its_session_ends_is_not_lost(redis: Redis, task_store: TaskStore) -> None:
    """The session runs here, so its wake claims nothing; but it is looked at once more when it ends."""
    record = await state_stage.accepted(task_store)
    go = asyncio.Event()

    async def until_told(work: TurnWork, store: TurnStore) -> None:
        await go.wait()
        await store.finish(state_stage.an_end(work))

    worker = state_stage.Acts(until_told)
    async with state_stage.running(redis, worker, LIMITS) as runner:
        await runner.offer("acme", "s1")
        await worker.begun.wait()
        assert not await runner.offer("acme", "s1")
        go.set()
        await runner.idle.wait()
    assert await _state(task_store, record) is TaskState.COMPLETED


async def _dead(redis: Redis) -> list[DeadTurn]:
    rows = await redis.xrange(partition_keys_of("acme", "s1").dead_turns)
    return [DeadTurn.model_validate_json(row["letter"]) for _, row in rows]


class SameLook(Reaper):
    """Finds what it was told, so that several reapers believe in the same timer."""

    def __init__(self, redis: Redis, wakes: HeardWakes, found: OverdueWork) -> None:
        super().__init__(redis, wakes)
        self._found = found

    async def find_overdue(self) -> OverdueWork:
        return self._found


@pytest.fixture
def wakes() -> HeardWakes:
    return HeardWakes()


@pytest.fixture
def reaper(redis: Redis, wakes: HeardWakes) -> Reaper:
    return Reaper(redis, wakes)


async def _overdue(redis: Redis, session_id: str) -> None:
    """Make the session's waiting as old as a lost wake."""
    keys = partition_keys_of("acme", session_id)
    await redis.zadd(keys.waiting, {f"acme:{session_id}": 1}, xx=True)


async def _again(redis: Redis, session_id: str) -> None:
    await redis.delete(partition_keys_of("acme", session_id).reaper)


async def _waits_until(redis: Redis, store: TaskStore, due: Timer) -> state_stage.Begun:
    await state_stage.accepted(store)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one)
    await begun.store.finish(state_stage.an_end(begun.work, TaskState.INPUT_REQUIRED)._replace(timer=due))
    assert await one.begin_next_turn(begun.lease) is None
    return begun


@pytest.mark.promise("state.lost_wake", "state.faults_mended")
async def test_a_session_not_woken_in_time_is_woken_and_counted(redis: Redis, task_store: TaskStore) -> None:
    mended, wakes = RepairedFaultCounter(), HeardWakes()
    reaper = Reaper(redis, wakes, mended)
    await state_stage.accepted(task_store)
    await reaper.repair_once()
    assert wakes.heard == []
    await _overdue(redis, "s1")
    await reaper.repair_once()
    assert (wakes.heard, mended.counts[RepairedFault.NOT_WOKEN]) == ([("acme", "s1")], 1)


async def test_a_session_that_nobody_takes_is_not_woken_at_every_look(
    redis: Redis, task_store: TaskStore, reaper: Reaper, wakes: HeardWakes
) -> None:
    await state_stage.accepted(task_store)
    await _overdue(redis, "s1")
    for _ in range(3):
        await reaper.repair_once()
        await _again(redis, "s1")
    assert wakes.heard == [("acme", "s1")]


@pytest.mark.promise("state.timer_once")
async def test_a_due_timer_becomes_one_turn_whoever_looks(redis: Redis, task_store: TaskStore) -> None:
    begun = await _waits_until(redis, task_store, Timer(NOON - timedelta(days=365), "a1"))
    wakes = HeardWakes()
    found = await Reaper(redis, HeardWakes()).find_overdue()
    reapers = [SameLook(redis, wakes, found) for _ in range(5)]
    await asyncio.gather(*(reaper.repair_once() for reaper in reapers))
    assert wakes.heard == [("acme", "s1")]
    two = state_stage.sessions_of(redis, "two")
    fired = await state_stage.begin(two)
    assert (fired.work.turn.kind, fired.work.turn.task_id) == (TurnKind.DEADLINE, begun.work.turn.task_id)
    assert fired.work.turn.data == {"subject": "a1"}
    await fired.store.finish(state_stage.an_end(fired.work))
    assert await two.begin_next_turn(fired.lease) is None


async def test_a_timer_that_is_not_due_stays(redis: Redis, task_store: TaskStore, reaper: Reaper) -> None:
    await _waits_until(redis, task_store, Timer(NOON + timedelta(days=36500), "a1"))
    assert await reaper.repair_once() == 0
    assert await redis.zcard(partition_keys_of("acme", "s1").timers) == 1


async def test_an_ended_tasks_timer_is_no_more(
    redis: Redis, task_store: TaskStore, reaper: Reaper, wakes: HeardWakes
) -> None:
    begun = await _waits_until(redis, task_store, Timer(NOON - timedelta(days=365), "a1"))
    await task_store.signal("acme", "s1", begun.work.turn.model_copy(update={"turn_id": "t2", "kind": TurnKind.CANCEL}))
    two = state_stage.sessions_of(redis, "two")
    cancel = await state_stage.begin(two)
    await cancel.store.finish(state_stage.an_end(cancel.work, TaskState.CANCELED))
    assert await two.begin_next_turn(cancel.lease) is None
    await reaper.repair_once()
    assert wakes.heard == []
    assert await two.claim("acme", "s1") is None


async def test_two_reapers_do_not_look_after_one_partition_at_once(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store)
    await _overdue(redis, "s1")
    looks = await asyncio.gather(*(Reaper(redis, HeardWakes()).find_overdue() for _ in range(4)))
    assert sorted(len(look.unwoken) for look in looks) == [0, 0, 0, 1]


async def test_what_nobody_needs_costs_no_write(redis: Redis, task_store: TaskStore, reaper: Reaper) -> None:
    await state_stage.accepted(task_store)
    before = (await redis.info("persistence"))["aof_current_size"]
    await reaper.repair_once()
    assert (await redis.info("persistence"))["aof_current_size"] == before


async def test_a_later_turn_of_the_session_comes_after_the_deadline(redis: Redis, task_store: TaskStore) -> None:
    begun = await _waits_until(redis, task_store, Timer(NOON - timedelta(days=365), "a1"))
    turn = begun.work.turn.model_copy(update={"turn_id": "later"})
    await task_store.accept(begun.work.record, turn, dedupe=None)
    await Reaper(redis, HeardWakes()).repair_once()
    two = state_stage.sessions_of(redis, "two")
    first = await state_stage.begin(two)
    await first.store.finish(state_stage.an_end(first.work, TaskState.INPUT_REQUIRED))
    second = await state_stage.begin_next(two, first.lease)
    assert [first.work.turn.kind, second.work.turn.kind] == [TurnKind.DEADLINE, TurnKind.MESSAGE]
