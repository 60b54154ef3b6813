"""The list of tasks in Redis: every change of a record moves the task to its place."""

from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis

from services.gateway.features.tasks.listing import Page, WantedTasks
from services.gateway.features.tasks.store import RedisTaskLists
from shared.contracts.task import Principal
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.task_store import TaskStore
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.state_stage import an_end, begin, sessions_of

_BERT = Principal(id="bert")


async def _accept(store: TaskStore, *task_ids: str, session_id: str = "", by: Principal | None = None) -> None:
    for task_id in task_ids:
        record = a_record(session_id or f"s-{task_id}", task_id, *([by] if by else []))
        await store.accept(record, a_turn(record), dedupe=None)


async def _end(redis: Redis, session_id: str, state: TaskState) -> None:
    begun = await begin(sessions_of(redis, "one"), session_id)
    await begun.store.finish(an_end(begun.work, state))


def _ids(page: Page) -> list[str]:
    return [record.task_id for record in page.records]


@pytest.mark.promise("gateway.task_list")
async def test_the_last_changed_task_comes_first(redis: Redis, task_store: TaskStore) -> None:
    await _accept(task_store, "t1", "t2", "t3")
    await _end(redis, "s-t1", TaskState.COMPLETED)
    page = await RedisTaskLists(redis).page(WantedTasks("acme"), 10, None)
    assert (_ids(page), page.after, page.total) == (["t1", "t3", "t2"], None, 3)


async def test_tasks_that_changed_at_the_same_moment_are_not_lost_between_pages(redis: Redis) -> None:
    """Two tasks of one partition with one score: the place names the task too."""
    name = keys.list_stems(3, "acme").tenant + "submitted"
    members = ["a", "b", "c"]
    await redis.zadd(name, dict.fromkeys(members, 5))
    lists, place, seen = RedisTaskLists(redis), None, list[str]()
    for _ in members:
        page = await lists.page(WantedTasks("acme"), 1, place)
        seen.append(page.after.task if page.after else "end")
        place = page.after
    assert seen == [members[2], members[1], "end"]


@pytest.mark.promise("upgrade.opened")
async def test_a_list_that_an_older_revision_wrote_is_read(redis: Redis, task_store: TaskStore) -> None:
    """Its members name tenant and session, too."""
    await _accept(task_store, "t1")
    for name in [str(name) async for name in redis.scan_iter("*:listed:*")]:
        score = await redis.zscore(name, "t1") or 0.0
        await redis.zrem(name, "t1")
        await redis.zadd(name, {keys.pack(keys.EndedMember("acme", "s-t1", "t1")): score})
    assert _ids(await RedisTaskLists(redis).page(WantedTasks("acme"), 10, None)) == ["t1"]


async def test_it_asks_by_owner_session_state_and_time(redis: Redis, task_store: TaskStore) -> None:
    await _accept(task_store, "t1", "t2")
    await _accept(task_store, "t3", by=_BERT, session_id="of-bert")
    await _end(redis, "s-t2", TaskState.FAILED)
    lists = RedisTaskLists(redis)
    later = datetime.now(UTC) + timedelta(minutes=5)
    asked = {
        "owner": WantedTasks("acme", "bert"),
        "session": WantedTasks("acme", session="s-t1"),
        "state": WantedTasks("acme", states=(TaskState.FAILED, TaskState.CANCELED)),
        "time": WantedTasks("acme", since=later),
        "tenant": WantedTasks("other"),
    }
    found = {name: await lists.page(wanted, 10, None) for name, wanted in asked.items()}
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
    await _end(redis, "s-t1", TaskState.COMPLETED)
    names = [str(name) async for name in redis.scan_iter("*:listed:*")]
    assert {name.rpartition(":")[2] for name in names} == {"completed"}
    assert len(names) == 3
    for name in names:
        assert 0 < await redis.ttl(name) <= keys.TASK_RETENTION_SECONDS
