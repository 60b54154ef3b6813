"""What tasks and sessions leave in Redis: what many have in common once a tenant, and how little a long one costs."""

from pathlib import Path
from typing import cast

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_idle import Archiver
from services.executor.adapters.shared_texts import LostText, SharedTexts
from services.executor.core.turn.replay import CannotReplay, split_into_attempts
from services.executor.ports.turns import JournalEntry, TurnStore
from shared.contracts.archive import ArchivedTask, parse_archived_task
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.archive_folder import FolderArchive
from shared.infra.journal_rows import name_shared_text
from shared.infra.lineage import get_lineage
from shared.infra.task_store import TaskStore
from tests.integration.state_stage import Begun, accepted, an_end, begin, begun_turn, sessions_of, signalled
from tools.bench.executor.sessions import BOUNDS, MORE_BYTES_AT_MOST, measure_sessions

LISTING = '{"tools":"' + "x" * 5000 + '"}'
POLICIES = "[" + ",".join(f'{{"rule":"r{number}"}}' for number in range(100)) + "]"
GIVEN = (
    JournalEntry("tools:co#0", "input", LISTING, (LISTING,)),
    JournalEntry("policy:1#1", "input", f'{{"calls":["ü"],"policies":{POLICIES},"verdict":{{}}}}', (POLICIES,)),
    JournalEntry("talk:1:model", "model", '{"text":"said"}'),
)
STORED = tuple(entry._replace(shared=()) for entry in GIVEN)


async def _texts(redis: Redis) -> list[str]:
    return sorted([str(name) async for name in redis.scan_iter(keys.shared_text_key("acme", "*"))])


async def _forget_texts(redis: Redis) -> None:
    await redis.delete(*await _texts(redis))


async def _journal_bytes(redis: Redis, record: TaskRecord) -> int:
    rows = await redis.xrange(keys.task_keys("acme", record.session_id, record.task_id).journal)
    return sum(len(value) for _, fields in rows for value in fields.values())


def _other_process(redis: Redis, begun: Begun) -> TurnStore:
    """It reads what is stored now."""
    return sessions_of(redis, "two").turn_store(begun.lease, begun.work._replace(claimed=None))


async def _archived(redis: Redis, folder: Path, record: TaskRecord) -> ArchivedTask:
    assert await Archiver(redis, FolderArchive(folder)).archive_once() == 1
    return parse_archived_task(cast(bytes, await FolderArchive(folder).get("acme", record.task_id)))


@pytest.mark.promise("journal.texts_once")
async def test_what_tasks_have_in_common_is_stored_once(redis: Redis, task_store: TaskStore) -> None:
    """Each journal names it, and is read as it was given by a process that never saw it."""
    sizes = []
    one = sessions_of(redis, "one")
    for session_id in ("s1", "s2"):
        record = await accepted(task_store, session_id)
        begun = await begin(one, session_id)
        await begun.store.append(GIVEN)
        sizes.append(await _journal_bytes(redis, record))
        assert await begun.store.read_journal() == STORED
        assert await _other_process(redis, begun).read_journal() == STORED
    assert await _texts(redis) == sorted(
        keys.shared_text_key("acme", name_shared_text(text)) for text in (LISTING, POLICIES)
    )
    assert max(sizes) < 500


@pytest.mark.promise("journal.texts_once")
async def test_an_archived_task_needs_nothing_else(redis: Redis, task_store: TaskStore, tmp_path: Path) -> None:
    begun = await begun_turn(redis, task_store)
    await begun.store.append(GIVEN)
    await begun.store.finish(an_end(begun.work))
    kept = await _archived(redis, tmp_path, begun.record)
    assert [(step.key, step.kind, step.data) for step in kept.journal] == [entry[:3] for entry in GIVEN]
    assert not any(step.lost for step in kept.journal)


@pytest.mark.promise("journal.texts_once")
async def test_a_task_that_waits_has_its_own_copy(redis: Redis, task_store: TaskStore, tmp_path: Path) -> None:
    """Nobody knows for how long: what is common may be gone when it goes on."""
    record = await accepted(task_store)
    one = sessions_of(redis, "one")
    begun = await begin(one)
    await begun.store.append(GIVEN[:2])
    end = an_end(begun.work, TaskState.INPUT_REQUIRED)
    await begun.store.finish(end._replace(entries=GIVEN[2:]))
    await one.abandon(begun.lease)
    await _forget_texts(redis)
    await signalled(task_store, record)
    two = sessions_of(redis, "two")
    again = await begin(two)
    assert await again.store.read_journal() == STORED
    await again.store.finish(an_end(again.work, TaskState.INPUT_REQUIRED))
    assert await _journal_bytes(redis, record) < len(LISTING)  # one copy, and compressed
    await two.abandon(again.lease)
    await signalled(task_store, record)
    last = await begin(sessions_of(redis, "three"))
    await last.store.finish(an_end(last.work))
    kept = await _archived(redis, tmp_path, record)
    assert [(step.key, step.data) for step in kept.journal] == [(entry.key, entry.data_json) for entry in GIVEN]


