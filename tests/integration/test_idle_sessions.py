"""Ended tasks and sessions that fell idle leave Redis for the archive, whatever dies, and come back."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_idle import ArchivedSession, Archiver, Evictor, PackedSession
from services.executor.adapters.redis_sessions import RedisSessions
from services.executor.core.turn.session_run import build_given_up_end
from services.executor.ports.turns import JournalEntry, SessionCall, SessionState, SessionUnavailable
from services.learner.adapters.redis_forgetting import RedisForgetting
from shared.contracts.archive import parse_archived_task
from shared.contracts.learning_files import ForgetRequest, ForgetScope
from shared.contracts.task import TaskRecord, TurnKind
from shared.domain.words import TaskState, WriteStatus
from shared.infra import keys
from shared.infra.archive_folder import FolderArchive
from shared.infra.task_store import TaskStore
from shared.ports.archive import ArchiveUnavailable
from shared.ports.store import StoreUnavailable
from tests.doubles.memory_turns import Died
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.each_row import each_row
from tests.integration import state_stage

SESSION = keys.session_keys("acme", "s1").session
MEMORY = SessionState(
    turns=(("user", "Was C-1 paid?"), ("agent", "Yes.")),
    summary="They spoke of claims.",
    corrections={"cust": "customer"},
    calls=(SessionCall("pay", "done", "{}"),),
)


class FrailArchive(FolderArchive):
    """Is down while ``broken``; dies after storing if ``dies``."""

    broken = False
    dies = False
    meanwhile: Callable[[], Awaitable[object]] | None = None  # what is done while something is being stored

    @override
    async def put(self, tenant: str, task_id: str, content: bytes) -> None:
        if self.broken:
            raise ArchiveUnavailable("the disk is full")
        if self.meanwhile:
            await self.meanwhile()
        await super().put(tenant, task_id, content)
        if self.dies:
            raise Died

    @override
    async def get(self, tenant: str, task_id: str) -> bytes | None:
        if self.broken:
            raise ArchiveUnavailable("down")
        return await super().get(tenant, task_id)


class House(NamedTuple):
    """A store, an archive or none, and who moves from the one to the other."""

    redis: Redis
    store: TaskStore
    archive: FrailArchive | None

    def sessions(self, owner: str = "two") -> RedisSessions:
        return RedisSessions(self.redis, owner, 5.0, self.archive)

    async def spoken(self, state: TaskState = TaskState.COMPLETED, session: str = "s1") -> state_stage.Begun:
        """A session with one turn, which left a memory and this state of its task."""
        sessions = self.sessions("one")
        await state_stage.accepted(self.store, session)
        begun = await state_stage.begin(sessions, session)
        end = state_stage.an_end(begun.work, state)
        metadata = {"process_type": "expense_approval", "strategy": "fsm", "states": ["DECOMPOSE", "COMPLETE"]}
        record = end.record.model_copy(update={"metadata": metadata})
        await begun.store.finish(end._replace(record=record, session=MEMORY))
        assert await sessions.begin_next_turn(begun.lease) is None
        return begun

    async def evicted(self, seconds: float = 0.0) -> int:
        """How many sessions leave at one look."""
        return await Evictor(self.redis, self.archive, seconds).evict_once()

    async def in_redis(self) -> str | None:
        return await cast("Awaitable[str | None]", self.redis.hget(SESSION, "state"))

    async def remembered(self, session: str = "s1") -> SessionState:
        """What the session remembers when it is spoken to again."""
        await state_stage.accepted(self.store, session, "and now?")
        return await (await state_stage.begin(self.sessions(), session)).store.read_session()

    async def read(self) -> tuple[keys.SessionMember, PackedSession]:
        """The idle session, taken and read; it has not left yet."""
        idle = Evictor(self.redis, self.archive, 0.0)
        (taken,) = await idle.claim_idle_sessions()
        found = await idle.pack_session(taken)
        assert found is not None
        return taken, found

    async def owner(self, name: str) -> str:
        """Give the session to somebody else; who had it before."""
        before = str(await cast("Awaitable[str | None]", self.redis.hget(SESSION, "owner")))
        await cast("Awaitable[int]", self.redis.hset(SESSION, "owner", name))
        return before

    async def ended(self) -> TaskRecord:
        """A task that used everything a task can use, and ended."""
        record = await state_stage.accepted(self.store)
        begun = await state_stage.begin(state_stage.sessions_of(self.redis, "one"))
        await begun.store.append([JournalEntry("k", "note", '{"said":"Müller"}')], [state_stage.NOTE])
        await begun.store.open_write(state_stage.an_entry(), 1.0)
        await begun.store.settle_write(state_stage.an_entry(WriteStatus.VERIFIED), WriteStatus.SENDING)
        await begun.store.finish(state_stage.an_end(begun.work))
        return record

    async def archived(self) -> int:
        """How many ended tasks are archived at one look."""
        return await Archiver(self.redis, self.archive).archive_once()

    async def lives(self, record: TaskRecord) -> dict[str, int]:
        """Seconds to live of each of the task's keys; -1 for good, -2 gone."""
        names = keys.task_keys(record.tenant, record.session_id, record.task_id)
        all_names = {field: getattr(names, field) for field in ("record", "journal", "ledger", "events")}
        all_names["alias"] = keys.task_location_key(record.tenant, record.task_id)
        return {field: await self.redis.ttl(name) for field, name in all_names.items()}

    async def due_again(self, record: TaskRecord) -> None:
        """As if half a minute had gone by since somebody took the task."""
        name = keys.partition_keys_of(record.tenant, record.session_id).unarchived
        await self.redis.zadd(name, dict.fromkeys(await self.redis.zrange(name, 0, -1), 1))


