"""The letter of the protocols, where servers that were written by hand slip."""

from uuid import uuid4

import httpx
import pytest

from shared.domain.exact_json import Json, JsonObject, loads, loads_object
from tests.conformance.replicas import HOOKS, Replicas
from tests.conformance.speaking import NEW, Rpc, Speaker, blocking, message, old_call, old_message, sent
from tests.integration.gateway_stage import at, list_at

pytestmark = pytest.mark.asyncio(loop_scope="module")
_HOOK = f"https://{HOOKS}/hook"


def _snake(message_id: str = "tck-complete-task", **more: Json) -> JsonObject:
    said: JsonObject = {"role": 1, "parts": [{"text": "hello", "media_type": "text/plain"}], **more}
    return {"message_id": f"{message_id}-{uuid4().hex[:8]}", **said}


@pytest.mark.promise("gateway.schema")
async def test_a_follow_up_in_the_other_spelling_goes_on_in_its_task(wire: Speaker) -> None:
    asked = await sent(wire, "tck-input-required")
    said = _snake(task_id=asked["id"], context_id=asked["contextId"])
    reply = await wire.call("SendMessage", {"message": said, "configuration": {"history_length": 1}})
    assert (at(reply.value, "task.id"), at(reply.value, "task.status.state")) == (asked["id"], "TASK_STATE_COMPLETED")
    history = list_at(reply.value, "task.history")
    assert len(history) == 1


@pytest.mark.promise("gateway.schema")
@pytest.mark.parametrize("name", ["returnImmediately", "return_immediately"])
async def test_who_does_not_wait_is_not_kept_waiting_in_either_spelling(wire: Speaker, name: str) -> None:
    params: JsonObject = {"message": _snake("test-resubscribe-message-id"), "configuration": {name: True}}
    state = at((await wire.call("SendMessage", params)).value, "task.status.state")
    assert state in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")


@pytest.mark.promise("gateway.schema")
async def test_both_spellings_at_once_are_refused_in_messages_configuration_and_query(wire: Speaker) -> None:
    task = await sent(wire)
    configuration: JsonObject = {"historyLength": 1, "history_length": 1}
    messages: list[JsonObject] = [
        {"message": _snake(messageId="another")},
        {"message": message(), "configuration": configuration},
    ]
    for params in messages:
        assert (await wire.call("SendMessage", params)).refused == "INVALID_PARAMS"
    twice: JsonObject = {"id": task["id"], "historyLength": 1, "history_length": 1}
    assert (await wire.call("GetTask", twice)).refused == "INVALID_PARAMS"


@pytest.mark.promise("gateway.schema")
async def test_lists_are_asked_for_in_either_spelling_and_by_number(wire: Speaker) -> None:
    task = await sent(wire, "tck-artifact-text")
    for query in (
        {"context_id": task["contextId"], "status": 3, "page_size": 5, "include_artifacts": True},
        {"contextId": task["contextId"], "status": "TASK_STATE_COMPLETED", "pageSize": 5, "includeArtifacts": True},
    ):
        listed = (await wire.call("ListTasks", query)).value
        assert (at(listed, "tasks.0.id"), at(listed, "pageSize")) == (task["id"], 5)
        assert at(listed, "tasks.0.artifacts.0.name") == "text"


@pytest.mark.promise("gateway.schema")
async def test_webhooks_are_named_in_either_spelling(full: Replicas) -> None:
    speaker = Rpc(full)
    task = await sent(speaker, "tck-input-required")
    made = await speaker.call("CreateTaskPushNotificationConfig", {"task_id": task["id"], "id": "one", "url": _HOOK})
    assert at(made.value, "taskId") == task["id"]
    listed = await speaker.call("ListTaskPushNotificationConfigs", {"task_id": task["id"], "page_size": 1})
    assert at(listed.value, "configs.0.id") == "one"
    inner: JsonObject = {"message": _snake(), "configuration": {"task_push_notification_config": {"url": _HOOK}}}
    brought = await speaker.call("SendMessage", inner)
    found = await speaker.call("ListTaskPushNotificationConfigs", {"taskId": at(brought.value, "task.id")})
    assert at(found.value, "configs.0.url") == _HOOK


