"""Protocol 1.0, requirement by requirement, over both bindings: streams, webhooks, the extended card."""

from contextlib import aclosing

import pytest

from shared.domain.exact_json import Json, JsonObject
from tests.conformance.replicas import HOOKS, Replicas
from tests.conformance.speaking import NEW, Event, Speaker, held, is_refused, message, sent
from tests.integration.gateway_stage import at

pytestmark = pytest.mark.asyncio(loop_scope="module")
_HOOK = f"https://{HOOKS}/hook"


async def _streamed(speaker: Speaker, message_id: str) -> list[Event]:
    params: JsonObject = {"message": message(message_id)}
    return [event async for event in speaker.stream("SendStreamingMessage", params)]


def _kinds(events: list[Event]) -> list[str]:
    return [next(iter(event.value)) for event in events]


def _end(events: list[Event]) -> Json:
    return at(events[-1].value, "statusUpdate.status.state")


@pytest.mark.promise("gateway.conformance_1_0")
@pytest.mark.parametrize(
    ("message_id", "state"),
    [
        ("tck-stream-001", "TASK_STATE_COMPLETED"),
        ("tck-stream-002", "TASK_STATE_COMPLETED"),
        ("tck-stream-003", "TASK_STATE_COMPLETED"),
        ("tck-input-required", "TASK_STATE_INPUT_REQUIRED"),
        ("tck-reject-task", "TASK_STATE_REJECTED"),
    ],
)
async def test_a_stream_begins_with_the_task_and_ends_with_its_status(
    any_speaker: Speaker, message_id: str, state: str
) -> None:
    events = await _streamed(any_speaker, message_id)
    kinds = _kinds(events)
    assert (kinds[0], kinds.count("task"), _end(events)) == ("task", 1, state)
    assert set(kinds[1:]) <= {"statusUpdate", "artifactUpdate"}


async def test_every_update_has_one_name_and_an_id_of_its_own(wire: Speaker) -> None:
    events = await _streamed(wire, "tck-stream-003")
    assert all(len(event.value) == 1 for event in events)
    assert len({event.event_id for event in events}) == len(events)
    assert all(event.event_id for event in events)


async def test_every_update_names_its_task_and_context(any_speaker: Speaker) -> None:
    events = await _streamed(any_speaker, "tck-stream-ordering-001")
    task = events[0].value["task"]
    names = {(at(update, "taskId"), at(update, "contextId")) for event in events[1:] for update in event.value.values()}
    assert names == {(at(task, "id"), at(task, "contextId"))}


async def test_what_was_told_while_it_worked_comes_before_the_end(any_speaker: Speaker) -> None:
    events = await _streamed(any_speaker, "tck-stream-ordering-001")
    states = [at(event.value, "statusUpdate.status.state") for event in events if "statusUpdate" in event.value]
    assert states[:-1] == ["TASK_STATE_WORKING"] * (len(states) - 1)
    assert len(states) >= 4
    assert _kinds(events).index("artifactUpdate") < len(events) - 1


@pytest.mark.parametrize(
    ("message_id", "kind"), [("tck-stream-artifact-text", "text"), ("tck-stream-artifact-file", "raw")]
)
async def test_artifacts_are_streamed_as_parts_of_their_kind(any_speaker: Speaker, message_id: str, kind: str) -> None:
    events = await _streamed(any_speaker, message_id)
    parts = [at(event.value, "artifactUpdate.artifact.parts.0") for event in events if "artifactUpdate" in event.value]
    assert any(isinstance(part, dict) and kind in part for part in parts)


async def test_chunks_of_an_artifact_put_together_are_the_artifact(any_speaker: Speaker) -> None:
    events = await _streamed(any_speaker, "tck-stream-artifact-chunked")
    updates = [event.value["artifactUpdate"] for event in events if "artifactUpdate" in event.value]
    chunks = [update for update in updates if at(update, "artifact.name") == "chunks"]
    flags = [_flags(update) for update in chunks]
    assert flags == [(False, False), (True, False), (True, True)]
    assert len({str(at(update, "artifact.artifactId")) for update in chunks}) == 1
    text = "".join(str(at(update, "artifact.parts.0.text")) for update in chunks)
    task = (await any_speaker.call("GetTask", {"id": at(events[0].value, "task.id")})).value
    assert text == at(task, "artifacts.0.parts.0.text") == "one two three"


async def test_subscribing_tells_the_task_as_it_stands_and_then_its_end(full: Replicas, any_speaker: Speaker) -> None:
    task_id = await held(full, any_speaker)
    events = await _followed(full, any_speaker, task_id)
    assert at(events[0].value, "task.id") == task_id
    assert (_kinds(events).count("task"), _end(events)) == (1, "TASK_STATE_COMPLETED")


async def test_a_stream_that_was_cut_goes_on_after_the_last_id(full: Replicas, wire: Speaker) -> None:
    """On whichever replica it is taken up: nothing is missing, nothing comes twice."""
    task_id = await held(full, wire)
    async with aclosing(wire.stream("SubscribeToTask", {"id": task_id})) as first:
        begun = await anext(first)
    full.worker.release.set()
    headers = {**NEW, "Last-Event-ID": begun.event_id}
    rest = [event async for event in wire.stream("SubscribeToTask", {"id": task_id}, headers)]
    assert begun.event_id not in {event.event_id for event in rest}
    assert ("task" in _kinds(rest), _end(rest)) == (False, "TASK_STATE_COMPLETED")