@pytest.fixture
def archive(tmp_path: Path) -> FrailArchive:
    return FrailArchive(tmp_path)


@pytest.fixture
def house(redis: Redis, task_store: TaskStore, archive: FrailArchive) -> House:
    return House(redis, task_store, archive)


@pytest.mark.promise("session.evicted")
async def test_an_idle_session_leaves_redis_and_comes_back(house: House) -> None:
    """Turns, summary, corrections and counted calls; and the next turn's end has them in Redis again."""
    await house.spoken()
    assert (await house.evicted(), await house.in_redis()) == (1, None)
    await state_stage.accepted(house.store, "s1", "and now?")
    begun = await state_stage.begin(house.sessions())
    assert await begun.store.read_session() == MEMORY
    await begun.store.finish(state_stage.an_end(begun.work)._replace(session=MEMORY))
    assert await house.in_redis() is not None
    assert not await cast("Awaitable[bool]", house.redis.hexists(SESSION, "evicted"))


@pytest.mark.promise("session.evicted")
async def test_the_archive_says_whose_it_is_and_where_its_last_task_came_to(
    house: House, archive: FrailArchive
) -> None:
    begun = await house.spoken()
    await house.evicted()
    kept = ArchivedSession.model_validate_json(await archive.get("acme", "s1") or b"")
    assert (kept.tenant, kept.session_id, kept.owner) == ("acme", "s1", begun.work.record.requester.id)
    assert kept.last_task is not None
    assert (kept.last_task.task_id, kept.last_task.states) == (begun.work.record.task_id, ("DECOMPOSE", "COMPLETE"))


@pytest.mark.promise("session.evicted", "session.waiting_stays")
@each_row(("state", "seconds"), [(TaskState.COMPLETED, 3600.0), (TaskState.INPUT_REQUIRED, 0.0)])
async def test_a_session_that_is_not_idle_or_waits_for_a_person_stays(
    house: House, state: TaskState, seconds: float
) -> None:
    """An approval, a timer and a doubt keep their task open, and an open task keeps its session."""
    await house.spoken(state)
    assert await house.evicted(seconds) == 0
    assert await house.in_redis() is not None


@pytest.mark.promise("session.waiting_stays")
@pytest.mark.parametrize("comes", ["message", "signal", "owner"])
async def test_what_comes_before_the_eviction_keeps_the_session(house: House, comes: str) -> None:
    """A turn, a signal to an open task, or an executor that works on it; also between reading and leaving."""
    await house.spoken()
    taken, found = await house.read()
    record = await state_stage.accepted(house.store, "s1", "wait")
    if comes == "signal":
        await state_stage.signalled(house.store, record, TurnKind.CANCEL)
    if comes == "owner":
        await state_stage.begin(house.sessions())
    assert not await Evictor(house.redis, house.archive, 0.0).remove_session(taken, found.mark)
    assert await house.in_redis() == found.mark


