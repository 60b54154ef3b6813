"""Ended tasks reach the archive, whatever dies when, and leave Redis in the stated time."""

from pathlib import Path

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_ended import RedisEndedTasks
from services.executor.core.turn.archiving import Archiver
from services.executor.ports.turns import JournalEntry
from shared.contracts.archive import read_archived
from shared.contracts.task import TaskRecord
from shared.domain.partition import PARTITIONS
from shared.domain.words import TaskState, WriteStatus
from shared.infra import keys
from shared.infra.archive_folder import FolderArchive
from shared.infra.task_store import TaskStore
from shared.ports.archive import Archive, ArchiveUnavailable
from tests.doubles.memory_turns import Died
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.state_stage import NOTE, an_end, an_entry, begin, begin_next, sessions_of

pytestmark = pytest.mark.promise("archive.off_the_path")

ALL = range(PARTITIONS)


class BrokenArchive(FolderArchive):
    """Stores nothing while ``broken``; dies after storing if ``dies``."""

    broken = False
    dies = False

    @override
    async def put(self, tenant: str, task_id: str, content: bytes) -> None:
        if self.broken:
            raise ArchiveUnavailable("the disk is full")
        await super().put(tenant, task_id, content)
        if self.dies:
            raise Died


async def _ended(redis: Redis, store: TaskStore, session_id: str = "s1") -> TaskRecord:
    """A task that used everything a task can use, and ended."""
    record = a_record(session_id)
    await store.accept(record, a_turn(record), dedupe=None)
    begun = await begin(sessions_of(redis, "one"), session_id)
    await begun.store.append([JournalEntry("k", "note", '{"said":"Müller"}')], [NOTE])
    await begun.store.open_write(an_entry(), 1.0)
    await begun.store.settle_write(an_entry(WriteStatus.VERIFIED), WriteStatus.SENDING)
    await begun.store.finish(an_end(begun.work))
    return record


async def _lives(redis: Redis, record: TaskRecord) -> dict[str, int]:
    """Seconds to live of each of the task's keys; -1 for good, -2 gone."""
    names = keys.task_keys(record.tenant, record.session_id, record.task_id)
    all_names = {field: getattr(names, field) for field in ("record", "journal", "ledger", "events")}
    all_names["alias"] = keys.alias_key(record.tenant, record.task_id)
    return {field: await redis.ttl(name) for field, name in all_names.items()}


def _archiver(redis: Redis, archive: Archive | None) -> Archiver:
    return Archiver(RedisEndedTasks(redis), archive)


async def _due_again(redis: Redis, record: TaskRecord) -> None:
    """As if half a minute had gone by since somebody took the task."""
    name = keys.partition_keys_of(record.tenant, record.session_id).unarchived
    await redis.zadd(name, dict.fromkeys(await redis.zrange(name, 0, -1), 1))


async def test_an_ended_task_is_archived_whole_and_then_leaves(
    redis: Redis, task_store: TaskStore, tmp_path: Path
) -> None:
    """Record, journal, ledger and events are in the envelope; the journal leaves at once, the rest as stated."""
    record = await _ended(redis, task_store)
    archive = FolderArchive(tmp_path)
    assert await _archiver(redis, archive).tick(ALL) == 1
    kept = read_archived(await archive.get("acme", record.task_id) or b"")
    assert kept.record.state is TaskState.COMPLETED
    assert [(step.key, step.data) for step in kept.journal] == [("k", '{"said":"Müller"}')]
    assert [entry.status for entry in kept.ledger.values()] == [WriteStatus.VERIFIED]
    assert [event.kind for event in kept.events] == ["submitted", "note", "turn_finished"]
    lives = await _lives(redis, record)
    assert lives.pop("journal") == -2
    assert all(0 < lives.pop(name) <= keys.DETAIL_SECONDS for name in ("ledger", "events"))
    assert all(keys.DETAIL_SECONDS < seconds <= keys.TASK_RETENTION_SECONDS for seconds in lives.values())


async def test_nothing_of_a_task_expires_before_it_is_archived(
    redis: Redis, task_store: TaskStore, tmp_path: Path
) -> None:
    """Not at its end, and not while the archive is away; afterwards it is archived after all."""
    record = await _ended(redis, task_store)
    archive = BrokenArchive(tmp_path)
    archive.broken = True
    assert set((await _lives(redis, record)).values()) == {-1}
    assert await _archiver(redis, archive).tick(ALL) == 0
    assert set((await _lives(redis, record)).values()) == {-1}
    archive.broken = False
    await _due_again(redis, record)
    assert await _archiver(redis, archive).tick(ALL) == 1


async def test_a_death_between_archive_and_store_repeats_harmlessly(
    redis: Redis, task_store: TaskStore, tmp_path: Path
) -> None:
    record = await _ended(redis, task_store)
    archive = BrokenArchive(tmp_path)
    archive.dies = True
    with pytest.raises(Died):
        await _archiver(redis, archive).tick(ALL)
    before = await archive.get("acme", record.task_id)
    archive.dies = False
    assert await _archiver(redis, archive).tick(ALL) == 0  # for half a minute it is the dead one's
    await _due_again(redis, record)
    assert await _archiver(redis, archive).tick(ALL) == 1
    assert await archive.get("acme", record.task_id) == before
    assert await _archiver(redis, archive).tick(ALL) == 0


async def test_without_an_archive_an_ended_task_stays_its_whole_time(redis: Redis, task_store: TaskStore) -> None:
    record = await _ended(redis, task_store)
    assert await _archiver(redis, None).tick(ALL) == 1
    lives = set((await _lives(redis, record)).values())
    assert all(keys.DETAIL_SECONDS < seconds <= keys.TASK_RETENTION_SECONDS for seconds in lives)


async def test_a_name_that_leads_to_a_newer_task_stays(redis: Redis, task_store: TaskStore, tmp_path: Path) -> None:
    """A task that leaves takes its name with it only where that still leads to it."""
    record = await _ended(redis, task_store)
    name = keys.alias_key(record.tenant, record.task_id)
    await redis.set(name, f"{record.task_id}\ns2")
    await _archiver(redis, FolderArchive(tmp_path)).tick(ALL)
    assert await redis.ttl(name) == -1


async def test_a_name_that_is_about_to_leave_stays_with_the_task_that_takes_it_anew(
    redis: Redis, task_store: TaskStore
) -> None:
    record = a_record("s1")
    name = keys.alias_key(record.tenant, record.task_id)
    await redis.set(name, f"{record.task_id}\ns1", ex=60)
    await task_store.accept(record, a_turn(record), dedupe=None)
    assert await redis.ttl(name) == -1


async def test_a_turn_that_comes_too_late_leaves_nothing_for_good(
    redis: Redis, task_store: TaskStore, tmp_path: Path
) -> None:
    """Its events come into a stream that may have left already."""
    record = a_record("s1")
    await task_store.accept(record, a_turn(record), dedupe=None)
    await task_store.accept(record, a_turn(record), dedupe=None)
    one = sessions_of(redis, "one")
    begun = await begin(one)
    await begun.store.finish(an_end(begun.work))
    await _archiver(redis, FolderArchive(tmp_path)).tick(ALL)
    await redis.delete(keys.task_keys("acme", "s1", record.task_id).events)
    late = await begin_next(one, begun.lease)
    await late.store.finish(an_end(late.work))
    assert 0 < await redis.ttl(keys.task_keys("acme", "s1", record.task_id).events) <= keys.DETAIL_SECONDS
