"""Protocol 1.0, requirement by requirement, over both bindings: messages, tasks, lists, cancelling."""

from datetime import UTC, datetime, timedelta

import pytest

from services.gateway.edge.fields import encode_page_token
from shared.domain.exact_json import Json, JsonObject
from tests.conformance.cells import TRANSPORTS
from tests.conformance.clients import new_client
from tests.conformance.replicas import Replicas
from tests.conformance.speaking import Rpc, Speaker, is_refused, message, sent
from tests.integration.gateway_stage import at, list_at, object_at

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _send(speaker: Speaker, message_id: str, configuration: JsonObject | None = None, **more: Json) -> JsonObject:
    params: JsonObject = {"message": message(message_id, "hello", **more), "configuration": configuration or {}}
    reply = await speaker.call("SendMessage", params)
    assert reply.refused == "", reply.response.text
    return reply.value


@pytest.mark.promise("gateway.conformance_1_0", "gateway.a2a_1_0", "gateway.a2a_0_3", "gateway.official_clients")
@pytest.mark.parametrize(
    ("message_id", "state"),
    [
        ("tck-complete-task", "TASK_STATE_COMPLETED"),
        ("tck-input-required", "TASK_STATE_INPUT_REQUIRED"),
        ("tck-reject-task", "TASK_STATE_REJECTED"),
    ],
)
async def test_a_message_is_answered_with_its_task_as_its_turn_left_it(
    any_speaker: Speaker, message_id: str, state: str
) -> None:
    task = await sent(any_speaker, message_id)
    assert at(task, "status.state") == state
    assert task["id"]
    assert task["contextId"]
    assert task.keys() <= {"id", "contextId", "status", "artifacts", "history", "metadata"}


@pytest.mark.parametrize(
    ("made", "kind", "name"),
    [("text", "text", "text"), ("file", "raw", "file"), ("file-url", "url", "link"), ("data", "data", "data")],
)
async def test_each_kind_of_artifact_arrives_as_a_part_of_that_kind(
    any_speaker: Speaker, made: str, kind: str, name: str
) -> None:
    task = await sent(any_speaker, f"tck-artifact-{made}")
    assert kind in object_at(task, "artifacts.0.parts.0")
    assert at(task, "artifacts.0.artifactId")
    assert at(task, "artifacts.0.name") == name


async def test_a_state_has_its_time(speaker: Speaker) -> None:
    assert str(at(await sent(speaker), "status.timestamp")).endswith("Z")


async def test_a_worker_may_answer_with_a_message_and_no_task(any_speaker: Speaker) -> None:
    value = await _send(any_speaker, "tck-message-response")
    assert value.keys() == {"message"}
    assert at(value, "message.role") == "ROLE_AGENT"
    assert at(value, "message.parts.0.text")
    assert "taskId" not in str(value["message"])


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"messageId": ""}, "INVALID_PARAMS"),
        ({"messageId": None}, "INVALID_PARAMS"),
        ({"role": None}, "INVALID_PARAMS"),
        ({"role": "ROLE_AGENT"}, "INVALID_PARAMS"),
        ({"role": "nobody"}, "INVALID_PARAMS"),
        ({"parts": []}, "INVALID_PARAMS"),
        ({"parts": None}, "INVALID_PARAMS"),
        ({"parts": "hello"}, "INVALID_PARAMS"),
        ({"parts": [{}]}, "INVALID_PARAMS"),
        ({"parts": [{"text": 5}]}, "INVALID_PARAMS"),
        ({"parts": [{"url": "ftp://example.com/x"}]}, "INVALID_PARAMS"),
        ({"taskId": "nobody-made-this"}, "TASK_NOT_FOUND"),
        ({"metadata": "text"}, "INVALID_PARAMS"),
    ],
)
async def test_a_broken_message_is_refused(wire: Speaker, broken: JsonObject, reason: str) -> None:
    whole: JsonObject = {key: value for key, value in {**message(), **broken}.items() if value is not None}
    assert (await wire.call("SendMessage", {"message": whole})).refused == reason


