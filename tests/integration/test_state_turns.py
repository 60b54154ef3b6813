"""Turns under a lease: one owner, in order, fenced."""

import asyncio
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from services.executor.core.turn.heartbeat import KeptLease, LeaseKeeper
from services.executor.ports.turns import JournalEntry, LedgerConflict, Timer
from shared.contracts.outcome_digest import make_outcome_digest
from shared.contracts.task import TurnKind
from shared.domain.words import SENDABLE_STATUSES, TaskState, WriteStatus
from shared.infra.keys import dedupe_key, partition_keys_of, session_keys, task_location_key
from shared.infra.stored_outcomes import unpack_outcome
from shared.infra.task_store import TaskStore
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.integration import state_stage

STEP = JournalEntry("k1", "note", "{}")


@pytest.mark.promise("state.one_owner")
async def test_of_many_claimers_at_once_one_gets_the_lease(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store)
    rivals = [state_stage.sessions_of(redis, f"e{number}") for number in range(10)]
    leases = await asyncio.gather(*(rival.claim("acme", "s1") for rival in rivals))
    assert len([lease for lease in leases if lease]) == 1


@pytest.mark.promise("state.accept_once")
async def test_a_message_resent_after_a_day_has_one_place_in_the_queue(redis: Redis, task_store: TaskStore) -> None:
    record = a_record()
    turn = a_turn(record)
    await task_store.accept(record, turn, dedupe="m1")
    await redis.delete(dedupe_key("acme", "s1", turn.principal.id, "m1"))  # as it expires
    other = a_record(task_id="made-up-by-the-resend")
    again = await task_store.accept(other, turn.model_copy(update={"task_id": other.task_id}), dedupe="m1")
    assert (again.is_new, again.record.task_id) == (False, record.task_id)
    assert await redis.exists(task_location_key("acme", other.task_id)) == 0
    assert await redis.llen(session_keys("acme", "s1").inbox) == 1  # type: ignore[misc]  # redis-py's union


async def test_a_resent_message_leaves_no_name_of_the_task_it_did_not_make(redis: Redis, task_store: TaskStore) -> None:
    """Each resend would leave one for good."""
    record = a_record()
    await task_store.accept(record, a_turn(record), dedupe="m1")
    other = a_record()
    again = await task_store.accept(other, a_turn(other), dedupe="m1")
    assert again.record.task_id == record.task_id
    assert await redis.exists(task_location_key("acme", other.task_id)) == 0
    assert await redis.exists(task_location_key("acme", record.task_id)) == 1


async def test_an_id_without_its_turn_holds_up_nobody(redis: Redis, task_store: TaskStore) -> None:
    await redis.rpush(session_keys("acme", "s1").inbox, "done-long-ago")  # type: ignore[misc]  # redis-py's union
    record = await state_stage.accepted(task_store)
    begun = await state_stage.begin(state_stage.sessions_of(redis, "one"))
    assert begun.record.task_id == record.task_id
    await begun.store.finish(state_stage.an_end(begun.work))
    assert await state_stage.sessions_of(redis, "one").begin_next_turn(begun.lease) is None


async def test_a_late_heartbeat_keeps_a_lease_that_nobody_took(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one)
    await state_stage.break_lease(redis, begun.lease)
    assert (await one.extend_all([begun.lease])).lost == ()
    assert await state_stage.sessions_of(redis, "two").claim("acme", "s1") is None


@pytest.mark.promise("state.fenced")
async def test_a_heartbeat_tells_which_leases_are_lost_and_keeps_others(redis: Redis, task_store: TaskStore) -> None:
    one = state_stage.sessions_of(redis, "one")
    held = []
    for number in range(5):
        await state_stage.accepted(task_store, f"s{number}")
        held.append((await state_stage.begin(one, f"s{number}")).lease)
    await state_stage.break_lease(redis, held[3])
    await state_stage.begin(state_stage.sessions_of(redis, "two"), "s3")
    assert (await one.extend_all(held)).lost == (held[3],)