@pytest.mark.promise("session.waiting_stays")
async def test_what_was_said_since_it_was_read_is_not_lost(house: House) -> None:
    """A session that spoke, and fell idle again, between reading and leaving stays with its newer memory."""
    await house.spoken()
    taken, found = await house.read()
    sessions = house.sessions()
    await state_stage.accepted(house.store, "s1", "more")
    begun = await state_stage.begin(sessions)
    await begun.store.finish(state_stage.an_end(begun.work)._replace(session=MEMORY._replace(summary="newer")))
    assert await sessions.begin_next_turn(begun.lease) is None
    assert not await Evictor(house.redis, house.archive, 0.0).remove_session(taken, found.mark)
    assert "newer" in str(await house.in_redis())


@pytest.mark.promise("session.archive_down")
async def test_with_the_archive_down_nothing_leaves_and_nothing_is_forgotten(
    house: House, archive: FrailArchive
) -> None:
    """A turn of a session that left is tried again later: rules may ask for the calls that it counted."""
    await house.spoken()
    archive.broken = True
    assert await house.evicted() == 0
    assert await house.in_redis() is not None
    archive.broken = False
    await house.spoken(session="s2")
    await house.evicted()
    archive.broken = True
    with pytest.raises(SessionUnavailable, match="archive"):
        await house.remembered("s2")


@pytest.mark.promise("session.archive_down")
async def test_a_memory_that_nobody_can_read_is_not_waited_for(house: House, archive: FrailArchive) -> None:
    """Time will not mend it."""
    await house.spoken()
    await house.evicted()
    await archive.put("acme", "s1", b"no memory")
    with pytest.raises(StoreUnavailable, match="cannot be read") as raised:
        await house.remembered()
    assert not isinstance(raised.value, SessionUnavailable)


@pytest.mark.promise("session.archive_down")
async def test_a_turn_that_is_given_up_leaves_what_the_archive_holds(house: House, archive: FrailArchive) -> None:
    """It ends although the archive cannot be read; the session remembers once it can be."""
    await house.spoken()
    await house.evicted()
    archive.broken = True
    record = await state_stage.accepted(house.store, "s1", "and now?")
    sessions = house.sessions()
    begun = await state_stage.begin(sessions)
    await begun.store.finish(await build_given_up_end(begun.work, begun.store, 5))
    assert await sessions.begin_next_turn(begun.lease) is None
    assert (await state_stage.stored_record(house.store, record)).state is TaskState.FAILED
    archive.broken = False
    assert await house.remembered() == MEMORY


@pytest.mark.promise("session.archive_down")
async def test_without_an_archive_idle_sessions_stay_for_their_time(house: House) -> None:
    """They are looked at once, and keep their time to live."""
    alone = house._replace(archive=None)
    await alone.spoken()
    assert await alone.evicted() == 0
    assert await alone.in_redis() is not None
    assert 0 < await house.redis.ttl(SESSION) <= keys.SESSION_RETENTION_SECONDS
    assert not [name async for name in house.redis.scan_iter("*:idle")]


@pytest.mark.promise("session.own")
async def test_what_another_principal_left_is_given_to_nobody(house: House, archive: FrailArchive) -> None:
    """Whoever the session's owner is by now; nor what another tenant's session of the same name left."""
    await house.spoken()
    await house.evicted()
    assert await archive.get("other", "s1") is None
    owner = await house.owner(a_record().requester.id)
    await state_stage.accepted(house.store, "s1", "hello")
    await house.owner(owner + "-2")
    assert await (await state_stage.begin(house.sessions())).store.read_session() == SessionState()


@pytest.mark.promise("session.evicted")
async def test_dying_between_the_archive_and_redis_repeats_harmlessly(house: House, archive: FrailArchive) -> None:
    """What was archived and did not leave is archived again; what left twice is left once."""
    await house.spoken()
    idle = Evictor(house.redis, archive, 0.0)
    taken, found = await house.read()
    await archive.put(taken.tenant, taken.session_id, found.content)
    assert await idle.claim_idle_sessions() == ()  # nobody else takes it for a while
    assert await idle.remove_session(taken, found.mark)
    assert await idle.remove_session(taken, found.mark)
    assert await house.remembered() == MEMORY