async def test_a_form_of_answer_that_nobody_gives_is_refused(any_speaker: Speaker) -> None:
    asked: JsonObject = {"message": message(), "configuration": {"acceptedOutputModes": ["video/mp4"]}}
    assert is_refused(await any_speaker.call("SendMessage", asked), "CONTENT_TYPE_NOT_SUPPORTED")


async def test_there_must_be_a_message(wire: Speaker) -> None:
    assert (await wire.call("SendMessage", {})).refused == "INVALID_PARAMS"


async def test_fields_that_nobody_knows_are_ignored(wire: Speaker) -> None:
    value = await _send(wire, "tck-complete-task", {"newInTheNextVersion": True}, novelty={"a": 1})
    assert at(value, "task.status.state") == "TASK_STATE_COMPLETED"


async def test_return_immediately_does_not_wait(any_speaker: Speaker) -> None:
    value = await _send(any_speaker, "test-resubscribe-message-id", {"returnImmediately": True})
    assert at(value, "task.status.state") in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        ({"returnImmediately": "yes"}, "INVALID_PARAMS"),
        ({"historyLength": -1}, "INVALID_PARAMS"),
        ({"historyLength": "many"}, "INVALID_PARAMS"),
        ({"acceptedOutputModes": "text/plain"}, "INVALID_PARAMS"),
        ({"acceptedOutputModes": ["image/png"]}, "CONTENT_TYPE_NOT_SUPPORTED"),
    ],
)
async def test_a_configuration_that_cannot_be_met_is_refused(
    wire: Speaker, configuration: JsonObject, reason: str
) -> None:
    params: JsonObject = {"message": message("tck-complete-task"), "configuration": configuration}
    assert (await wire.call("SendMessage", params)).refused == reason


@pytest.mark.parametrize("modes", [["text/plain"], ["application/json", "image/png"], ["text/*"], ["*/*"], []])
async def test_output_modes_that_the_worker_speaks_are_fine(speaker: Speaker, modes: list[Json]) -> None:
    assert await _send(speaker, "tck-complete-task", {"acceptedOutputModes": modes})


@pytest.mark.parametrize(("length", "messages"), [(0, 0), (1, 1), (99, 1), (None, 1)])
async def test_history_is_as_long_as_was_asked(speaker: Speaker, length: int | None, messages: int) -> None:
    task = await sent(speaker)
    params: JsonObject = {"id": task["id"], **({} if length is None else {"historyLength": length})}
    found = (await speaker.call("GetTask", params)).value
    assert len(list_at(found.get("history", []))) == messages


async def test_history_may_be_asked_for_in_part(any_speaker: Speaker) -> None:
    asked = await sent(any_speaker, "tck-input-required")
    task = await sent(any_speaker, "tck-complete-task", taskId=asked["id"])
    found = (await any_speaker.call("GetTask", {"id": task["id"], "historyLength": 1})).value
    assert len(list_at(found, "history")) == 1


@pytest.mark.promise("gateway.resend")
async def test_the_same_message_again_is_the_same_task(any_speaker: Speaker) -> None:
    said: JsonObject = {"message": message("tck-input-required")}
    first, again = [(await any_speaker.call("SendMessage", said)).value for _ in range(2)]
    assert at(first, "task.id") == at(again, "task.id")


async def test_a_task_is_read_as_it_was_answered(any_speaker: Speaker) -> None:
    task = await sent(any_speaker, "tck-artifact-data")
    assert (await any_speaker.call("GetTask", {"id": task["id"]})).value == task


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SubscribeToTask"])
async def test_a_task_that_there_is_not_is_not_found(any_speaker: Speaker, method: str) -> None:
    assert is_refused(await any_speaker.call(method, {"id": "nobody-made-this"}), "TASK_NOT_FOUND")


