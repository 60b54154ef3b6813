"""Sessions that fell idle leave Redis for the archive, and come back when somebody speaks to them."""

from collections.abc import Awaitable
from pathlib import Path
from typing import cast

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_idle import ArchivedSession, RedisIdleSessions
from services.executor.adapters.redis_sessions import RedisSessions
from services.executor.core.turn.archiving import Evictor
from services.executor.core.turn.attempt import give_up
from services.executor.ports.turns import MemoryUnavailable, SessionCall, SessionState
from services.executor.ports.upkeep import IdleSession
from shared.contracts.task import TurnKind
from shared.domain.partition import PARTITIONS
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.archive_folder import FolderArchive
from shared.infra.task_store import TaskStore
from shared.ports.archive import Archive, ArchiveUnavailable
from shared.ports.store import StoreUnavailable
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.state_stage import Begun, accepted, an_end, begin, signalled

ALL = range(PARTITIONS)
MEMORY = SessionState(
    turns=(("user", "Was C-1 paid?"), ("agent", "Yes.")),
    summary="They spoke of claims.",
    corrections={"cust": "customer"},
    calls=(SessionCall("pay", "done", "{}"),),
)


class BrokenArchive(Archive):
    """An archive that is down."""

    async def put(self, tenant: str, task_id: str, content: bytes) -> None:
        raise ArchiveUnavailable("down")

    async def get(self, tenant: str, task_id: str) -> bytes | None:
        raise ArchiveUnavailable("down")

    async def list(self, tenant: str) -> tuple[str, ...]:
        raise ArchiveUnavailable("down")

    async def delete(self, tenant: str, task_id: str) -> bool:
        raise ArchiveUnavailable("down")


@pytest.fixture
def archive(tmp_path: Path) -> FolderArchive:
    return FolderArchive(tmp_path)


async def spoken(
    redis: Redis, store: TaskStore, archive: Archive | None, state: TaskState = TaskState.COMPLETED, session: str = "s1"
) -> Begun:
    """A session with one turn, which left a memory and this state of its task."""
    sessions = RedisSessions(redis, "one", 5.0, archive)
    await accepted(store, session)
    begun = await begin(sessions, session)
    end = an_end(begun.work, state)
    metadata = {"process_type": "expense_approval", "strategy": "fsm", "states": ["DECOMPOSE", "COMPLETE"]}
    record = end.record.model_copy(update={"metadata": metadata})
    await begun.store.finish(end._replace(record=record, session=MEMORY))
    assert await sessions.next(begun.lease) is None
    return begun


def evictor(redis: Redis, archive: Archive | None, seconds: float = 0.0) -> Evictor:
    return Evictor(RedisIdleSessions(redis), archive, seconds)


async def memory_in_redis(redis: Redis, session: str = "s1") -> str | None:
    return await cast("Awaitable[str | None]", redis.hget(keys.session_keys("acme", session).session, "state"))


async def remembered(redis: Redis, store: TaskStore, archive: Archive | None, session: str = "s1") -> SessionState:
    """What the session remembers when it is spoken to again."""
    await accepted(store, session, "and now?")
    return await (await begin(RedisSessions(redis, "two", 5.0, archive), session)).store.session()


@pytest.mark.promise("session.evicted")
async def test_an_idle_session_leaves_redis_and_is_restored_when_it_speaks_again(
    redis: Redis, task_store: TaskStore, archive: FolderArchive
) -> None:
    """Turns, summary, corrections and counted calls; and the next turn's end has them in Redis again."""
    await spoken(redis, task_store, archive)
    assert await evictor(redis, archive).tick(ALL) == 1
    assert await memory_in_redis(redis) is None
    await accepted(task_store, "s1", "and now?")
    begun = await begin(RedisSessions(redis, "two", 5.0, archive))
    assert await begun.store.session() == MEMORY
    await begun.store.finish(an_end(begun.work)._replace(session=MEMORY))
    assert await memory_in_redis(redis) is not None
    assert not await cast("Awaitable[bool]", redis.hexists(keys.session_keys("acme", "s1").session, "evicted"))


