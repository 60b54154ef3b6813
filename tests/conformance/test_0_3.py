"""Protocol 0.3, requirement by requirement, over JSON-RPC and REST."""

import pytest

from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.conformance.clients import new_client
from tests.conformance.replicas import HOOKS, Replicas
from tests.conformance.speaking import blocking, old_call, old_message, old_stream, sent
from tests.integration.gateway_stage import at, list_at, object_at

pytestmark = pytest.mark.asyncio(loop_scope="module")
_HOOK = f"https://{HOOKS}/hook"
_TEXT: Json = [{"kind": "text", "text": "hello"}]
_BROKEN: tuple[JsonObject, ...] = (
    {},
    {"role": "user", "parts": _TEXT},
    {"kind": "message", "role": "user", "parts": _TEXT},
    {"messageId": "m", "parts": _TEXT},
    old_message(parts=[]),
    old_message(parts=[{"kind": "text"}]),
    old_message(parts=[{"kind": "video", "text": "x"}]),
    old_message(parts=[{"kind": "data", "data": "x"}]),
    old_message(role="agent"),
)


async def _task(full: Replicas, message_id: str = "tck-complete-task", /, **more: Json) -> JsonObject:
    return object_at(await old_call(full, "message/send", blocking(old_message(message_id, **more))), "result")


@pytest.mark.promise("gateway.conformance_0_3")
@pytest.mark.parametrize(
    ("message_id", "state"),
    [("tck-complete-task", "completed"), ("tck-input-required", "input-required"), ("tck-reject-task", "rejected")],
)
async def test_a_message_is_answered_with_its_task(full: Replicas, message_id: str, state: str) -> None:
    task = await _task(full, message_id)
    assert (task["kind"], at(task, "status.state")) == ("task", state)
    assert task["id"]
    assert task["contextId"]


@pytest.mark.parametrize(
    ("message_id", "kind"),
    [
        ("tck-artifact-text", "text"),
        ("tck-artifact-file", "file"),
        ("tck-artifact-file-url", "file"),
        ("tck-artifact-data", "data"),
    ],
)
async def test_each_part_says_its_kind(full: Replicas, message_id: str, kind: str) -> None:
    assert at(await _task(full, message_id), "artifacts.0.parts.0.kind") == kind


async def test_a_worker_may_answer_with_a_message(full: Replicas) -> None:
    reply = await _task(full, "tck-message-response")
    assert (reply["kind"], reply["role"], "taskId" in reply) == ("message", "agent", False)


@pytest.mark.promise("gateway.conformance_0_3")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("message/send", {}),
        *(("message/send", {"message": said}) for said in _BROKEN),
        ("message/send", {"message": old_message(), "configuration": {"historyLength": -1}}),
        ("message/send", {"message": old_message(), "configuration": {"blocking": "no"}}),
        ("message/stream", {}),
        ("tasks/get", {}),
        ("tasks/get", {"id": 5}),
        ("tasks/get", {"id": "t", "historyLength": -1}),
        ("tasks/cancel", {}),
        ("tasks/resubscribe", {}),
        ("tasks/pushNotificationConfig/set", {}),
        ("tasks/pushNotificationConfig/get", {}),
        ("tasks/pushNotificationConfig/list", {}),
        ("tasks/pushNotificationConfig/delete", {}),
    ],
)
async def test_wrong_params_are_refused_as_such_and_nothing_of_our_insides_is_told(
    full: Replicas, method: str, params: JsonObject
) -> None:
    if method == "tasks/get" and "historyLength" in params:
        params = {**params, "id": (await _task(full))["id"]}
    reply = await old_call(full, method, params)
    assert at(reply, "error.code") == -32602, reply
    error = object_at(reply, "error")
    assert error.keys() == {"code", "message"}
    assert "pydantic" not in str(error)


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("tasks/get", -32001),
        ("tasks/cancel", -32001),
        ("tasks/resubscribe", -32001),
        ("tasks/pushNotificationConfig/list", -32001),
        ("tasks/list", -32601),
        ("nothing/known", -32601),
    ],
)
async def test_each_error_has_its_code(full: Replicas, method: str, code: int) -> None:
    assert at(await old_call(full, method, {"id": "nobody-made-this"}), "error.code") == code


async def test_history_of_length_zero_is_all_of_it(full: Replicas) -> None:
    task = await _task(full)
    for length in (0, 5):
        found = await old_call(full, "tasks/get", {"id": task["id"], "historyLength": length})
        assert at(found, "result.history.0.role") == "user"