@pytest.mark.parametrize("named", [("id", "contextId"), ("id",)])
async def test_a_follow_up_goes_on_in_its_task_and_context(any_speaker: Speaker, named: tuple[str, ...]) -> None:
    """Whether it names the context or not."""
    asked = await sent(any_speaker, "tck-input-required")
    whose = {{"id": "taskId"}.get(name, name): asked[name] for name in named}
    more = await sent(any_speaker, "tck-complete-task", **whose)
    assert (more["id"], more["contextId"]) == (asked["id"], asked["contextId"])
    assert at(more, "status.state") == "TASK_STATE_COMPLETED"


async def test_a_follow_up_with_another_context_is_refused(any_speaker: Speaker) -> None:
    asked = await sent(any_speaker, "tck-input-required")
    other = message("tck-complete-task", "hello", taskId=asked["id"], contextId="another")
    assert is_refused(await any_speaker.call("SendMessage", {"message": other}), "INVALID_PARAMS")


@pytest.mark.parametrize("end", ["tck-complete-task", "tck-reject-task"])
async def test_an_ended_task_takes_no_further_message_and_cannot_be_canceled(any_speaker: Speaker, end: str) -> None:
    task = await sent(any_speaker, end)
    more = message("tck-complete-task", "hello", taskId=task["id"])
    assert is_refused(await any_speaker.call("SendMessage", {"message": more}), "UNSUPPORTED_OPERATION")
    assert is_refused(await any_speaker.call("CancelTask", {"id": task["id"]}), "TASK_NOT_CANCELABLE")


async def test_a_context_that_the_client_names_is_kept(any_speaker: Speaker) -> None:
    name = message("context")["messageId"]
    first = await sent(any_speaker, "tck-complete-task", contextId=name)
    second = await sent(any_speaker, "tck-complete-task", contextId=name)
    assert first["contextId"] == second["contextId"] == name
    assert first["id"] != second["id"]


async def test_two_messages_without_a_context_get_one_each(any_speaker: Speaker) -> None:
    first, second = await sent(any_speaker), await sent(any_speaker)
    assert first["contextId"] != second["contextId"]


async def test_canceling_a_waiting_task_ends_it(any_speaker: Speaker) -> None:
    asked = await sent(any_speaker, "tck-input-required")
    canceled = await any_speaker.call("CancelTask", {"id": asked["id"]})
    assert at(canceled.value, "status.state") == "TASK_STATE_CANCELED"
    assert is_refused(await any_speaker.call("CancelTask", {"id": asked["id"]}), "TASK_NOT_CANCELABLE")


async def test_canceling_reaches_a_worker_that_works(any_speaker: Speaker) -> None:
    started = await _send(any_speaker, "test-resubscribe-message-id", {"returnImmediately": True})
    canceled = await any_speaker.call("CancelTask", {"id": at(started, "task.id")})
    assert at(canceled.value, "status.state") == "TASK_STATE_CANCELED"


async def test_the_list_has_every_field_and_the_newest_task_first(wire: Speaker) -> None:
    context = message("newest")["messageId"]
    tasks = [await sent(wire, "tck-complete-task", contextId=context) for _ in range(3)]
    found = (await wire.call("ListTasks", {"pageSize": 2, "contextId": context})).value
    assert found.keys() == {"tasks", "nextPageToken", "pageSize", "totalSize"}
    assert [at(task, "id") for task in list_at(found, "tasks")] == [tasks[2]["id"], tasks[1]["id"]]
    assert found["pageSize"] == 2
    stamps = [str(at(task, "status.timestamp")) for task in list_at(found, "tasks")]
    assert stamps == sorted(stamps, reverse=True)


async def test_pages_of_the_list_follow_each_other_to_an_empty_token(speaker: Speaker) -> None:
    context = message("pages")["messageId"]
    made = [(await sent(speaker, "tck-complete-task", contextId=context))["id"] for _ in range(5)]
    seen: list[Json] = []
    token: Json = ""
    for _ in range(3):
        params: JsonObject = {"contextId": context, "pageSize": 2, **({"pageToken": token} if token else {})}
        found = (await speaker.call("ListTasks", params)).value
        seen += [at(task, "id") for task in list_at(found, "tasks")]
        token = found.get("nextPageToken", "")
        assert found["totalSize"] == 5
    assert (seen, token) == (made[::-1], "")


