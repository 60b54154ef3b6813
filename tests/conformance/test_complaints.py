"""Complaints of users of A2A servers that no requirement's test settles; docs/conformance.md has them all."""

import asyncio
from contextlib import aclosing
from typing import cast

import pytest

from shared.domain.exact_json import Json, JsonObject
from tests.conformance.replicas import Replicas
from tests.conformance.speaking import NEW, Rest, Rpc, Speaker, held, message, old_call, old_message, sent
from tests.integration.gateway_stage import at

pytestmark = pytest.mark.asyncio(loop_scope="module")
_BURST = 60


async def test_no_path_is_shadowed(full: Replicas) -> None:
    """Paths of several parts are reached although a tenant's name may stand before those of the protocol."""
    task = await sent(Rpc(full))
    paths = ("/rl/status", "/approvals", f"/tasks/{task['id']}/events", "/openapi.json")
    assert [(await full.http.get(path)).status_code for path in paths] == [200] * len(paths)
    assert (await full.http.get("/nobody/knows/this")).status_code == 404


@pytest.mark.promise("gateway.complaints")
async def test_the_same_message_at_once_on_both_replicas_is_one_task(full: Replicas) -> None:
    said: JsonObject = {"message": message("tck-complete-task")}
    speakers = (Rpc(full), Rest(full)) * 4
    replies = await asyncio.gather(*(speaker.call("SendMessage", said) for speaker in speakers))
    assert len({str(at(reply.value, "task.id")) for reply in replies}) == 1
    assert {reply.response.headers["x-served-by"] for reply in replies} == {"one", "two"}


async def test_a_stream_on_either_replica_tells_what_happens(full: Replicas) -> None:
    """Four streams in a row of one task, so two on each replica: all are told the same."""
    task_id = await held(full, Rest(full))
    begun = [asyncio.Event() for _ in range(4)]
    async with asyncio.TaskGroup() as group:
        followed = [group.create_task(_ids(Rest(full), task_id, event)) for event in begun]
        for event in begun:
            await event.wait()
        full.worker.release.set()
    assert len({task.result()[-1] for task in followed}) == 1


async def test_no_replica_shows_an_older_task(full: Replicas) -> None:
    asked = await sent(Rpc(full), "tck-input-required")
    await sent(Rpc(full), "tck-complete-task", taskId=asked["id"])
    states = [(await Rest(full).call("GetTask", {"id": asked["id"]})).value for _ in range(4)]
    assert {str(at(task, "status.state")) for task in states} == {"TASK_STATE_COMPLETED"}


@pytest.mark.promise("gateway.complaints")
async def test_a_client_that_goes_away_cancels_nothing(full: Replicas, wire: Speaker) -> None:
    full.worker.release.clear()
    params: JsonObject = {"message": message("held", "hold on")}
    async with aclosing(wire.stream("SendStreamingMessage", params)) as stream:
        task_id = at((await anext(stream)).value, "task.id")
    full.worker.release.set()
    state = ""
    async with asyncio.timeout(10):
        while state != "TASK_STATE_COMPLETED":
            state = str(at((await wire.call("GetTask", {"id": task_id})).value, "status.state"))
    assert state == "TASK_STATE_COMPLETED"


async def test_a_canceled_task_stays_canceled(full: Replicas) -> None:
    params: JsonObject = {
        "message": message("test-resubscribe-message-id"),
        "configuration": {"returnImmediately": True},
    }
    task_id = at((await Rpc(full).call("SendMessage", params)).value, "task.id")
    canceled = await Rpc(full).call("CancelTask", {"id": task_id})
    again = [await Rest(full).call("GetTask", {"id": task_id}) for _ in range(4)]
    assert {str(at(one.value, "status.state")) for one in again} == {"TASK_STATE_CANCELED"}
    assert at(canceled.value, "status.state") == "TASK_STATE_CANCELED"


async def test_a_burst_is_answered_to_the_last(full: Replicas) -> None:
    tasks = await asyncio.gather(*(sent(Rest(full)) for _ in range(_BURST)))
    assert {str(at(task, "status.state")) for task in tasks} == {"TASK_STATE_COMPLETED"}
    assert len({str(task["id"]) for task in tasks}) == _BURST


@pytest.mark.promise("gateway.complaints")
async def test_another_tenant_reaches_nothing_by_naming_it(full: Replicas) -> None:
    own = await sent(Rpc(full), "tck-input-required")
    other = {**NEW, **full.headers_of("other")}
    tried: list[tuple[str, JsonObject]] = [
        ("GetTask", {"id": own["id"]}),
        ("CancelTask", {"id": own["id"]}),
        ("SubscribeToTask", {"id": own["id"]}),
        ("SendMessage", {"message": message("tck-complete-task", "hello", taskId=own["id"])}),
        ("ListTaskPushNotificationConfigs", {"taskId": own["id"]}),
    ]
    for speaker in cast("tuple[Speaker, ...]", (Rpc(full), Rest(full))):
        for method, params in tried:
            assert (await speaker.call(method, params, other)).refused == "TASK_NOT_FOUND", method
    referring: JsonObject = {"message": message("tck-complete-task", "hello", referenceTaskIds=[own["id"]])}
    assert str(own["id"]) not in (await Rest(full).call("SendMessage", referring, other)).response.text


async def test_a_context_of_another_principal_is_not_joined(full: Replicas, wire: Speaker) -> None:
    own = await sent(wire)
    joining: JsonObject = {"message": message("tck-complete-task", "hello", contextId=own["contextId"])}
    robin = await wire.call("SendMessage", joining, {**NEW, **full.headers_of("robin")})
    other = await wire.call("SendMessage", joining, {**NEW, **full.headers_of("other")})
    assert robin.refused == "INVALID_PARAMS"
    assert (other.refused, at(other.value, "task.id") != own["id"]) == ("", True)


async def test_0_3_keeps_codes_apart_and_data_whole(full: Replicas) -> None:
    data: Json = {"list": [1, "two", None, {"deep": True}], "text": "é"}
    said = old_message("m", parts=[{"kind": "text", "text": "hello"}, {"kind": "data", "data": data}])
    video: JsonObject = {"message": said, "configuration": {"acceptedOutputModes": ["video/mp4"]}}
    taken = await old_call(full, "message/send", {"message": said})
    refused = await old_call(full, "message/send", video)
    more: JsonObject = {**said, "messageId": "again", "taskId": at(taken, "result.id")}
    ended = await old_call(full, "message/send", {"message": more})
    work = next(work for work in full.worker.works if work.record.task_id == at(taken, "result.id"))
    assert '"deep":true' in work.turn.text.replace(" ", "")
    assert (at(refused, "error.code"), at(ended, "error.code")) == (-32005, -32004)


async def _ids(speaker: Speaker, task_id: Json, begun: asyncio.Event) -> list[str]:
    """The ids of a whole stream; ``begun`` is set with the first."""
    found: list[str] = []
    async for event in speaker.stream("SubscribeToTask", {"id": task_id}):
        found.append(event.event_id)
        begun.set()
    return found