@pytest.mark.promise("gateway.conformance_0_3")
async def test_a_client_that_does_not_block_is_answered_at_once(full: Replicas) -> None:
    """But one that speaks the words of the early protocol waits, as it learnt there."""
    slow = "test-resubscribe-message-id"
    unset: JsonObject = {"message": old_message(slow)}
    unblocked: JsonObject = {"message": old_message(slow), "configuration": {"blocking": False}}
    for params in (unset, unblocked):
        state = at(await old_call(full, "message/send", params), "result.status.state")
        assert state in ("submitted", "working")
    early: JsonObject = {"message": {"role": "user", "parts": [{"type": "text", "text": "hello"}]}}
    assert at(await old_call(full, "message/send", early), "result.status.state") == "completed"


async def test_a_follow_up_goes_on_in_its_task_and_context(full: Replicas) -> None:
    asked = await _task(full, "tck-input-required")
    more = await _task(full, "tck-complete-task", taskId=asked["id"])
    assert (more["id"], more["contextId"]) == (asked["id"], asked["contextId"])
    ended = await old_call(full, "message/send", {"message": old_message(taskId=asked["id"])})
    assert at(ended, "error.code") == -32004


async def test_canceling_ends_a_task_once(full: Replicas) -> None:
    asked = await _task(full, "tck-input-required")
    canceled = await old_call(full, "tasks/cancel", {"id": asked["id"]})
    again = await old_call(full, "tasks/cancel", {"id": asked["id"]})
    assert (at(canceled, "result.status.state"), at(again, "error.code")) == ("canceled", -32002)


@pytest.mark.promise("gateway.conformance_0_3")
async def test_a_stream_ends_with_what_is_marked_final(full: Replicas) -> None:
    params: JsonObject = {"message": old_message("tck-stream-003")}
    results = [result async for result in old_stream(full, "message/stream", params)]
    kinds = [at(result, "kind") for result in results]
    assert (kinds[0], kinds[-1], at(results[-1], "final")) == ("task", "status-update", True)
    assert "artifact-update" in kinds
    assert at(results[-1], "status.state") == "completed"


async def test_webhooks_are_set_read_listed_and_deleted(full: Replicas) -> None:
    """Also read without the id of one; deleting is answered with a result, though there is nothing to say."""
    task_id = (await _task(full, "tck-input-required"))["id"]
    given: JsonObject = {"taskId": task_id, "pushNotificationConfig": {"id": "one", "url": _HOOK}}
    made = await old_call(full, "tasks/pushNotificationConfig/set", given)
    assert at(made, "result.pushNotificationConfig.url") == _HOOK
    for params in ({"id": task_id}, {"id": task_id, "pushNotificationConfigId": "one"}):
        read = await old_call(full, "tasks/pushNotificationConfig/get", params)
        assert at(read, "result.pushNotificationConfig.id") == "one"
    listed = await old_call(full, "tasks/pushNotificationConfig/list", {"id": task_id})
    assert at(listed, "result.0.pushNotificationConfig.url") == _HOOK
    params = {"id": task_id, "pushNotificationConfigId": "one"}
    deleted = await old_call(full, "tasks/pushNotificationConfig/delete", params)
    assert deleted == {"jsonrpc": "2.0", "id": 1, "result": None}


async def test_rest_sets_reads_lists_and_deletes_webhooks(full: Replicas) -> None:
    path = f"/v1/tasks/{(await _task(full, 'tck-input-required'))['id']}/pushNotificationConfigs"
    for name in ("one", "two"):
        given = {"config": {"pushNotificationConfig": {"id": name, "url": _HOOK}}}
        made = (await full.http.post(path, json=given)).json()
        assert (at(made, "pushNotificationConfig.url"), f"/{at(made, 'name')}") == (_HOOK, f"{path}/{name}"[3:])
    assert at((await full.http.get(f"{path}/one")).json(), "pushNotificationConfig.id") == "one"
    listed = list_at((await full.http.get(path)).json(), "configs")
    assert [at(one, "pushNotificationConfig.id") for one in listed] == ["one", "two"]
    assert (await full.http.delete(f"{path}/one")).status_code == 200
    assert (await full.http.get(f"{path}/one")).status_code == 404


