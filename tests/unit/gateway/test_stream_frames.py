"""Streams as they go over the wire: ids, envelopes, and what a client is told when the store is away."""

import asyncio

import pytest
from starlette.types import Message

from services.gateway.a2a.streams import BARE, Envelope, Shape, legacy_shape_of, rpc_envelope, shape_of, sse
from services.gateway.a2a.views import NEW, OLD
from services.gateway.features.streams.service import TaskStream
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import Dialect, TaskState
from tests.each_row import each_row
from tests.unit.gateway.stream_stage import ANN, Played, message

PATIENCE = 10.0


async def _sent(stream: TaskStream, envelope: Envelope, dialect: Dialect) -> list[dict[str, str]]:
    """The fields of each event that a client gets."""
    bodies: list[bytes] = []
    stays = asyncio.Event()

    async def receive() -> Message:
        await stays.wait()
        return {"type": "http.disconnect"}

    async def send(said: Message) -> None:
        bodies.append(said.get("body", b""))

    async with asyncio.timeout(PATIENCE):
        await sse(stream, _shape(stream, dialect), envelope)({"type": "http"}, receive, send)
    blocks = b"".join(bodies).decode().split("\n\n")
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks if block]


def _shape(stream: TaskStream, dialect: Dialect) -> Shape:
    if dialect is Dialect.LEGACY:
        return legacy_shape_of(stream, "")
    return shape_of(stream, NEW if dialect is Dialect.A2A_1_0 else OLD, "")


async def _ended(dialect: Dialect) -> tuple[Played, TaskStream]:
    played = Played()
    stream = await played.replica().send(message("pay it", dialect), ANN, None)
    await played.ends(stream.record, await played.tasks.turns.get(), TaskState.COMPLETED)
    return played, stream


@pytest.mark.promise("gateway.streams")
@each_row("dialect", list(Dialect))
async def test_each_update_has_an_id_and_a_json_rpc_response(dialect: Dialect) -> None:
    _, stream = await _ended(dialect)
    events = await _sent(stream, rpc_envelope("call-7"), dialect)
    said = [loads_object(event["data"]) for event in events]
    assert [event["id"] for event in events] == ["1-0", "2-0.1", "2-0"]
    assert {str(one["id"]) for one in said} == {"call-7"}
    assert all(one["jsonrpc"] == "2.0" and "result" in one for one in said)


async def test_over_rest_an_update_stands_alone() -> None:
    _, stream = await _ended(Dialect.A2A_1_0)
    events = await _sent(stream, BARE, Dialect.A2A_1_0)
    assert [next(iter(loads_object(event["data"]))) for event in events] == ["task", "artifactUpdate", "statusUpdate"]


@pytest.mark.promise("gateway.store_down")
@each_row("envelope", [rpc_envelope(1), BARE])
async def test_a_store_that_goes_away_ends_the_stream_with_an_error_that_has_no_id(envelope: Envelope) -> None:
    """So the last id is still that of the last update, and the client goes on after it."""
    played = Played()
    stream = await played.replica().send(message("pay it"), ANN, None)
    await played.tasks.break_down("Redis is away")
    first, last = await _sent(stream, envelope, Dialect.A2A_1_0)
    error: JsonObject = loads_object(last["data"])
    assert (first["id"], "id" in last) == ("1-0", False)
    assert error["error"] == {"code": -32603, "message": "Redis is away"}


async def test_in_the_early_protocol_a_gap_is_said_with_the_status() -> None:
    played, stream = await _ended(Dialect.LEGACY)
    for _ in range(3):
        await played.tells(stream.record, "phase", phase="REFLECT")
    played.tasks.drop(stream.record, 4)
    again = await played.replica().subscribe("t1", ANN, "2-0", Dialect.LEGACY)
    (status,) = [loads_object(event["data"]) for event in await _sent(again, BARE, Dialect.LEGACY)]
    metadata = status["metadata"]
    assert isinstance(metadata, dict)
    assert (status["final"], metadata["gap"]) == (True, {"lost_after": "2-0"})