@pytest.mark.promise("gateway.schema")
@pytest.mark.parametrize("binding", ["jsonrpc", "rest"])
async def test_0_3_is_spoken_in_either_spelling_too(full: Replicas, binding: str) -> None:
    asked = at(await old_call(full, "message/send", blocking(old_message("tck-input-required"))), "result")
    said: JsonObject = {
        "message_id": f"tck-complete-task-{uuid4().hex[:8]}",
        "task_id": at(asked, "id"),
        "context_id": at(asked, "contextId"),
    }
    configuration: JsonObject = {"blocking": True, "history_length": 1, "accepted_output_modes": ["text/plain"]}
    if binding == "jsonrpc":
        said |= {"role": "user", "parts": [{"kind": "text", "text": "hello"}]}
        ended = at(await old_call(full, "message/send", {"message": said, "configuration": configuration}), "result")
        again = await old_call(full, "tasks/get", {"id": at(asked, "id"), "history_length": -1})
        assert at(again, "error.code") == -32602
    else:
        said |= {"role": "ROLE_USER", "content": [{"text": "hello"}]}
        body: JsonObject = {"message": said, "configuration": configuration}
        ended = at(loads_object((await full.http.post("/v1/message:send", json=body)).text), "task")
        refused = await full.http.get(f"/v1/tasks/{at(asked, 'id')}", params={"history_length": -1})
        assert refused.status_code == 400
    history = list_at(ended, "history")
    assert (at(ended, "id"), len(history)) == (at(asked, "id"), 1)


@pytest.mark.promise("gateway.letter")
@pytest.mark.parametrize("headers", [{}, NEW, {"A2A-Version": "0.3"}])
@pytest.mark.parametrize("body", [b"{", b"[]", b'{"jsonrpc": "1.0", "id": 1, "method": "SendMessage"}', b'{"id": 1}'])
async def test_what_is_no_json_rpc_is_answered_with_200(full: Replicas, headers: dict[str, str], body: bytes) -> None:
    response = await full.http.post("/", content=body, headers={**headers, "Content-Type": "application/json"})
    assert response.status_code == 200
    assert at(loads_object(response.text), "error.code") in (-32700, -32600)


@pytest.mark.promise("gateway.letter")
async def test_the_early_method_is_told_by_the_status_too(full: Replicas) -> None:
    for call in ({"jsonrpc": "1.0"}, {"jsonrpc": "2.0", "params": []}, {"jsonrpc": "2.0", "params": {}}):
        response = await full.http.post("/", json={"id": 1, "method": "tasks/send", **call})
        assert response.status_code == 400, response.text


@pytest.mark.promise("gateway.letter")
@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("GetTask", {"id": "nobody-made-this"}, "TASK_NOT_FOUND"),
        ("GetTask", {}, "INVALID_PARAMS"),
        ("DoMagic", {}, "METHOD_NOT_FOUND"),
        ("tasks/get", {"id": "t"}, "VERSION_NOT_SUPPORTED"),
    ],
)
async def test_an_error_of_1_0_says_its_reason(full: Replicas, method: str, params: JsonObject, reason: str) -> None:
    reply = await Rpc(full).call(method, params)
    if method != "tasks/get":
        detail: JsonObject = {"reason": reason, "domain": "a2a-protocol.org", "metadata": {}}
        kind = {"@type": "type.googleapis.com/google.rpc.ErrorInfo"}
        assert at(loads_object(reply.response.text), "error.data.0") == {**kind, **detail}
    assert reply.refused == reason


@pytest.mark.promise("gateway.letter")
@pytest.mark.parametrize(
    ("accept", "answered"),
    [
        ("application/json", "application/json"),
        ("application/a2a+json", "application/a2a+json"),
        ("application/json, application/a2a+json", "application/a2a+json"),
        ("*/*", "application/a2a+json"),
    ],
)
async def test_rest_answers_with_the_type_that_is_accepted(full: Replicas, accept: str, answered: str) -> None:
    headers = {**NEW, "Accept": accept}
    listed = await full.http.get("/tasks", headers=headers)
    made = await full.http.post("/message:send", json={"message": message("tck-complete-task")}, headers=headers)
    assert [one.headers["content-type"] for one in (listed, made)] == [answered, answered]


@pytest.mark.promise("gateway.letter")
async def test_all_that_is_answered_is_spelled_in_lower_camel_case(wire: Speaker) -> None:
    task = await sent(wire, "tck-artifact-data")
    assert at(task, "metadata.sessionId") == task["contextId"]
    assert not [key for key in _keys(task) if "_" in key]
    async for event in wire.stream("SendStreamingMessage", {"message": message("tck-stream-003")}):
        assert not [key for key in _keys(event.value) if "_" in key]