async def test_the_client_of_1_x_lists_and_deletes_webhooks(full: Replicas) -> None:
    """Over JSON-RPC, where it has these methods for 0.3."""
    async with new_client(full, "JSONRPC", "0.3") as client:
        task_id = (await sent(client, "tck-input-required"))["id"]
        named: JsonObject = {"taskId": task_id, "id": "one"}
        await client.call("CreateTaskPushNotificationConfig", {**named, "url": _HOOK})
        listed = (await client.call("ListTaskPushNotificationConfigs", {"taskId": task_id})).value
        assert at(listed, "configs.0.url") == _HOOK
        assert (await client.call("DeleteTaskPushNotificationConfig", named)).refused == ""
        assert (await client.call("GetTaskPushNotificationConfig", named)).refused == "TASK_NOT_FOUND"


async def test_the_extended_card_has_the_fields_of_0_3(full: Replicas) -> None:
    card = object_at(await old_call(full, "agent/getAuthenticatedExtendedCard", {}), "result")
    assert card.keys() >= {"url", "protocolVersion", "skills", "supportsAuthenticatedExtendedCard"}
    assert (await full.http.get("/v1/card")).json() == card


@pytest.mark.promise("gateway.conformance_0_3")
async def test_rest_words_tasks_as_its_clients_read_them(full: Replicas) -> None:
    said = {key: value for key, value in old_message("tck-artifact-data").items() if key not in ("kind", "parts")}
    content: Json = [{"text": "hello"}, {"data": {"data": {"a": 1}}}]
    message: JsonObject = {**said, "role": "ROLE_USER", "content": content}
    sent = (await full.http.post("/v1/message:send", json=blocking(message))).json()
    assert sent["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    read = (await full.http.get(f"/v1/tasks/{sent['task']['id']}")).json()
    assert read == sent["task"]
    listed = (await full.http.get("/v1/tasks", params={"contextId": read["contextId"]})).json()
    assert [task["id"] for task in listed["tasks"]] == [read["id"]]


async def test_rest_answers_parts_with_parts(full: Replicas) -> None:
    """Some clients word REST as JSON-RPC words it."""
    sent = (await full.http.post("/v1/message:send", json=blocking(old_message()))).json()
    assert (sent["kind"], sent["status"]["state"]) == ("task", "completed")


async def test_rest_streams_end_with_what_is_marked_final(full: Replicas) -> None:
    body = {"message": old_message("tck-stream-001")}
    async with full.http.stream("POST", "/v1/message:stream", json=body) as response:
        lines = [line async for line in response.aiter_lines() if line.startswith("data: ")]
    events = [loads_object(line.removeprefix("data: ")) for line in lines]
    assert next(iter(events[0])) == "task"
    assert at(events[-1], "statusUpdate.final") is True


@pytest.mark.promise("gateway.conformance_0_3")
@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [
        ("GET", "/v1/tasks/nobody-made-this", 404),
        ("POST", "/v1/tasks/nobody-made-this:cancel", 404),
        ("GET", "/v1/tasks/nobody-made-this:subscribe", 404),
        ("POST", "/v1/tasks/nobody-made-this:subscribe", 404),
        ("GET", "/v1/tasks/nobody-made-this/pushNotificationConfigs", 404),
        ("GET", "/v1/tasks/{id}?historyLength=-1", 400),
        ("GET", "/v1/tasks/{id}?historyLength=x", 400),
        ("POST", "/v1/tasks/{id}:cancel", 409),
    ],
)
async def test_rest_refuses_with_a_status_and_a_code(full: Replicas, verb: str, path: str, status: int) -> None:
    task = await _task(full)
    response = await full.http.request(verb, path.replace("{id}", str(task["id"])))
    assert (response.status_code, response.json().keys()) == (status, {"code", "message", "type"})


@pytest.mark.parametrize(
    "broken",
    [
        {"messageId": ""},
        {"role": "ROLE_AGENT"},
        {"content": []},
        {"content": [{}]},
        {"content": [{"text": "a", "data": {"data": {}}}]},
        {"content": [{"text": 5}]},
    ],
)
async def test_rest_refuses_a_message_that_its_types_do_not_know(full: Replicas, broken: JsonObject) -> None:
    said: JsonObject = {"messageId": "m1", "role": "ROLE_USER", "content": [{"text": "hello"}]}
    response = await full.http.post("/v1/message:send", json={"message": {**said, **broken}})
    assert (response.status_code, response.json()["code"]) == (400, -32602)
