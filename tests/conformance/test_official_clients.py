"""The official clients, each over both bindings, against two replicas with everything on."""

import json
from pathlib import Path

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotFoundError

from tests.conformance.replicas import HOOKS, PATIENCE, Replicas
from tests.contracts import sdk_in_javascript, sdk_of_0_3
from tests.contracts.sdk_of_0_3 import run

pytestmark = pytest.mark.asyncio(loop_scope="module")
_BINDINGS = ("JSONRPC", "HTTP+JSON")
_OLD_SCRIPT = Path(__file__).parents[1] / "contracts" / "client_of_0_3.py"
_HOOK = f"https://{HOOKS}/hook"


def _message(name: str, text: str, binding: str) -> pb.SendMessageRequest:
    part = pb.Part(text=text)
    return pb.SendMessageRequest(
        message=pb.Message(message_id=f"{name}-{binding}", role=pb.Role.ROLE_USER, parts=[part])
    )


@pytest.mark.promise("gateway.official_clients")
@pytest.mark.parametrize("binding", _BINDINGS)
async def test_the_python_client_of_today(full: Replicas, binding: str) -> None:
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False, headers=full.headers_of("casey")) as http:
        card = await A2ACardResolver(http, full.url).get_agent_card()
        wanted = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], use_client_preference=True)
        client = ClientFactory(wanted).create(card)
        told = [event async for event in client.send_message(_message("tck-stream-001", "hello", binding))]
        task = await client.get_task(pb.GetTaskRequest(id=told[0].task.id))
        asked = [event async for event in client.send_message(_message("tck-input-required", "ask", binding))]
        waiting = asked[0].task
        hook = pb.TaskPushNotificationConfig(task_id=waiting.id, id="mine", url=_HOOK)
        await client.create_task_push_notification_config(hook)
        hooks = await client.list_task_push_notification_configs(
            pb.ListTaskPushNotificationConfigsRequest(task_id=waiting.id)
        )
        canceled = await client.cancel_task(pb.CancelTaskRequest(id=waiting.id))
        listed = await client.list_tasks(pb.ListTasksRequest(context_id=task.context_id))
        extended = await client.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
        with pytest.raises(TaskNotFoundError):
            await client.get_task(pb.GetTaskRequest(id="nobody"))
    assert told[-1].status_update.status.state == task.status.state == pb.TaskState.TASK_STATE_COMPLETED
    assert canceled.status.state == pb.TaskState.TASK_STATE_CANCELED
    assert [one.url for one in hooks.configs] == [_HOOK]
    assert [one.id for one in listed.tasks] == [task.id]
    assert "acme" in extended.description


@pytest.mark.promise("gateway.official_clients")
@pytest.mark.parametrize(("binding", "unknown"), [("JSONRPC", -32001), ("HTTP+JSON", 404)])
async def test_the_python_client_of_the_0_3_line(full: Replicas, binding: str, unknown: int) -> None:
    if reason := await sdk_of_0_3.make_environment():
        pytest.skip(f"the 0.3 SDK could not be installed: {reason}")
    code, out = await run(sdk_of_0_3.PYTHON, _OLD_SCRIPT, full.url, binding, full.tokens["casey"])
    assert code == 0, out
    told = json.loads(out)
    assert told["states"] == ["completed", "completed", "input-required", "completed", "canceled"]
    assert (told["streamed"], told["unknown_task"]) == (["task", "status-update"], unknown)


@pytest.mark.promise("gateway.official_clients")
@pytest.mark.parametrize("binding", ["JSONRPC", pytest.param("HTTP+JSON", marks=pytest.mark.long)])
async def test_the_javascript_client(full: Replicas, binding: str) -> None:
    if reason := await sdk_in_javascript.make_folder():
        pytest.skip(f"the JavaScript SDK could not be installed: {reason}")
    code, out = await run("node", sdk_in_javascript.SCRIPT, full.url, binding, full.tokens["casey"], _HOOK)
    assert code == 0, out
    told = json.loads(out)
    assert told["version"] == "1.0"
    assert [state.removeprefix("TASK_STATE_") for state in told["states"]] == [
        "COMPLETED",
        "COMPLETED",
        "INPUT_REQUIRED",
        "CANCELED",
    ]
    assert told["streamed"] == told["followed"] == ["task", "statusUpdate"]
    assert (told["listed"], told["webhooks"]) == ([True], [_HOOK])
    assert told["unknown"].endswith("TaskNotFoundError")
