"""The runner on a real store: turns one after the other, nothing lost, nothing run by a fenced-off owner."""

import asyncio
from typing import cast

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.core.turn.session_run import RunnerLimits
from services.executor.ports.turns import SessionUnavailable, TurnStore, TurnWork
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState, WriteStatus
from shared.infra.keys import SessionMember, pack_member, partition_keys_of, session_keys
from shared.infra.metrics import Metrics
from shared.infra.task_store import TaskStore
from shared.ports.meter import Meter, NoMeter
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration import state_stage
from tests.samples import samples

QUICK = RunnerLimits(lease_seconds=0.6, capacity=2, attempts=3, retry_seconds=0.01, retry_seconds_most=0.02)


async def _go_on(work: TurnWork, store: TurnStore) -> None:
    await store.finish(state_stage.an_end(work, TaskState.INPUT_REQUIRED))


async def _worked_off(
    redis: Redis,
    worker: state_stage.Acts,
    times: int = 1,
    limits: RunnerLimits = QUICK,
    meter: Meter = NoMeter(),  # noqa: B008
) -> None:
    async with state_stage.running(redis, worker, limits, meter=meter) as runner:
        for _ in range(times):
            assert await runner.offer("acme", "s1")
            await runner.idle.wait()


async def test_a_session_is_worked_off_in_order_and_given_back(redis: Redis, task_store: TaskStore) -> None:
    record = await state_stage.accepted(task_store, text="first")
    await task_store.accept(record, a_turn(record, text="second"), dedupe=None)
    worker = state_stage.Acts(_go_on)
    await _worked_off(redis, worker)
    assert worker.texts == ["first", "second"]
    assert not await redis.exists(partition_keys_of("acme", "s1").leased)


async def test_a_doubled_wake_runs_the_session_once(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store)
    worker = state_stage.Acts(state_stage.finish)
    async with state_stage.running(redis, worker, QUICK) as runner:
        taken = await asyncio.gather(*(runner.offer("acme", "s1") for _ in range(2)))
        await runner.idle.wait()
    assert sorted(taken) == [False, True]
    assert len(worker.texts) == 1


@pytest.mark.promise("state.retried")
async def test_a_turn_that_breaks_is_tried_again_and_at_last_failed(redis: Redis, task_store: TaskStore) -> None:
    record = await state_stage.accepted(task_store)
    worker, metrics = state_stage.Acts(state_stage.break_down), Metrics("executor")
    await _worked_off(redis, worker, QUICK.attempts + 1, meter=metrics)
    stored = await state_stage.stored_record(task_store, record)
    assert len(worker.texts) == QUICK.attempts
    assert (stored.state, "3 times" in str(stored.reason)) == (TaskState.FAILED, True)
    assert samples(metrics.registry, "purple_tasks_ended_total") == {("failed", "fsm"): 1}
    assert samples(metrics.registry, "purple_tasks_failed_total") == {("worker",): 1}
    assert await redis.xlen(partition_keys_of("acme", "s1").outcomes) == 1


@pytest.mark.promise("chaos.given_up_tells")
async def test_a_turn_given_up_tells_of_its_writes(redis: Redis, task_store: TaskStore) -> None:
    """In its reason and in its report; its task waits for an operator, and is neither failed nor dead."""
    record = await state_stage.accepted(task_store)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one)
    await begun.store.open_write(state_stage.an_entry(WriteStatus.SENDING), 0.0)
    for _ in range(QUICK.attempts - 1):
        await one.begin_next_turn(begun.lease)
    await one.abandon(begun.lease)
    await _worked_off(redis, state_stage.Acts(state_stage.finish))
    stored = await state_stage.stored_record(task_store, record)
    assert "In doubt, to be checked by a person: approve_expense." in str(stored.reason)
    (told,) = cast("list[JsonObject]", stored.metadata["writes"])
    assert (told["tool"], told["status"]) == ("approve_expense", "in_doubt")
    assert (stored.state, stored.metadata["escalated"]) == (TaskState.INPUT_REQUIRED, True)
    keys = partition_keys_of("acme", "s1")
    assert (await redis.xlen(keys.outcomes), await redis.xlen(keys.dead_turns)) == (0, 0)