async def test_an_empty_list_is_alist_at(wire: Speaker) -> None:
    found = (await wire.call("ListTasks", {"contextId": "where-nothing-is"})).value
    assert (found["tasks"], found["totalSize"], found["nextPageToken"]) == ([], 0, "")


@pytest.mark.parametrize(("artifacts", "there"), [(None, False), (False, False), (True, True)])
async def test_artifacts_are_listed_only_when_asked_for(speaker: Speaker, artifacts: bool | None, there: bool) -> None:
    task = await sent(speaker, "tck-artifact-data")
    params: JsonObject = {"contextId": task["contextId"]}
    found = await speaker.call("ListTasks", params if artifacts is None else {**params, "includeArtifacts": artifacts})
    assert ("artifacts" in object_at(found.value, "tasks.0")) is there


async def test_the_list_is_filtered_by_state(speaker: Speaker) -> None:
    context = message("states")["messageId"]
    await sent(speaker, "tck-complete-task", contextId=context)
    waits = await sent(speaker, "tck-input-required", contextId=context)
    params: JsonObject = {"contextId": context, "status": "TASK_STATE_INPUT_REQUIRED"}
    found = (await speaker.call("ListTasks", params)).value
    assert [at(task, "id") for task in list_at(found, "tasks")] == [waits["id"]]
    assert found["totalSize"] == 1


async def test_the_list_is_filtered_by_time(speaker: Speaker) -> None:
    task = await sent(speaker)
    now = datetime.now(UTC)
    for since, count in ((now - timedelta(hours=1), 1), (now + timedelta(hours=1), 0)):
        params: JsonObject = {"contextId": task["contextId"], "statusTimestampAfter": since.isoformat()}
        assert (await speaker.call("ListTasks", params)).value.get("totalSize", 0) == count


@pytest.mark.parametrize(
    "params",
    [
        {"pageSize": 0},
        {"pageSize": 101},
        {"pageSize": -1},
        {"pageToken": "none of ours"},
        {"pageToken": encode_page_token("9" * 4301, "t1")},
        {"status": "TASK_STATE_TIRED"},
        {"historyLength": -1},
        {"statusTimestampAfter": "yesterday"},
    ],
)
async def test_a_wrong_filter_is_refused(wire: Speaker, params: JsonObject) -> None:
    assert (await wire.call("ListTasks", params)).refused == "INVALID_PARAMS"


@pytest.mark.promise("gateway.task_list")
async def test_another_client_of_the_tenant_sees_only_its_own_tasks(full: Replicas, wire: Speaker) -> None:
    task = await sent(wire)
    for person in ("robin", "other"):
        headers = {"A2A-Version": "1.0", **full.headers_of(person)}
        found = (await wire.call("ListTasks", {"pageSize": 100}, headers)).value
        assert task["id"] not in {at(one, "id") for one in list_at(found, "tasks")}
        assert (await wire.call("ListTasks", {"contextId": task["contextId"]}, headers)).value["totalSize"] == 0


@pytest.mark.promise("gateway.task_list")
@pytest.mark.parametrize("person", ["robin", "other"])
async def test_the_client_of_somebody_else_sees_nothing_of_a_task(full: Replicas, person: str) -> None:
    task = await sent(Rpc(full))
    for binding in TRANSPORTS.values():
        async with new_client(full, binding, "1.0", person=person) as client:
            assert (await client.call("GetTask", {"id": task["id"]})).refused == "TASK_NOT_FOUND"
            listed = (await client.call("ListTasks", {"contextId": task["contextId"]})).value
            assert list_at(listed.get("tasks", [])) == []