@pytest.mark.promise("forget.gone")
@pytest.mark.parametrize("dies", [False, True])
async def test_what_is_forgotten_on_its_way_to_the_archive_goes_from_there(
    house: House, archive: FrailArchive, dies: bool
) -> None:
    """Whoever stored it removes it; if they died, whoever looks half a minute later."""
    await house.spoken()
    asked = {"tenant": "acme", "scope": ForgetScope.SESSION, "subject": "s1", "asked_by": "olga"}
    request = ForgetRequest.model_validate({"request_id": "r", "asked_at": NOON, **asked})
    archive.meanwhile, archive.dies = lambda: RedisForgetting(house.redis, archive).remove_requested_data(request), dies
    if dies:
        with pytest.raises(Died):
            await house.evicted()
        archive.dies = False
        idle = keys.partition_keys_of("acme", "s1").idle
        await house.redis.zadd(idle, dict.fromkeys(await house.redis.zrange(idle, 0, -1), 1))
    await house.evicted()
    assert await archive.get("acme", "s1") is None
    assert not await house.redis.exists(keys.partition_keys_of("acme", "s1").idle)


@pytest.mark.promise("archive.off_the_path")
async def test_an_ended_task_is_archived_whole_and_leaves(house: House, archive: FrailArchive) -> None:
    """Record, journal, ledger and events are in the envelope; the journal leaves at once, the rest as stated."""
    record = await house.ended()
    assert await house.archived() == 1
    kept = parse_archived_task(await archive.get("acme", record.task_id) or b"")
    assert kept.record.state is TaskState.COMPLETED
    assert [(step.key, step.data) for step in kept.journal] == [("k", '{"said":"Müller"}')]
    assert [entry.status for entry in kept.ledger.values()] == [WriteStatus.VERIFIED]
    assert [event.kind for event in kept.events] == ["submitted", "note", "turn_finished"]
    lives = await house.lives(record)
    assert lives.pop("journal") == -2
    assert all(0 < lives.pop(name) <= keys.TASK_DETAIL_RETENTION_SECONDS for name in ("ledger", "events"))
    assert all(
        keys.TASK_DETAIL_RETENTION_SECONDS < seconds <= keys.TASK_RETENTION_SECONDS for seconds in lives.values()
    )


@pytest.mark.promise("archive.off_the_path")
async def test_no_part_of_a_task_expires_before_its_archiving(house: House, archive: FrailArchive) -> None:
    """Not at its end, and not while the archive is away; afterwards it is archived after all."""
    record = await house.ended()
    archive.broken = True
    assert set((await house.lives(record)).values()) == {-1}
    assert await house.archived() == 0
    assert set((await house.lives(record)).values()) == {-1}
    archive.broken = False
    await house.due_again(record)
    assert await house.archived() == 1


@pytest.mark.promise("archive.off_the_path")
async def test_a_death_after_the_archive_repeats_harmlessly(house: House, archive: FrailArchive) -> None:
    record = await house.ended()
    archive.dies = True
    with pytest.raises(Died):
        await house.archived()
    before = await archive.get("acme", record.task_id)
    archive.dies = False
    assert await house.archived() == 0  # for half a minute it is the dead one's
    await house.due_again(record)
    assert await house.archived() == 1
    assert await archive.get("acme", record.task_id) == before
    assert await house.archived() == 0


@pytest.mark.promise("archive.off_the_path")
async def test_without_an_archive_an_ended_task_stays_its_whole_time(house: House) -> None:
    record = await house.ended()
    assert await house._replace(archive=None).archived() == 1
    lives = set((await house.lives(record)).values())
    assert all(keys.TASK_DETAIL_RETENTION_SECONDS < seconds <= keys.TASK_RETENTION_SECONDS for seconds in lives)


@pytest.mark.promise("archive.off_the_path")
async def test_a_name_that_leads_to_a_newer_task_stays(house: House) -> None:
    """A task that leaves takes its name with it only where that still leads to it."""
    record = await house.ended()
    name = keys.task_location_key(record.tenant, record.task_id)
    await house.redis.set(name, f"{record.task_id}\ns2")
    await house.archived()
    assert await house.redis.ttl(name) == -1


@pytest.mark.promise("archive.off_the_path")
async def test_a_turn_that_is_too_late_leaves_nothing_kept(house: House) -> None:
    """Its events come into a stream that may have left already."""
    record = await state_stage.accepted(house.store)
    await house.store.accept(record, a_turn(record), dedupe=None)
    one = state_stage.sessions_of(house.redis, "one")
    begun = await state_stage.begin(one)
    await begun.store.finish(state_stage.an_end(begun.work))
    await house.archived()
    events = keys.task_keys("acme", "s1", record.task_id).events
    await house.redis.delete(events)
    late = await state_stage.begin_next(one, begun.lease)
    await late.store.finish(state_stage.an_end(late.work))
    assert 0 < await house.redis.ttl(events) <= keys.TASK_DETAIL_RETENTION_SECONDS