class BreaksTheLook(state_stage.Acts):
    """Looks at open writes and breaks at that, as a turn may that broke before."""

    looks = 0

    @override
    async def settle_open_writes(self, work: TurnWork, store: TurnStore) -> None:
        self.looks += 1
        raise RuntimeError("a bug")


@pytest.mark.promise("I3.given_up_looks")
@pytest.mark.parametrize(("begun_before", "looks"), [(QUICK.attempts, 1), (QUICK.attempts + 1, 0)])
async def test_a_look_that_breaks_keeps_no_turn_from_being_given_up_and_is_not_repeated(
    redis: Redis, task_store: TaskStore, begun_before: int, looks: int
) -> None:
    record = await state_stage.accepted(task_store)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one)
    await begun.store.open_write(state_stage.an_entry(WriteStatus.SENDING), 0.0)
    for _ in range(begun_before - 1):
        await one.begin_next_turn(begun.lease)
    await one.abandon(begun.lease)
    worker = BreaksTheLook(state_stage.finish)
    await _worked_off(redis, worker)
    stored = await state_stage.stored_record(task_store, record)
    assert (stored.state, worker.looks, worker.texts) == (TaskState.INPUT_REQUIRED, looks, [])


async def test_a_turn_that_comes_after_its_task_ended_is_not_run(redis: Redis, task_store: TaskStore) -> None:
    record = await state_stage.accepted(task_store, text="only")
    await task_store.accept(record, a_turn(record, text="too late"), dedupe=None)
    worker = state_stage.Acts(state_stage.finish)
    await _worked_off(redis, worker)
    assert worker.texts == ["only"]
    assert await redis.exists(session_keys("acme", "s1").inbox) == 0


async def test_the_heart_beats_while_a_turn_outlasts_its_lease(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store)
    worker = state_stage.Acts(state_stage.wait_for_ever)
    async with state_stage.running(redis, worker, QUICK) as runner:
        await runner.offer("acme", "s1")
        await worker.begun.wait()
        before = await _ends(redis)
        while await _ends(redis) <= before + QUICK.lease_seconds * 1000:
            assert await state_stage.sessions_of(redis, "two").claim("acme", "s1") is None
            await asyncio.sleep(0.01)  # between two looks
    assert worker.texts == [""]


async def _away(work: TurnWork, store: TurnStore) -> None:
    raise SessionUnavailable("the archive is down")


@pytest.mark.promise("session.archive_waited_for")
async def test_an_archive_that_is_away_uses_up_none_of_a_turns_attempts(redis: Redis, task_store: TaskStore) -> None:
    """However often it is looked for; once it is back the turn is carried out as if it had just come."""
    record = await state_stage.accepted(task_store)
    await _worked_off(redis, state_stage.Acts(_away), 3 * QUICK.attempts)
    assert (
        await redis.zscore(partition_keys_of("acme", "s1").waiting, pack_member(SessionMember("acme", "s1")))
        is not None
    )
    await _worked_off(redis, state_stage.Acts(state_stage.finish))
    assert (await state_stage.stored_record(task_store, record)).state is TaskState.COMPLETED
    assert await redis.xlen(partition_keys_of("acme", "s1").dead_turns) == 0


@pytest.mark.promise("session.archive_waited_for")
async def test_an_archive_that_stays_away_is_waited_for_in_vain(redis: Redis, task_store: TaskStore) -> None:
    """Then the turn is given up like any other, with what was wrong."""
    record = await state_stage.accepted(task_store)
    worker = state_stage.Acts(_away)
    await _worked_off(redis, worker, QUICK.attempts + 1, limits=QUICK._replace(session_seconds=0.0))
    stored = await state_stage.stored_record(task_store, record)
    assert (stored.state, len(worker.texts)) == (TaskState.FAILED, QUICK.attempts)
    (letter,) = await redis.xrange(partition_keys_of("acme", "s1").dead_turns)
    assert "the archive is down" in str(letter)