@pytest.mark.promise("journal.texts_once")
async def test_a_lost_text_is_told_of_and_never_guessed(redis: Redis, task_store: TaskStore, tmp_path: Path) -> None:
    """An open task does not go on without it; an ended one is archived with the rest, and is not replayed."""
    begun = await begun_turn(redis, task_store)
    await begun.store.append(GIVEN)
    await _forget_texts(redis)
    with pytest.raises(LostText, match="not stored any more"):
        await _other_process(redis, begun).read_journal()
    await begun.store.finish(an_end(begun.work))
    kept = await _archived(redis, tmp_path, begun.record)
    assert [step.lost for step in kept.journal] == [(name_shared_text(LISTING),), (name_shared_text(POLICIES),), ()]
    assert kept.journal[1].data == '{"calls":["ü"],"policies":null,"verdict":{}}'
    with pytest.raises(CannotReplay, match="was lost before it was archived"):
        split_into_attempts(kept)


@pytest.mark.promise("journal.texts_once")
async def test_a_process_that_never_saw_texts_reads_them_in_one_round_trip(redis: Redis) -> None:
    names = set((await SharedTexts(redis).store_texts("acme", [LISTING, POLICIES])).values())
    before = await _server_reads(redis)
    assert set(await SharedTexts(redis).read_texts("acme", names)) == names
    assert await _server_reads(redis) - before == 2  # this question is one, too


async def _server_reads(redis: Redis) -> int:
    """How often the server has looked at what clients sent."""
    stats: dict[str, int] = await redis.info("stats")
    return stats["total_reads_processed"]


@pytest.mark.promise("journal.texts_once")
async def test_after_a_failover_texts_are_stored_again(redis: Redis) -> None:
    texts = SharedTexts(redis)
    await texts.store_texts("acme", [LISTING])
    await _forget_texts(redis)
    await texts.store_texts("acme", [LISTING])
    assert await _texts(redis) == []  # this process knows that it has stored it today
    get_lineage(redis).record_server_answer(1_000_000)
    await texts.store_texts("acme", [LISTING])
    assert len(await _texts(redis)) == 1


@pytest.mark.promise("journal.texts_once")
async def test_a_server_that_lists_something_else_each_time_fills_no_store(redis: Redis) -> None:
    """Beyond a number a day they stand in each journal, as every short text does."""
    texts = SharedTexts(redis)
    names = [await texts.store_texts("acme", [f"{number}{LISTING}"]) for number in range(100)]
    assert len(await _texts(redis)) == sum(map(len, names)) == 64
    assert await texts.store_texts("acme", ["short"]) == {}
    assert 0 < await redis.ttl((await _texts(redis))[0]) <= keys.SHARED_TEXT_RETENTION_SECONDS


@pytest.mark.promise("journal.texts_once")
async def test_steps_of_an_older_release_are_read(redis: Redis, task_store: TaskStore, tmp_path: Path) -> None:
    """Its rows hold one step each, and its tasks go on with new ones."""
    record = await accepted(task_store)
    journal = keys.task_keys("acme", record.session_id, record.task_id).journal
    await redis.xadd(journal, {"key": "talk:0:model", "kind": "model", "data": "{}"})
    begun = await begin(sessions_of(redis, "one"))
    await begun.store.append(GIVEN)
    old = JournalEntry("talk:0:model", "model", "{}")
    assert await _other_process(redis, begun).read_journal() == (old, *STORED)
    await begun.store.finish(an_end(begun.work))
    assert [step.key for step in (await _archived(redis, tmp_path, record)).journal] == [
        old.key,
        *(entry.key for entry in GIVEN),
    ]


@pytest.mark.promise("footprint.finished_session", "footprint.long_session")
async def test_a_finished_session_keeps_to_its_bounds_and_a_long_one_reads_no_more_than_its_latest_turns() -> None:
    """Each time something leaves; after a month nothing is left but the streams of the partitions, which all share."""
    figures = await measure_sessions(40, 40)
    sizes = [left.bytes for left in figures.left]
    assert sizes == sorted(sizes, reverse=True)
    assert all(left.bytes <= BOUNDS[left.hours] for left in figures.left[:-1])
    assert sizes[-1] <= figures.kinds["outcomes"] + figures.kinds["server"] + 1  # each is rounded down
    assert figures.last.bytes_read <= figures.first.bytes_read + MORE_BYTES_AT_MOST
