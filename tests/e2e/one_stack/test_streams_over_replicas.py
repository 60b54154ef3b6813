"""Streams through a round-robin proxy over two replicas, one of which is killed in mid-stream."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from shared.domain.exact_json import JsonObject
from tests.e2e.one_stack.two_replicas import NAMES, TwoReplicas, served_by
from tests.e2e.whole_stack import WholeStack
from tests.integration.gateway_stage import at
from tests.sse_reading import SseEvent, SseReader, rpc_stream

pytestmark = pytest.mark.asyncio(loop_scope="package")
PATIENCE = 60.0
TASK = "Which expenses of EMP-447 are still pending? Answer with a JSON list of expense ids."


@pytest_asyncio.fixture(autouse=True, scope="module", loop_scope="package")
async def _a_model_that_thinks(stack: WholeStack) -> AsyncIterator[None]:
    """So that a stream can be cut while it lasts."""
    await stack.planner_latency(150)
    yield
    await stack.planner_latency(0)


def _message(message_id: str) -> JsonObject:
    return {"message": {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": TASK}]}}


async def _some(reader: SseReader, count: int) -> list[SseEvent]:
    """The first events of a stream that goes on."""
    events = [await reader.next() for _ in range(count)]
    return [event for event in events if event is not None]


async def _to_the_end(pair: TwoReplicas, task: JsonObject, last: str) -> tuple[str, list[SseEvent]]:
    """What comes after that id, from whichever replica the proxy chooses, as often as it takes."""
    async with asyncio.timeout(PATIENCE):
        while True:
            async with rpc_stream(pair.http, "SubscribeToTask", task, last, "1.0") as reader:
                if reader.response.is_success:
                    return served_by(reader.response), await reader.events()
            await asyncio.sleep(0.05)  # the proxy has not noticed yet that a replica is gone


@pytest.mark.promise("gateway.stream_resumes")
async def test_a_replica_killed_in_mid_stream_costs_no_event_and_repeats_none(pair: TwoReplicas) -> None:
    """The client goes on with the last id it has; together it has what one uncut stream would have told."""
    killed, begun = await _cut_off(pair, "m1")
    task: JsonObject = {"id": at(begun[0].result, "task.id")}
    survivor, rest = await _to_the_end(pair, task, begun[-1].event_id)
    _, whole = await _to_the_end(pair, task, begun[0].event_id)
    await pair.replaced(killed)
    assert survivor == next(name for name in NAMES if name != killed)
    pieces = [event.told for event in [*begun, *rest]]
    assert pieces == [event.told for event in [begun[0], *whole]]
    assert len({event_id for event_id, _ in pieces}) == len(pieces)
    assert at(rest[-1].result, "statusUpdate.status.state") == "TASK_STATE_COMPLETED"


async def test_requests_are_answered_by_both_replicas_in_turn(pair: TwoReplicas) -> None:
    """As soon as the proxy's checks have found both, one of which another test may just have replaced."""
    async with asyncio.timeout(PATIENCE):
        while {served_by(await pair.http.get("/health")) for _ in range(4)} != set(NAMES):
            await asyncio.sleep(0.02)


@pytest.mark.promise("gateway.drains")
async def test_a_replica_that_is_stopped_costs_no_request(pair: TwoReplicas) -> None:
    """The proxy learns from ``/ready`` that it leaves, while it still takes requests."""
    leaves = NAMES[1]
    await pair.terminate(leaves)
    failed = 0
    while not await pair.has_ended(leaves, 0):
        failed += not (await pair.http.get("/openapi.json")).is_success
    await pair.replaced(leaves)
    assert failed == 0


async def _cut_off(pair: TwoReplicas, message_id: str, after: int = 3) -> tuple[str, list[SseEvent]]:
    """A stream whose replica is killed after so many events: which it was, and all that the client got."""
    async with rpc_stream(pair.http, "SendStreamingMessage", _message(message_id), version="1.0") as reader:
        killed = served_by(reader.response)
        begun = await _some(reader, after)
        await pair.kill(killed)
        begun += await _until_cut(reader)
    assert not _is_end(begun[-1]), "the stream came to its end before its replica was killed"
    return killed, begun


async def _until_cut(reader: SseReader) -> list[SseEvent]:
    """What was under way when the connection broke."""
    events: list[SseEvent] = []
    try:
        while (event := await reader.next()) is not None:
            events.append(event)
    except httpx.TransportError:
        return events
    return events


def _is_end(event: SseEvent) -> bool:
    state = str(at(event.result, "statusUpdate.status.state")) if "statusUpdate" in event.result else ""
    return state == "TASK_STATE_COMPLETED"