@pytest.mark.promise("session.evicted")
async def test_the_archive_says_whose_it_is_and_where_its_last_task_came_to(
    redis: Redis, task_store: TaskStore, archive: FolderArchive
) -> None:
    begun = await spoken(redis, task_store, archive)
    await evictor(redis, archive).tick(ALL)
    content = await archive.get("acme", "s1")
    assert content is not None
    kept = ArchivedSession.model_validate_json(content)
    assert (kept.tenant, kept.session_id, kept.owner) == ("acme", "s1", begun.work.record.requester.id)
    assert kept.last_task is not None
    assert (kept.last_task.task_id, kept.last_task.states) == (begun.work.record.task_id, ("DECOMPOSE", "COMPLETE"))


@pytest.mark.promise("session.evicted")
async def test_a_session_that_is_not_idle_for_long_enough_stays(
    redis: Redis, task_store: TaskStore, archive: FolderArchive
) -> None:
    await spoken(redis, task_store, archive)
    assert await evictor(redis, archive, 3600.0).tick(ALL) == 0
    assert await memory_in_redis(redis) is not None


@pytest.mark.promise("session.waiting_stays")
async def test_a_session_that_waits_for_a_person_is_never_evicted(
    redis: Redis, task_store: TaskStore, archive: FolderArchive
) -> None:
    """An approval, a timer and a doubt keep their task open, and an open task keeps its session."""
    await spoken(redis, task_store, archive, TaskState.INPUT_REQUIRED)
    assert await evictor(redis, archive).tick(ALL) == 0
    assert await memory_in_redis(redis) is not None


@pytest.mark.promise("session.waiting_stays")
@pytest.mark.parametrize("comes", ["message", "signal", "owner"])
async def test_what_comes_before_the_eviction_keeps_the_session(
    redis: Redis, task_store: TaskStore, archive: FolderArchive, comes: str
) -> None:
    """A turn, a signal to an open task, or an executor that works on it; also between reading and leaving."""
    await spoken(redis, task_store, archive)
    idle, session = RedisIdleSessions(redis), IdleSession("acme", "s1")
    (taken,) = await idle.take(ALL, 0.0, 64)
    found = await idle.read(taken)
    assert found is not None
    await accepted(task_store, "s1", "wait")
    if comes == "signal":
        record = a_record("s1")
        await task_store.accept(record, a_turn(record), dedupe=None)
        await signalled(task_store, record, TurnKind.CANCEL)
    if comes == "owner":
        await begin(RedisSessions(redis, "two", 5.0, archive))
    assert not await idle.evict(session, found.mark)
    assert await memory_in_redis(redis) == found.mark


@pytest.mark.promise("session.waiting_stays")
async def test_what_was_said_since_it_was_read_is_not_lost(
    redis: Redis, task_store: TaskStore, archive: FolderArchive
) -> None:
    """A session that spoke, and fell idle again, between reading and leaving stays with its newer memory."""
    await spoken(redis, task_store, archive)
    idle = RedisIdleSessions(redis)
    (taken,) = await idle.take(ALL, 0.0, 64)
    found = await idle.read(taken)
    assert found is not None
    sessions = RedisSessions(redis, "two", 5.0, archive)
    await accepted(task_store, "s1", "more")
    begun = await begin(sessions)
    await begun.store.finish(an_end(begun.work)._replace(session=MEMORY._replace(summary="newer")))
    assert await sessions.next(begun.lease) is None
    assert not await idle.evict(taken, found.mark)
    assert "newer" in str(await memory_in_redis(redis))


@pytest.mark.promise("session.archive_down")
async def test_with_the_archive_down_nothing_leaves_and_nothing_is_forgotten(
    redis: Redis, task_store: TaskStore, archive: FolderArchive
) -> None:
    """A turn of a session that left is tried again later: rules may ask for the calls that it counted."""
    await spoken(redis, task_store, archive)
    assert await evictor(redis, BrokenArchive()).tick(ALL) == 0
    assert await memory_in_redis(redis) is not None
    await spoken(redis, task_store, archive, session="s2")
    await evictor(redis, archive).tick(ALL)
    with pytest.raises(MemoryUnavailable, match="archive"):
        await remembered(redis, task_store, BrokenArchive(), "s2")


