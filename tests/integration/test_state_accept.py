"""Accepting: once, whole, and only into one's own session; real processes take up what was accepted."""

import asyncio
import signal
from contextlib import aclosing

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_sessions import RedisSessions
from shared.contracts.task import Principal, TaskRecord, TaskRequest, TurnKind
from shared.domain.words import TaskState
from shared.infra.task_store import TaskStore, UnknownTask
from shared.ports.tasks import SessionBelongsToOther, TaskEnded
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.executor_process import executor_process
from tests.integration.state_stage import an_end, begin
from tools.bench.executor.no_work import STARTED, WAIT


@pytest.fixture
def store(task_store: TaskStore) -> TaskStore:
    return task_store


@pytest.fixture
def sessions(redis: Redis) -> RedisSessions:
    return RedisSessions(redis, owner="one", lease_seconds=5)


async def _end(sessions: RedisSessions, session_id: str, state: TaskState = TaskState.COMPLETED) -> None:
    begun = await begin(sessions, session_id)
    await begun.store.finish(an_end(begun.work, state))
    assert await sessions.next(begun.lease) is None


@pytest.mark.promise("state.accept_once")
async def test_twenty_resends_at_once_make_one_task(store: TaskStore, sessions: RedisSessions) -> None:
    records = [a_record() for _ in range(20)]
    replies = await asyncio.gather(*(store.accept(one, a_turn(one), dedupe="m-1") for one in records))
    assert sum(reply.fresh for reply in replies) == 1
    assert len({(reply.record.task_id, reply.turn_id) for reply in replies}) == 1
    await _end(sessions, "s1")
    assert await sessions.claim("acme", "s1") is None


async def test_a_repeated_accept_of_one_turn_without_a_message_id_queues_it_once(
    store: TaskStore, sessions: RedisSessions
) -> None:
    record = a_record()
    turn = a_turn(record)
    await store.accept(record, turn, dedupe=None)
    again = await store.accept(record, turn, dedupe=None)
    assert not again.fresh
    await _end(sessions, "s1")
    assert await sessions.claim("acme", "s1") is None


@pytest.mark.promise("state.session_owner")
async def test_a_session_takes_no_task_of_another_principal(store: TaskStore) -> None:
    mine = a_record()
    await store.accept(mine, a_turn(mine), dedupe=None)
    theirs = a_record(principal=Principal(id="mallory"))
    with pytest.raises(SessionBelongsToOther):
        await store.accept(theirs, a_turn(theirs), dedupe=None)
    assert await store.record("acme", theirs.task_id) is None


async def test_a_task_id_belongs_to_the_session_it_began_in(store: TaskStore) -> None:
    record = a_record(session_id="s1")
    await store.accept(record, a_turn(record), dedupe=None)
    elsewhere = a_record(session_id="s2", task_id=record.task_id)
    with pytest.raises(SessionBelongsToOther):
        await store.accept(elsewhere, a_turn(elsewhere), dedupe=None)


async def test_a_known_task_keeps_its_record_and_gets_a_further_turn(store: TaskStore, sessions: RedisSessions) -> None:
    record = a_record()
    await store.accept(record, a_turn(record), dedupe=None)
    await _end(sessions, "s1", TaskState.INPUT_REQUIRED)
    accepted = await store.accept(record, a_turn(record, text="and then"), dedupe=None)
    assert accepted.record.state is TaskState.INPUT_REQUIRED
    begun = await begin(sessions, "s1")
    assert begun.work.turn.text == "and then"


async def test_an_ended_task_takes_no_turn(store: TaskStore, sessions: RedisSessions) -> None:
    record = a_record()
    await store.accept(record, a_turn(record), dedupe=None)
    await _end(sessions, "s1")
    with pytest.raises(TaskEnded):
        await store.accept(record, a_turn(record), dedupe=None)
    assert not await store.signal("acme", "s1", a_turn(record, TurnKind.CANCEL))


async def test_a_watch_of_an_unknown_task_says_so(store: TaskStore) -> None:
    async with aclosing(store.watch("acme", "nowhere")) as events:
        with pytest.raises(UnknownTask):
            await anext(events)


PATIENCE = 30.0


async def _sent(store: TaskStore, text: str, session_id: str) -> TaskRecord:
    record = a_record(session_id).model_copy(update={"request": TaskRequest(text=text)})
    await store.accept(record, a_turn(record), dedupe=None)
    return record


async def _times(store: TaskStore, record: TaskRecord, kind: str, count: int) -> None:
    """Wait until an event of that kind was seen so often."""
    async with asyncio.timeout(PATIENCE), aclosing(store.watch("acme", record.task_id)) as events:
        async for _, event in events:
            count -= event.kind == kind
            if not count:
                return


@pytest.mark.promise("state.lost_wake")
async def test_a_task_whose_wake_was_lost_is_carried_out(redis_url: str, task_store: TaskStore) -> None:
    with executor_process(redis_url):
        record = await _sent(task_store, "go", "s1")
        await _times(task_store, record, "turn_finished", 1)


@pytest.mark.promise("state.dead_owner")
async def test_the_turn_of_a_killed_executor_is_taken_up_by_another(redis_url: str, task_store: TaskStore) -> None:
    with executor_process(redis_url, LEASE_SECONDS="1") as first:
        record = await _sent(task_store, WAIT, "s1")
        await _times(task_store, record, STARTED, 1)
        with executor_process(redis_url, LEASE_SECONDS="1"):
            first.signal(signal.SIGKILL)
            await _times(task_store, record, STARTED, 2)