@pytest.mark.promise("state.order")
async def test_messages_come_in_order_and_signals_before_them(redis: Redis, task_store: TaskStore) -> None:
    record = await state_stage.accepted(task_store, text="first")
    for text in ("second", "third"):
        await task_store.accept(record, a_turn(record, text=text), dedupe=None)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one)
    decision = await state_stage.signalled(task_store, record)
    seen = [begun.work.turn.text]
    for _ in range(3):
        await begun.store.finish(state_stage.an_end(begun.work, TaskState.INPUT_REQUIRED))
        begun = await state_stage.begin_next(one, begun.lease)
        seen.append(begun.work.turn.text or begun.work.turn.turn_id)
    assert seen == ["first", decision.turn_id, "second", "third"]


async def test_a_cancel_of_another_task_of_the_session_is_not_heard(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store)
    other = await state_stage.accepted(task_store)
    begun = await state_stage.begin(state_stage.sessions_of(redis, "one"))
    await state_stage.signalled(task_store, other, TurnKind.CANCEL)
    assert (await begun.store.get_stop_state()).cancel is None


@pytest.mark.promise("state.write_once")
@pytest.mark.parametrize("status", [one for one in WriteStatus if one not in SENDABLE_STATUSES])
async def test_a_write_is_reopened_only_if_sendable(redis: Redis, task_store: TaskStore, status: WriteStatus) -> None:
    begun = await state_stage.begun_turn(redis, task_store)
    await begun.store.open_write(state_stage.an_entry(), 1.0)
    await begun.store.settle_write(state_stage.an_entry(status), WriteStatus.SENDING)
    with pytest.raises(LedgerConflict):
        await begun.store.open_write(state_stage.an_entry(), 1.0)


async def test_an_open_write_stretches_the_lease_over_its_call(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one)
    await begun.store.open_write(state_stage.an_entry(), 60.0)
    await one.extend_all([begun.lease])
    now = (await begun.store.get_stop_state()).now
    ends = await redis.zscore(partition_keys_of("acme", "s1").leased, "acme:s1")
    assert float(ends or 0) / 1000 - now.timestamp() > 50


@pytest.mark.promise("state.recovery")
async def test_a_lease_is_as_short_as_any_again_once_the_write_is_settled(redis: Redis, task_store: TaskStore) -> None:
    """Else the turn of an executor that is killed after a write would wait for a call that is long over."""
    await state_stage.accepted(task_store)
    begun = await state_stage.begin(state_stage.sessions_of(redis, "one", lease_seconds=3.0))
    await begun.store.open_write(state_stage.an_entry(), 60.0)
    now = (await begun.store.settle_write(state_stage.an_entry(WriteStatus.SENT), WriteStatus.SENDING)).now
    ends = await redis.zscore(partition_keys_of("acme", "s1").leased, "acme:s1")
    until = await redis.hget(session_keys("acme", "s1").lease, "until")  # type: ignore[misc]  # redis-py's union
    assert float(ends or 0) == float(until or 0)
    assert 2 < float(ends or 0) / 1000 - now.timestamp() <= 3.1


@pytest.mark.promise("state.sessions_leave")
@pytest.mark.parametrize("after", ["a crash", "a stop"])
async def test_a_session_whose_owner_ended_leaves_in_time(redis: Redis, task_store: TaskStore, after: str) -> None:
    await state_stage.accepted(task_store)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one)
    await begun.store.finish(state_stage.an_end(begun.work))
    if after == "a stop":
        await one.abandon(begun.lease, handed_over=True)
    else:
        await state_stage.break_lease(redis, begun.lease)
        assert await state_stage.sessions_of(redis, "two").claim("acme", "s1") is None
    names = session_keys("acme", "s1")
    assert await redis.ttl(names.session) > 0
    assert await redis.ttl(names.lease) > 0


@pytest.mark.promise("state.ended_is_ended")
async def test_an_ended_task_stays_as_it_ended(redis: Redis, task_store: TaskStore) -> None:
    record = await state_stage.accepted(task_store)
    await task_store.accept(record, a_turn(record), dedupe=None)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one)
    await begun.store.finish(state_stage.an_end(begun.work, TaskState.CANCELED))
    late = await state_stage.begin_next(one, begun.lease)
    await late.store.finish(state_stage.an_end(late.work, TaskState.COMPLETED))
    assert (await state_stage.stored_record(task_store, record)).state is TaskState.CANCELED
    assert await redis.xlen(partition_keys_of("acme", "s1").outcomes) == 1
    assert await one.begin_next_turn(begun.lease) is None


