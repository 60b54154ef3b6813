"""Accepting a task: once, whole, into one's own session; and its place in the list of tasks at every change."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_sessions import RedisSessions
from services.gateway.features.tasks.listing import TaskListPage, TaskLists, TaskQuery
from shared.contracts.task import Principal, TurnKind
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.task_store import TaskStore, UnknownTask
from shared.ports.tasks import SessionBelongsToOther, TaskEnded
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.state_stage import an_end, begin, sessions_of

_BERT = Principal(id="bert")


async def _accept(store: TaskStore, *task_ids: str, session_id: str = "", by: Principal | None = None) -> None:
    for task_id in task_ids:
        record = a_record(session_id or f"s-{task_id}", task_id, *([by] if by else []))
        await store.accept(record, a_turn(record), dedupe=None)


async def _end(sessions: RedisSessions, session_id: str = "s1", state: TaskState = TaskState.COMPLETED) -> None:
    begun = await begin(sessions, session_id)
    await begun.store.finish(an_end(begun.work, state))
    assert await sessions.begin_next_turn(begun.lease) is None


def _ids(page: TaskListPage) -> list[str]:
    return [record.task_id for record in page.records]


@pytest.mark.promise("gateway.task_list")
async def test_the_last_changed_task_comes_first(redis: Redis, task_store: TaskStore) -> None:
    await _accept(task_store, "t1", "t2", "t3")
    await _end(sessions_of(redis, "one"), "s-t1", TaskState.COMPLETED)
    page = await TaskLists(redis).read_page("acme", TaskQuery(size=10), None)
    assert (_ids(page), page.next_position, page.total) == (["t1", "t3", "t2"], None, 3)


async def test_tasks_that_changed_at_the_same_moment_are_not_lost_between_pages(redis: Redis) -> None:
    """Two tasks of one partition with one score: the place names the task too."""
    name = keys.task_list_prefixes(3, "acme").tenant + "submitted"
    members = ["a", "b", "c"]
    await redis.zadd(name, dict.fromkeys(members, 5))
    lists, place, seen = TaskLists(redis), None, list[str]()
    for _ in members:
        page = await lists.read_page("acme", TaskQuery(size=1), place)
        seen.append(page.next_position.member if page.next_position else "end")
        place = page.next_position
    assert seen == [members[2], members[1], "end"]


@pytest.mark.promise("upgrade.opened")
async def test_a_list_that_an_older_revision_wrote_is_read(redis: Redis, task_store: TaskStore) -> None:
    """Its members name tenant and session, too."""
    await _accept(task_store, "t1")
    for name in [str(name) async for name in redis.scan_iter("*:listed:*")]:
        score = await redis.zscore(name, "t1") or 0.0
        await redis.zrem(name, "t1")
        await redis.zadd(name, {keys.pack_member(keys.EndedTaskMember("acme", "s-t1", "t1")): score})
    assert _ids(await TaskLists(redis).read_page("acme", TaskQuery(size=10), None)) == ["t1"]


async def test_it_asks_by_owner_session_state_and_time(redis: Redis, task_store: TaskStore) -> None:
    await _accept(task_store, "t1", "t2")
    await _accept(task_store, "t3", by=_BERT, session_id="of-bert")
    await _end(sessions_of(redis, "one"), "s-t2", TaskState.FAILED)
    lists = TaskLists(redis)
    later = datetime.now(UTC) + timedelta(minutes=5)
    asked = {
        "owner": lists.read_page("acme", TaskQuery(size=10), None, "bert"),
        "session": lists.read_page("acme", TaskQuery(session_id="s-t1"), None),
        "state": lists.read_page("acme", TaskQuery(states=(TaskState.FAILED, TaskState.CANCELED)), None),
        "time": lists.read_page("acme", TaskQuery(since=later), None),
        "tenant": lists.read_page("other", TaskQuery(), None),
    }
    found = {name: await page for name, page in asked.items()}
    assert {name: _ids(page) for name, page in found.items()} == {
        "owner": ["t3"],
        "session": ["t1"],
        "state": ["t2"],
        "time": [],
        "tenant": [],
    }
    assert {name: page.total for name, page in found.items()} == {
        "owner": 1,
        "session": 1,
        "state": 1,
        "time": 0,
        "tenant": 0,
    }


async def test_an_ended_task_leaves_the_list_in_the_stated_time(redis: Redis, task_store: TaskStore) -> None:
    await _accept(task_store, "t1")
    await _end(sessions_of(redis, "one"), "s-t1", TaskState.COMPLETED)
    names = [str(name) async for name in redis.scan_iter("*:listed:*")]
    assert {name.rpartition(":")[2] for name in names} == {"completed"}
    assert len(names) == 3
    for name in names:
        assert 0 < await redis.ttl(name) <= keys.TASK_RETENTION_SECONDS


@pytest.fixture
def sessions(redis: Redis) -> RedisSessions:
    return RedisSessions(redis, owner="one", lease_seconds=5)


@pytest.mark.promise("state.accept_once")
async def test_twenty_resends_at_once_make_one_task(task_store: TaskStore, sessions: RedisSessions) -> None:
    records = [a_record() for _ in range(20)]
    replies = await asyncio.gather(*(task_store.accept(one, a_turn(one), dedupe="m-1") for one in records))
    assert sum(reply.is_new for reply in replies) == 1
    assert len({(reply.record.task_id, reply.turn_id) for reply in replies}) == 1
    await _end(sessions)
    assert await sessions.claim("acme", "s1") is None


async def test_a_repeated_accept_without_a_message_id_queues_once(
    task_store: TaskStore, sessions: RedisSessions
) -> None:
    record = a_record()
    turn = a_turn(record)
    await task_store.accept(record, turn, dedupe=None)
    again = await task_store.accept(record, turn, dedupe=None)
    assert not again.is_new
    await _end(sessions)
    assert await sessions.claim("acme", "s1") is None


async def test_a_task_id_belongs_to_the_session_it_began_in(task_store: TaskStore) -> None:
    record = a_record(session_id="s1")
    await task_store.accept(record, a_turn(record), dedupe=None)
    elsewhere = a_record(session_id="s2", task_id=record.task_id)
    with pytest.raises(SessionBelongsToOther):
        await task_store.accept(elsewhere, a_turn(elsewhere), dedupe=None)


async def test_a_known_task_keeps_its_record_and_gets_a_further_turn(
    task_store: TaskStore, sessions: RedisSessions
) -> None:
    record = a_record()
    await task_store.accept(record, a_turn(record), dedupe=None)
    await _end(sessions, "s1", TaskState.INPUT_REQUIRED)
    accepted = await task_store.accept(record, a_turn(record, text="and then"), dedupe=None)
    assert accepted.record.state is TaskState.INPUT_REQUIRED
    begun = await begin(sessions, "s1")
    assert begun.work.turn.text == "and then"


async def test_an_ended_task_takes_no_turn(task_store: TaskStore, sessions: RedisSessions) -> None:
    record = a_record()
    await task_store.accept(record, a_turn(record), dedupe=None)
    await _end(sessions)
    with pytest.raises(TaskEnded):
        await task_store.accept(record, a_turn(record), dedupe=None)
    assert not await task_store.signal("acme", "s1", a_turn(record, TurnKind.CANCEL))


async def test_a_watch_of_an_unknown_task_says_so(task_store: TaskStore) -> None:
    async with aclosing(task_store.watch("acme", "nowhere")) as events:
        with pytest.raises(UnknownTask):
            await anext(events)
