"""Streams of a task's updates: what is told, where it ends, and where a client that was cut off goes on."""

import asyncio
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.edge.errors import InvalidField, Unsupported
from services.gateway.features.streams.service import ToldUpdate
from services.gateway.features.streams.updates import ArtifactUpdate, Snapshot, StatusUpdate
from shared.contracts.task import Artifact, ArtifactChunk, TaskRecord
from shared.domain.words import Dialect, TaskState
from tests.each_row import each_row
from tests.unit.gateway.stream_stage import ANN, Played, message, read

PATIENCE = 10.0
_EVENTS: dict[str, dict[str, object]] = {
    "phase": {"phase": "EXECUTE"},
    "state": {"state": "ASSESS", "process_type": "general"},
    "model": {"step": "1", "output": 7},
    "note": {"problem": "slow"},
    "write": {"call": "c1", "tool": "pay", "status": "verified"},
    "status": {"state": "working", "reason": None},
    "artifact": ArtifactChunk(artifact=Artifact(name="log", text="x", streamed=True)).model_dump(mode="json"),
}
_STORIES = st.lists(st.sampled_from(sorted(_EVENTS)), max_size=12)


async def _play(kinds: list[str], documents: int) -> tuple[Played, TaskRecord]:
    """A task that was worked off in one turn."""
    played = Played()
    record = await played.sent()
    turn = await played.tasks.turns.get()
    for kind in kinds:
        await played.tells(record, kind, **_EVENTS[kind])
    results = [Artifact(name=f"report {number}", text="all paid") for number in range(documents)]
    await played.ends(record, turn, TaskState.COMPLETED, results)
    return played, record


async def _in_pieces(played: Played, record: TaskRecord, lengths: list[int]) -> list[ToldUpdate]:
    """The stream of a client that is cut off after so many updates each, every time by another replica."""
    told: list[ToldUpdate] = []
    seen = "1-0"
    for length in [*lengths, None]:
        try:
            stream = await played.replica().subscribe(record.task_id, ANN, seen, Dialect.A2A_1_0)
        except Unsupported:  # nothing is missing any more
            return told
        told += await read(stream, length)
        seen = told[-1].event_id if told else seen
    return told


@pytest.mark.promise("gateway.stream_resumes")
@given(kinds=_STORIES, documents=st.integers(0, 3), lengths=st.lists(st.integers(0, 5), max_size=8))
def test_any_cuts_over_any_replicas_give_every_update_once(
    kinds: list[str], documents: int, lengths: list[int]
) -> None:
    """However often the connection is cut, the pieces together are the uncut stream: nothing twice, no gap."""

    async def run() -> None:
        async with asyncio.timeout(PATIENCE):
            played, record = await _play(kinds, documents)
            whole = await _in_pieces(played, record, [])
            pieces = await _in_pieces(played, record, lengths)
        assert pieces == whole
        assert len({told.event_id for told in whole}) == len(whole)
        assert isinstance(whole[-1].update, StatusUpdate)
        assert whole[-1].update.final

    asyncio.run(run())


@pytest.mark.promise("gateway.stream_resumes")
@given(kinds=_STORIES, dropped=st.integers(0, 14), seen=st.integers(1, 14))
def test_an_id_older_than_what_is_kept_is_answered_by_the_task_marked_as_a_gap(
    kinds: list[str], dropped: int, seen: int
) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE):
            played, record = await _play(kinds, 1)
            count = len(kinds) + 2
            played.tasks.drop(record, min(dropped, count - 1))
            place = f"{min(seen, count - 1)}-0"
            told = await read(await played.replica().subscribe(record.task_id, ANN, place, Dialect.A2A_1_0))
        gap = min(seen, count - 1) <= min(dropped, count - 1)
        first = told[0].update
        assert (isinstance(first, Snapshot) and first.lost_after == place) is gap
        assert told[-1].event_id == f"{count}-0"

    asyncio.run(run())


@pytest.mark.promise("gateway.stream_ended")
@each_row("state", [TaskState.COMPLETED, TaskState.INPUT_REQUIRED])
async def test_in_the_early_protocol_a_task_at_rest_is_told_by_its_final_status_at_once(state: TaskState) -> None:
    played = Played()
    record = await played.sent(dialect=Dialect.LEGACY)
    await played.ends(record, await played.tasks.turns.get(), state)
    told = await read(await played.replica().subscribe("t1", ANN, None, Dialect.LEGACY))
    assert [(type(item.update), item.update.final) for item in told if isinstance(item.update, Snapshot)] == [
        (Snapshot, True)
    ]


async def test_an_id_that_no_stream_gave_is_refused_before_the_message_is_taken_in() -> None:
    played = Played()
    with pytest.raises(InvalidField, match="Last-Event-ID"):
        await played.replica().send(message("pay it"), ANN, "yesterday")
    assert not played.tasks.records


@pytest.mark.promise("gateway.stream_resumes")
async def test_the_same_message_again_goes_on_where_its_stream_was_cut() -> None:
    played = Played()
    first = await played.replica().send(message("pay it"), ANN, None)
    turn = await played.tasks.turns.get()
    await played.tells(first.record, "phase", phase="EXECUTE")
    begun = await read(first, 2)
    await played.ends(first.record, turn, TaskState.COMPLETED)
    again = await played.replica().send(message("pay it"), ANN, begun[-1].event_id)
    rest = await read(again)
    assert again.record.task_id == first.record.task_id
    assert [type(item.update) for item in rest] == [ArtifactUpdate, StatusUpdate]


async def test_the_end_of_a_turn_after_which_others_ended_tells_its_status_alone() -> None:
    """Its results have been replaced by theirs."""
    played = Played()
    record = await played.sent()
    await played.ends(record, await played.tasks.turns.get(), TaskState.INPUT_REQUIRED, answer="may I?")
    follow_up = message("go on", taskId=record.task_id)
    await played.desk().submit(follow_up, ANN)
    await played.ends(record, await played.tasks.turns.get(), TaskState.COMPLETED)
    told = await read(await played.replica().subscribe(record.task_id, ANN, "1-0", Dialect.A2A_1_0))
    assert [type(item.update) for item in told] == [StatusUpdate, ArtifactUpdate, StatusUpdate]


@pytest.mark.promise("gateway.stream_resumes")
async def test_a_client_that_reads_too_slowly_is_told_the_whole_task_and_goes_on() -> None:
    played = Played()
    stream = await played.replica().send(message("pay it"), ANN, None)
    turn = await played.tasks.turns.get()
    await played.tells(stream.record, "phase", phase="PRIME")
    async with asyncio.timeout(PATIENCE), aclosing(stream.updates()) as updates:
        told = [await anext(updates), await anext(updates)]
        for _ in range(5):
            await played.tells(stream.record, "phase", phase="EXECUTE")
        played.tasks.drop(stream.record, 5)
        told.append(await anext(updates))
        await played.ends(stream.record, turn, TaskState.COMPLETED)
        told += [item async for item in updates]
    gap = told[2].update
    assert isinstance(gap, Snapshot)
    assert gap.lost_after == told[1].event_id
    assert [type(item.update) for item in told[3:]] == [ArtifactUpdate, StatusUpdate]