async def test_two_subscribers_are_told_the_same(full: Replicas, wire: Speaker) -> None:
    task_id = await held(full, wire)
    async with aclosing(wire.stream("SubscribeToTask", {"id": task_id})) as first:
        before = [await anext(first)]
        second = await _followed(full, wire, task_id)
        before += [event async for event in first]
    assert [event.event_id for event in before] == [event.event_id for event in second]


@pytest.mark.long
async def test_a_task_that_takes_its_time_can_be_subscribed_to(speaker: Speaker) -> None:
    params: JsonObject = {
        "message": message("test-resubscribe-message-id"),
        "configuration": {"returnImmediately": True},
    }
    started = at((await speaker.call("SendMessage", params)).value, "task.id")
    events = [event async for event in speaker.stream("SubscribeToTask", {"id": started})]
    assert _end(events) == "TASK_STATE_COMPLETED"


async def test_an_ended_task_is_not_subscribed_to(any_speaker: Speaker) -> None:
    task = await sent(any_speaker)
    assert is_refused(await any_speaker.call("SubscribeToTask", {"id": task["id"]}), "UNSUPPORTED_OPERATION")


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}}, "INVALID_PARAMS"),
        ({}, "INVALID_PARAMS"),
        (
            {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}], "taskId": "nobody"}},
            "TASK_NOT_FOUND",
        ),
    ],
)
async def test_what_is_refused_is_refused_before_a_stream_begins(
    wire: Speaker, params: JsonObject, reason: str
) -> None:
    assert (await wire.call("SendStreamingMessage", params)).refused == reason


@pytest.mark.promise("gateway.conformance_1_0")
async def test_webhooks_of_a_task_are_made_read_listed_and_deleted(speaker: Speaker) -> None:
    task_id = (await sent(speaker, "tck-input-required"))["id"]
    given: JsonObject = {"taskId": task_id, "id": "first", "url": _HOOK, "token": "secret-token"}
    made = await speaker.call("CreateTaskPushNotificationConfig", given)
    assert (made.refused, at(made.value, "url"), at(made.value, "taskId")) == ("", _HOOK, task_id)
    named: JsonObject = {"taskId": task_id, "id": at(made.value, "id")}
    assert at((await speaker.call("GetTaskPushNotificationConfig", named)).value, "url") == _HOOK
    listed = (await speaker.call("ListTaskPushNotificationConfigs", {"taskId": task_id})).value
    assert at(listed, "configs.0.url") == _HOOK
    assert (await speaker.call("DeleteTaskPushNotificationConfig", named)).refused == ""
    gone = await speaker.call("GetTaskPushNotificationConfig", named)
    assert gone.refused in ("TASK_NOT_FOUND", "INVALID_PARAMS")


@pytest.mark.parametrize(
    "method", ["CreateTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "GetTaskPushNotificationConfig"]
)
async def test_webhooks_of_a_task_that_there_is_not_are_not_found(speaker: Speaker, method: str) -> None:
    params: JsonObject = {"taskId": "nobody-made-this"}
    if not method.startswith("List"):
        params |= {"id": "first"}
    if method.startswith("Create"):
        params |= {"url": _HOOK}
    assert (await speaker.call(method, params)).refused == "TASK_NOT_FOUND"


async def test_a_message_may_bring_its_webhook(speaker: Speaker) -> None:
    configuration: JsonObject = {"taskPushNotificationConfig": {"url": _HOOK}}
    params: JsonObject = {"message": message("tck-input-required"), "configuration": configuration}
    task_id = at((await speaker.call("SendMessage", params)).value, "task.id")
    listed = (await speaker.call("ListTaskPushNotificationConfigs", {"taskId": task_id})).value
    assert at(listed, "configs.0.url") == _HOOK


@pytest.mark.promise("gateway.extended_card")
async def test_every_client_is_shown_the_extended_card(any_speaker: Speaker) -> None:
    found = await any_speaker.call("GetExtendedAgentCard", {})
    assert at(found.value, "name") == "Purple Agent"


@pytest.mark.promise("gateway.extended_card")
async def test_the_extended_card_is_for_those_who_are_known(wire: Speaker) -> None:
    known, stranger = await wire.call("GetExtendedAgentCard", {}), await wire.call_as_nobody("GetExtendedAgentCard", {})
    assert at(known.value, "capabilities.extendedAgentCard") is True
    assert stranger.status_code == 401


async def _followed(full: Replicas, speaker: Speaker, task_id: Json) -> list[Event]:
    """The whole stream of a held task, which is released once the stream has begun."""
    events: list[Event] = []
    async with aclosing(speaker.stream("SubscribeToTask", {"id": task_id})) as stream:
        async for event in stream:
            events.append(event)
            full.worker.release.set()
    return events


def _flags(update: Json) -> tuple[bool, bool]:
    assert isinstance(update, dict)
    return bool(update.get("append")), bool(update.get("lastChunk"))