@pytest.mark.promise("session.archive_down")
async def test_a_memory_that_nobody_can_read_is_not_waited_for(
    redis: Redis, task_store: TaskStore, archive: FolderArchive
) -> None:
    """Time will not mend it."""
    await spoken(redis, task_store, archive)
    await evictor(redis, archive).tick(ALL)
    await archive.put("acme", "s1", b"no memory")
    with pytest.raises(StoreUnavailable, match="cannot be read") as raised:
        await remembered(redis, task_store, archive)
    assert not isinstance(raised.value, MemoryUnavailable)


@pytest.mark.promise("session.archive_down")
async def test_a_turn_that_is_given_up_leaves_what_the_archive_holds_as_it_is(
    redis: Redis, task_store: TaskStore, archive: FolderArchive
) -> None:
    """It ends although the archive cannot be read; the session remembers once it can be."""
    await spoken(redis, task_store, archive)
    await evictor(redis, archive).tick(ALL)
    record = await accepted(task_store, "s1", "and now?")
    sessions = RedisSessions(redis, "two", 5.0, BrokenArchive())
    begun = await begin(sessions)
    await begun.store.finish(await give_up(begun.work, begun.store, 5))
    assert await sessions.next(begun.lease) is None
    ended = await task_store.record("acme", record.task_id)
    assert ended is not None
    assert ended.state is TaskState.FAILED
    assert await remembered(redis, task_store, archive) == MEMORY


@pytest.mark.promise("session.archive_down")
async def test_without_an_archive_idle_sessions_stay_for_their_time(redis: Redis, task_store: TaskStore) -> None:
    """They are looked at once, and keep their time to live."""
    await spoken(redis, task_store, None)
    assert await evictor(redis, None).tick(ALL) == 0
    assert await memory_in_redis(redis) is not None
    assert 0 < await redis.ttl(keys.session_keys("acme", "s1").session) <= keys.SESSION_RETENTION_SECONDS
    assert not [name async for name in redis.scan_iter("*:idle")]


@pytest.mark.promise("session.own")
async def test_what_another_principal_left_is_given_to_nobody(
    redis: Redis, task_store: TaskStore, archive: FolderArchive
) -> None:
    """Nor what another tenant's session of the same name left."""
    await spoken(redis, task_store, archive)
    await evictor(redis, archive).tick(ALL)
    assert await archive.get("other", "s1") is None
    names = keys.session_keys("acme", "s1")
    await cast("Awaitable[int]", redis.hset(names.session, "owner", a_record("s1").requester.id + "-2"))
    store = RedisSessions(redis, "two", 5.0, archive)
    assert await _session_as_it_is(store, redis, task_store) == SessionState()


async def _session_as_it_is(sessions: RedisSessions, redis: Redis, store: TaskStore) -> SessionState:
    """What a turn would be given, whoever the session's owner is by now."""
    names = keys.session_keys("acme", "s1")
    owner = str(await cast("Awaitable[str | None]", redis.hget(names.session, "owner")))
    await cast("Awaitable[int]", redis.hset(names.session, "owner", a_record("s1").requester.id))
    await accepted(store, "s1", "hello")
    await cast("Awaitable[int]", redis.hset(names.session, "owner", owner))
    return await (await begin(sessions)).store.session()


@pytest.mark.promise("session.evicted")
async def test_dying_between_the_archive_and_redis_repeats_harmlessly(
    redis: Redis, task_store: TaskStore, archive: FolderArchive
) -> None:
    """What was archived and did not leave is archived again; what left twice is left once."""
    await spoken(redis, task_store, archive)
    idle = RedisIdleSessions(redis)
    (taken,) = await idle.take(ALL, 0.0, 64)
    found = await idle.read(taken)
    assert found is not None
    await archive.put(taken.tenant, taken.session_id, found.content)
    assert await idle.take(ALL, 0.0, 64) == ()  # nobody else takes it for a while
    assert await idle.evict(taken, found.mark)
    assert await idle.evict(taken, found.mark)
    assert await remembered(redis, task_store, archive) == MEMORY