@pytest.mark.promise("state.retried")
async def test_rolling_restarts_use_up_none_of_a_turns_attempts(redis: Redis, task_store: TaskStore) -> None:
    """A process that stops in good order hands its turn on as often as it takes; only breaking counts."""
    record = await state_stage.accepted(task_store)
    for _ in range(QUICK.attempts + 1):
        worker = state_stage.Acts(state_stage.wait_for_ever)
        async with state_stage.running(redis, worker, QUICK) as runner:
            await runner.offer("acme", "s1")
            await worker.begun.wait()
            await runner.stop(0.0)
        assert worker.cancelled == 1
    await _worked_off(redis, state_stage.Acts(state_stage.finish))
    assert (await state_stage.stored_record(task_store, record)).state is TaskState.COMPLETED
    assert await redis.exists(session_keys("acme", "s1").begun) == 0


async def test_a_hand_over_forgives_no_attempt_of_an_earlier_owner(redis: Redis, task_store: TaskStore) -> None:
    """The first owner died with the turn; the second stops before it began it."""
    await state_stage.accepted(task_store)
    died = await state_stage.begin(state_stage.sessions_of(redis, "one"))
    await state_stage.break_lease(redis, died.lease)
    two = state_stage.sessions_of(redis, "two")
    lease = await two.claim("acme", "s1")
    assert lease is not None
    await two.abandon(lease, handed_over=True)
    assert (await state_stage.begin(state_stage.sessions_of(redis, "three"))).work.attempts == 2


async def test_a_stop_lets_a_turn_end_within_its_grace(redis: Redis, task_store: TaskStore) -> None:
    record = await state_stage.accepted(task_store)
    go = asyncio.Event()

    async def until_told(work: TurnWork, store: TurnStore) -> None:
        await go.wait()
        await store.finish(state_stage.an_end(work))

    worker = state_stage.Acts(until_told)
    async with state_stage.running(redis, worker, QUICK) as runner, asyncio.TaskGroup() as group:
        await runner.offer("acme", "s1")
        await worker.begun.wait()
        group.create_task(runner.stop(state_stage.PATIENCE))
        await asyncio.sleep(0)
        go.set()
    assert (await state_stage.stored_record(task_store, record)).state is TaskState.COMPLETED


async def test_a_full_executor_takes_no_session_and_says_when_it_has_room(redis: Redis, task_store: TaskStore) -> None:
    for number in range(3):
        await state_stage.accepted(task_store, f"s{number}")
    worker = state_stage.Acts(state_stage.wait_for_ever)
    async with state_stage.running(redis, worker, QUICK) as runner:
        assert [await runner.offer("acme", f"s{number}") for number in range(3)] == [True, True, False]
        assert (runner.free_capacity, runner.has_free_slot.is_set()) == (0, False)


async def test_a_session_that_cannot_be_read_does_not_stop_the_others(redis: Redis, task_store: TaskStore) -> None:
    record = a_record("broken")
    broken = (await task_store.accept(record, a_turn(record), dedupe=None)).turn_id
    await state_stage.accepted(task_store, "s1", text="s1")
    turns = session_keys("acme", "broken").turns
    async with redis.pipeline() as pipe:
        pipe.hset(turns, broken, "no JSON")
        await pipe.execute()
    worker = state_stage.Acts(state_stage.finish)
    async with state_stage.running(redis, worker, QUICK) as runner:
        assert await runner.offer("acme", "broken")
        assert await runner.offer("acme", "s1")
        await runner.idle.wait()
    assert worker.texts == ["s1"]


async def _ends(redis: Redis) -> float:
    return float((await redis.zscore(partition_keys_of("acme", "s1").leased, "acme:s1")) or 0)