def _keys(value: Json) -> list[str]:
    if isinstance(value, list):
        return [key for item in value for key in _keys(item)]
    return [found for key, item in value.items() for found in (key, *_keys(item))] if isinstance(value, dict) else []


@pytest.mark.promise("gateway.letter")
async def test_data_parts_come_back_in_history_as_they_were_sent(wire: Speaker) -> None:
    data: Json = {"amount": "12.50", "big_id": 9007199254740991, "snake_key": [{"taskId": None}]}
    parts: Json = [{"text": "first"}, {"data": data, "mediaType": "application/json"}, {"text": "last"}]
    task = await sent(wire, "tck-complete-task", parts=parts)
    assert at(task, "history.0.parts") == loads(str(parts).replace("'", '"').replace("None", "null"))
    read = await wire.call("GetTask", {"id": task["id"]})
    assert at(read.value, "history.0.parts") == at(task, "history.0.parts")


@pytest.mark.promise("gateway.letter")
async def test_data_parts_of_0_3_come_back_too(full: Replicas) -> None:
    part: JsonObject = {"kind": "data", "data": {"a_b": 1, "c": [True]}}
    task = at(await old_call(full, "message/send", blocking(old_message(parts=[part]))), "result")
    assert at(task, "history.0.parts.0") == part


@pytest.mark.promise("gateway.conformance_0_3")
async def test_a_webhook_of_0_3_without_an_id_is_known_by_its_task_s(full: Replicas) -> None:
    task_id = at(await old_call(full, "message/send", blocking(old_message("tck-input-required"))), "result.id")
    given: JsonObject = {"taskId": task_id, "pushNotificationConfig": {"url": _HOOK}}
    made = await old_call(full, "tasks/pushNotificationConfig/set", given)
    assert at(made, "result.pushNotificationConfig.id") == task_id
    named: JsonObject = {"id": task_id, "pushNotificationConfigId": task_id}
    for params in ({"id": task_id}, named):
        read = await old_call(full, "tasks/pushNotificationConfig/get", params)
        assert at(read, "result.pushNotificationConfig.url") == _HOOK
    assert (await old_call(full, "tasks/pushNotificationConfig/delete", named))["result"] is None
    assert at(await old_call(full, "tasks/pushNotificationConfig/get", named), "error.code") == -32001


@pytest.mark.promise("gateway.letter")
@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [
        ("PUT", "/message:send", 405),
        ("DELETE", "/tasks", 405),
        ("POST", "/tasks/t:frobnicate", 405),
        ("POST", "/message:fly", 404),
        ("GET", "/tasks/t/nothing", 404),
        ("PUT", "/v1/message:send", 405),
        ("GET", "/v1/nothing", 404),
        ("PUT", "/", 405),
    ],
)
async def test_unknown_paths_and_wrong_verbs_are_refused_in_the_protocol_s_form(
    full: Replicas, verb: str, path: str, status: int
) -> None:
    response = await full.http.request(verb, path, headers=NEW if not path.startswith("/v1") else {})
    assert response.status_code == status
    _check_form(path, response)


def _check_form(path: str, response: httpx.Response) -> None:
    reply = loads_object(response.text)
    if path == "/":
        assert (reply["jsonrpc"], at(reply, "error.code")) == ("2.0", -32601)
    elif path.startswith("/v1"):
        assert sorted(reply) == ["code", "message", "type"]
        assert reply["code"] == -32601
    else:
        assert at(reply, "error.code") == response.status_code
        assert at(reply, "error.details.0.reason") == "METHOD_NOT_FOUND"


@pytest.mark.promise("gateway.letter")
async def test_no_refusal_names_who_asks(full: Replicas, wire: Speaker) -> None:
    """A principal's name may be a person's; whoever asks knows it, and logs keep refusals for long."""
    task = await sent(wire)
    for person in ("casey", "other"):
        headers = {**NEW, **full.headers_of(person)}
        for method, wanted in (("GetTask", "nobody-made-this"), ("CancelTask", task["id"])):
            reply = await wire.call(method, {"id": wanted}, headers)
            assert reply.refused
            assert not {"casey", "other"} & set(reply.response.text.replace("'", '"').split('"'))
