"""The methods of early 2025, requirement by requirement, beside the later protocols at the same URL."""

from uuid import uuid4

import pytest

from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.conformance.replicas import HOOKS, Replicas
from tests.conformance.speaking import old_call, old_stream
from tests.http_client import rpc_body
from tests.integration.gateway_stage import at, list_at, object_at

pytestmark = pytest.mark.asyncio(loop_scope="module")
_HOOK = f"https://{HOOKS}/hook"


def _params(text: str = "hello", /, **more: Json) -> JsonObject:
    part: Json = {"type": "text", "text": text}
    return {"id": uuid4().hex, "message": {"role": "user", "parts": [part]}, **more}


@pytest.mark.promise("gateway.conformance_legacy")
@pytest.mark.parametrize(
    ("text", "state"), [("hello", "completed"), ("ask", "input-required"), ("block", "failed"), ("fail", "failed")]
)
async def test_a_task_is_answered_under_the_id_that_the_client_chose(full: Replicas, text: str, state: str) -> None:
    params = _params(text)
    result = (await old_call(full, "tasks/send", params))["result"]
    assert (at(result, "id"), at(result, "status.state")) == (params["id"], state)
    assert at(result, "artifacts.0.parts.0.type") == "text"
    assert isinstance(result, dict)
    assert not {"kind", "contextId"} & result.keys()


async def test_a_known_id_goes_on_and_a_session_may_be_named(full: Replicas) -> None:
    params = _params("ask", sessionId=uuid4().hex)
    await old_call(full, "tasks/send", params)
    again = await old_call(full, "tasks/send", {**_params("hello again"), "id": params["id"]})
    assert (at(again, "result.status.state"), at(again, "result.sessionId")) == ("completed", params["sessionId"])


@pytest.mark.parametrize(("length", "count"), [(None, 0), (0, 0), (1, 1)])
async def test_history_is_given_only_where_it_is_asked_for(full: Replicas, length: int | None, count: int) -> None:
    more: dict[str, Json] = {} if length is None else {"historyLength": length}
    history = list_at(await old_call(full, "tasks/send", _params("hello", **more)), "result.history")
    assert len(history) == count


async def test_a_call_without_an_id_is_answered_all_the_same(full: Replicas) -> None:
    body = {"jsonrpc": "2.0", "method": "tasks/send", "params": _params()}
    reply = loads_object((await full.http.post("/", json=body)).text)
    assert (reply["id"], at(reply, "result.status.state")) == (None, "completed")


async def test_a_part_without_a_type_is_read_as_what_it_holds(full: Replicas) -> None:
    params: JsonObject = {"id": uuid4().hex, "message": {"parts": [{"text": "hello"}]}}
    assert at(await old_call(full, "tasks/send", params), "result.status.state") == "completed"


@pytest.mark.promise("gateway.conformance_legacy")
async def test_reading_and_canceling_speak_the_language_of_the_task(full: Replicas) -> None:
    """``tasks/get`` and ``tasks/cancel`` have these names in 0.3 too."""
    params = _params("ask")
    await old_call(full, "tasks/send", params)
    read = await old_call(full, "tasks/get", {"id": params["id"]})
    canceled = await old_call(full, "tasks/cancel", {"id": params["id"]})
    assert ("kind" in object_at(read, "result"), at(canceled, "result.status.state")) == (False, "canceled")


@pytest.mark.parametrize(
    ("method", "code"), [("tasks/get", -32001), ("tasks/cancel", -32001), ("tasks/nothing", -32601)]
)
async def test_each_error_has_its_code(full: Replicas, method: str, code: int) -> None:
    assert at(await old_call(full, method, {"id": "nobody-made-this"}), "error.code") == code


async def test_wrong_params_are_told_by_the_status_too(full: Replicas) -> None:
    response = await full.http.post("/", json=rpc_body("tasks/send", {"id": "t"}))
    assert (response.status_code, at(loads_object(response.text), "error.code")) == (400, -32602)


@pytest.mark.promise("gateway.conformance_legacy")
@pytest.mark.parametrize(("text", "state"), [("hello", "completed"), ("ask", "input-required")])
async def test_a_stream_begins_with_a_status_and_ends_with_a_final_one(full: Replicas, text: str, state: str) -> None:
    params = _params(text)
    events = [event async for event in old_stream(full, "tasks/sendSubscribe", params)]
    assert "status" in events[0]
    assert {str(event["id"]) for event in events} == {params["id"]}
    assert [event.get("final") for event in events if "status" in event][-1] is True
    assert at(events[-1], "status.state") == state


async def test_a_webhook_is_set_and_read(full: Replicas) -> None:
    params = _params("ask")
    await old_call(full, "tasks/send", params)
    given: JsonObject = {"id": params["id"], "pushNotificationConfig": {"url": _HOOK, "token": "secret-token"}}
    await old_call(full, "tasks/pushNotification/set", given)
    read = await old_call(full, "tasks/pushNotification/get", {"id": params["id"]})
    assert at(read, "result.pushNotificationConfig.url") == _HOOK