async def test_a_published_record_is_what_clients_see(redis: Redis, task_store: TaskStore) -> None:
    begun = await state_stage.begun_turn(redis, task_store)
    working = begun.record.model_copy(update={"state": TaskState.WORKING})
    await begun.store.append([], [state_stage.NOTE], working)
    await begun.store.append([], [], working.model_copy(update={"reason": "still"}))
    assert await task_store.get_record("acme", begun.record.task_id) == working.model_copy(update={"reason": "still"})


async def test_the_outcome_is_what_the_learner_will_read(redis: Redis, task_store: TaskStore) -> None:
    begun = await state_stage.begun_turn(redis, task_store)
    end = state_stage.an_end(begun.work)
    await begun.store.finish(end)
    [(_, row)] = await redis.xrange(partition_keys_of("acme", "s1").outcomes)
    told = state_stage.an_outcome(end.record)
    digest, event = unpack_outcome(row["o"])
    assert (row["id"], event, digest) == (f"{end.record.task_id}:1", told.stored_json(), make_outcome_digest(told))


@pytest.mark.promise("state.release_empty")
@pytest.mark.parametrize("more", [True, False])
async def test_a_turns_end_gives_the_lease_back_if_none_waits(redis: Redis, task_store: TaskStore, more: bool) -> None:
    record = await state_stage.accepted(task_store)
    one = state_stage.sessions_of(redis, "one")
    lease = await one.claim("acme", "s1")
    assert lease is not None
    work, kept = await one.begin_next_turn(lease), KeptLease(LeaseKeeper(5.0), lease)
    assert work is not None
    if more:
        await task_store.accept(record, a_turn(record), dedupe=None)
    await one.turn_store(lease, work, kept).finish(state_stage.an_end(work, TaskState.INPUT_REQUIRED))
    assert kept.released is not more
    assert (await one.extend_all([lease])).lost == (() if more else (lease,))


@pytest.mark.promise("state.release_empty")
async def test_between_beats_a_turn_asks_the_store_only_once_it_is_called(redis: Redis, task_store: TaskStore) -> None:
    """A signal that waits in its session is told by the heartbeat; the turn then hears what it is."""
    record = await state_stage.accepted(task_store)
    one, keeper = state_stage.sessions_of(redis, "one"), LeaseKeeper(0.06)
    lease = await one.claim("acme", "s1")
    assert lease is not None
    work = await one.begin_next_turn(lease)
    assert work is not None
    kept = KeptLease(keeper, lease)
    store, watching = one.turn_store(lease, work, kept), asyncio.ensure_future(keeper.keep_until_lost(kept))
    cancel = a_turn(record, TurnKind.CANCEL)
    assert await task_store.signal("acme", "s1", cancel)
    beating = asyncio.ensure_future(keeper.keep_extending(one))
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        while (stop_state := await store.get_stop_state()).cancel is None:
            await store.await_signal()
    for task in (watching, beating):
        task.cancel()
    assert stop_state.cancel == cancel


async def test_a_repeated_signal_is_queued_once(redis: Redis, task_store: TaskStore) -> None:
    record = await state_stage.accepted(task_store)
    turn = await state_stage.signalled(task_store, record)
    await task_store.signal("acme", "s1", turn)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one)
    await begun.store.finish(state_stage.an_end(begun.work, TaskState.WORKING))
    assert (await state_stage.begin_next(one, begun.lease)).work.turn.kind is TurnKind.MESSAGE


async def test_a_waiting_task_leaves_a_timer_and_holds_no_lease(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one)
    timer = Timer(NOON + timedelta(hours=1), "a1")
    await begun.store.finish(state_stage.an_end(begun.work, TaskState.INPUT_REQUIRED)._replace(timer=timer))
    assert await one.begin_next_turn(begun.lease) is None
    keys = partition_keys_of("acme", "s1")
    assert await redis.zscore(keys.timers, f"acme:s1:{begun.work.turn.task_id}:a1") == timer.due.timestamp() * 1000
    assert [await redis.exists(name) for name in (keys.leased, keys.waiting)] == [0, 0]
