"""Streams of a task's updates: what is told, where they end, how they go over the wire; answers that take time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from hypothesis import given, strategies as st
from starlette.types import Message

from services.gateway.a2a.streams import BARE_ENVELOPE, AnswerEnvelope, StreamAnswer, build_response
from services.gateway.a2a.views import ANSWER_FORMATS, ClientView
from services.gateway.edge.errors import InvalidField, Unsupported
from services.gateway.edge.keep_alive import KeepAliveResponse
from services.gateway.features.streams.service import NumberedUpdate, TaskStream, send_and_stream, subscribe_to_task
from services.gateway.features.streams.updates import ArtifactUpdate, Snapshot, StatusUpdate
from shared.contracts.task import Artifact, ArtifactChunk, TaskRecord
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import A2aVersion, TaskState
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


async def _in_pieces(played: Played, record: TaskRecord, lengths: list[int]) -> list[NumberedUpdate]:
    """The stream of a client that is cut off after so many updates each, every time by another replica."""
    told: list[NumberedUpdate] = []
    seen = "1-0"
    for length in [*lengths, None]:
        try:
            stream = await subscribe_to_task(played.service(), record.task_id, ANN, seen, A2aVersion.A2A_1_0)
        except Unsupported:  # nothing is missing any more
            return told
        told += await read(stream, length)
        seen = told[-1].event_id if told else seen
    return told


@pytest.mark.promise("gateway.stream_resumes")
@given(kinds=_STORIES, documents=st.integers(0, 3), lengths=st.lists(st.integers(0, 5), max_size=8))
def test_any_cuts_over_replicas_give_every_update_once(kinds: list[str], documents: int, lengths: list[int]) -> None:
    """However often the connection is cut, the pieces together are the uncut stream: nothing twice, no gap."""

    async def run() -> None:
        async with asyncio.timeout(PATIENCE):
            played, record = await _play(kinds, documents)
            whole = await _in_pieces(played, record, [])
            pieces = await _in_pieces(played, record, lengths)
        assert pieces == whole
        assert len({told.event_id for told in whole}) == len(whole)
        assert isinstance(whole[-1].update, StatusUpdate)
        assert whole[-1].update.is_final

    asyncio.run(run())


@pytest.mark.promise("gateway.stream_resumes")
@given(kinds=_STORIES, dropped=st.integers(0, 14), seen=st.integers(1, 14))
def test_an_id_older_than_what_is_kept_is_answered_by_a_gap(kinds: list[str], dropped: int, seen: int) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE):
            played, record = await _play(kinds, 1)
            count = len(kinds) + 2
            played.tasks.drop(record, min(dropped, count - 1))
            place = f"{min(seen, count - 1)}-0"
            told = await read(await subscribe_to_task(played.service(), record.task_id, ANN, place, A2aVersion.A2A_1_0))
        gap = min(seen, count - 1) <= min(dropped, count - 1)
        first = told[0].update
        assert (isinstance(first, Snapshot) and first.lost_after == place) is gap
        assert told[-1].event_id == f"{count}-0"

    asyncio.run(run())


@pytest.mark.promise("gateway.stream_ended")
@each_row("state", [TaskState.COMPLETED, TaskState.INPUT_REQUIRED])
async def test_in_the_early_protocol_a_task_at_rest_is_told_by_its_final_status_at_once(state: TaskState) -> None:
    played = Played()
    record = await played.sent(dialect=A2aVersion.LEGACY)
    await played.ends(record, await played.tasks.turns.get(), state)
    told = await read(await subscribe_to_task(played.service(), "t1", ANN, None, A2aVersion.LEGACY))
    assert [(type(item.update), item.update.is_final) for item in told if isinstance(item.update, Snapshot)] == [
        (Snapshot, True)
    ]


async def test_an_id_that_no_stream_gave_is_refused_before_the_message_is_taken_in() -> None:
    played = Played()
    with pytest.raises(InvalidField, match="Last-Event-ID"):
        await send_and_stream(played.service(), message("pay it"), ANN, "yesterday")
    assert not played.tasks.records


async def test_the_end_of_a_turn_after_which_others_ended_tells_its_status_alone() -> None:
    """Its results have been replaced by theirs."""
    played = Played()
    record = await played.sent()
    await played.ends(record, await played.tasks.turns.get(), TaskState.INPUT_REQUIRED, answer="may I?")
    follow_up = message("go on", taskId=record.task_id)
    await played.service().submit_message(follow_up, ANN)
    await played.ends(record, await played.tasks.turns.get(), TaskState.COMPLETED)
    told = await read(await subscribe_to_task(played.service(), record.task_id, ANN, "1-0", A2aVersion.A2A_1_0))
    assert [type(item.update) for item in told] == [StatusUpdate, ArtifactUpdate, StatusUpdate]


@pytest.mark.promise("gateway.stream_resumes")
async def test_a_client_that_reads_too_slowly_is_told_the_whole_task_and_goes_on() -> None:
    played = Played()
    stream = await send_and_stream(played.service(), message("pay it"), ANN, None)
    turn = await played.tasks.turns.get()
    await played.tells(stream.record, "phase", phase="PRIME")
    async with asyncio.timeout(PATIENCE), aclosing(stream.stream_updates()) as updates:
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


async def _sent(stream: TaskStream, envelope: AnswerEnvelope, dialect: A2aVersion) -> list[dict[str, str]]:
    """The fields of each event that a client gets."""
    bodies: list[bytes] = []
    stays = asyncio.Event()

    async def receive() -> Message:
        await stays.wait()
        return {"type": "http.disconnect"}

    async def send(said: Message) -> None:
        bodies.append(said.get("body", b""))

    view = ClientView("", stream.shown_id)
    async with asyncio.timeout(PATIENCE):
        await build_response(StreamAnswer(stream, ANSWER_FORMATS[dialect], view), envelope)(
            {"type": "http"}, receive, send
        )
    blocks = b"".join(bodies).decode().split("\n\n")
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks if block]


async def _ended(dialect: A2aVersion) -> tuple[Played, TaskStream]:
    played = Played()
    stream = await send_and_stream(played.service(), message("pay it", dialect), ANN, None)
    await played.ends(stream.record, await played.tasks.turns.get(), TaskState.COMPLETED)
    return played, stream


@pytest.mark.promise("gateway.streams")
@each_row("dialect", list(A2aVersion))
async def test_each_update_has_an_id_and_a_json_rpc_response(dialect: A2aVersion) -> None:
    _, stream = await _ended(dialect)
    events = await _sent(stream, AnswerEnvelope(is_rpc=True, call_id="call-7"), dialect)
    said = [loads_object(event["data"]) for event in events]
    assert [event["id"] for event in events] == ["1-0", "2-0.1", "2-0"]
    assert {str(one["id"]) for one in said} == {"call-7"}
    assert all(one["jsonrpc"] == "2.0" and "result" in one for one in said)


@pytest.mark.promise("gateway.store_down")
@each_row("envelope", [AnswerEnvelope(is_rpc=True, call_id=1), BARE_ENVELOPE])
async def test_a_store_that_goes_away_ends_the_stream_with_an_error_that_has_no_id(envelope: AnswerEnvelope) -> None:
    """So the last id is still that of the last update, and the client goes on after it."""
    played = Played()
    stream = await send_and_stream(played.service(), message("pay it"), ANN, None)
    await played.tasks.break_down("Redis is away")
    first, last = await _sent(stream, envelope, A2aVersion.A2A_1_0)
    error: JsonObject = loads_object(last["data"])
    assert (first["id"], "id" in last) == ("1-0", False)
    assert error["error"] == {"code": -32603, "message": "Redis is away"}


async def test_in_the_early_protocol_a_gap_is_said_with_the_status() -> None:
    played, stream = await _ended(A2aVersion.LEGACY)
    for _ in range(3):
        await played.tells(stream.record, "phase", phase="REFLECT")
    played.tasks.drop(stream.record, 4)
    again = await subscribe_to_task(played.service(), "t1", ANN, "2-0", A2aVersion.LEGACY)
    (status,) = [loads_object(event["data"]) for event in await _sent(again, BARE_ENVELOPE, A2aVersion.LEGACY)]
    metadata = status["metadata"]
    assert isinstance(metadata, dict)
    assert (status["final"], metadata["gap"]) == (True, {"lost_after": "2-0"})


class Wire:
    """Both ends of one HTTP exchange; ``sent`` holds the bodies, ``hang_up`` ends it from the client's side."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.filled = asyncio.Event()
        self._gone = asyncio.Event()

    def hang_up(self) -> None:
        self._gone.set()

    async def receive(self) -> Message:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self.sent.append(message["body"])
            if message["body"] == b" ":
                self.filled.set()


class Answer:
    """A JSON text that comes when it is told to; ``closed`` once its generator is."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.closed = False
        self.delivered = 0

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            await self.ready.wait()
            yield b"{}"
        finally:
            self.closed = True

    async def on_delivered(self) -> None:
        self.delivered += 1

    def response(self) -> KeepAliveResponse:
        return KeepAliveResponse(self.chunks(), "application/json", (b" ", 0.001), self.on_delivered)


@pytest.mark.promise("gateway.kept_alive")
@each_row("hangs_up", [False, True])
async def test_white_space_is_sent_while_the_answer_is_not_there_and_who_hangs_up_was_not_answered(
    hangs_up: bool,
) -> None:
    wire, answer = Wire(), Answer()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(answer.response()({"type": "http"}, wire.receive, wire.send))
        await wire.filled.wait()
        (wire.hang_up if hangs_up else answer.ready.set)()
    body = b"".join(wire.sent)
    assert (body[:1], body.strip()) == (b" ", b"" if hangs_up else b"{}")
    assert (answer.closed, answer.delivered) == (True, 0 if hangs_up else 1)
