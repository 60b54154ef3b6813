"""Protocol 1.0 over REST behind the name of the caller's tenant, and a tenant that is named in the request."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from shared.domain.exact_json import JsonObject
from tests.conformance.cells import TRANSPORTS
from tests.conformance.clients import new_client
from tests.conformance.replicas import Replicas
from tests.conformance.speaking import Rest, Rpc, Speaker, message, sent
from tests.integration.gateway_stage import at

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.promise("gateway.tenant_path")]
_HOOK = "https://127.0.0.1/hook"


@pytest_asyncio.fixture(loop_scope="module", params=["wire", *TRANSPORTS])
async def tenant_speaker(request: pytest.FixtureRequest, full: Replicas) -> AsyncIterator[Speaker]:
    """Who names the tenant: a test over REST, and the official client, whose card's interface has it."""
    if request.param == "wire":
        yield Rest(full, "/acme")
        return
    async with new_client(full, TRANSPORTS[request.param], "1.0", tenant="acme") as client:
        yield client


async def test_messages_and_tasks_are_reached(full: Replicas, tenant_speaker: Speaker) -> None:
    task = await sent(tenant_speaker, "tck-artifact-data")
    assert (await tenant_speaker.call("GetTask", {"id": task["id"]})).value == task
    assert (await Rpc(full).call("GetTask", {"id": task["id"]})).value == task
    listed = await tenant_speaker.call("ListTasks", {"contextId": task["contextId"]})
    assert at(listed.value, "tasks.0.id") == task["id"]
    assert (await tenant_speaker.call("SubscribeToTask", {"id": task["id"]})).refused == "UNSUPPORTED_OPERATION"
    waits = await sent(tenant_speaker, "tck-input-required")
    canceled = await tenant_speaker.call("CancelTask", {"id": waits["id"]})
    assert at(canceled.value, "status.state") == "TASK_STATE_CANCELED"


async def test_streams_are_followed(tenant_speaker: Speaker) -> None:
    said: JsonObject = {"message": message("tck-stream-001")}
    events = [event.value async for event in tenant_speaker.stream("SendStreamingMessage", said)]
    assert at(events[-1], "statusUpdate.status.state") == "TASK_STATE_COMPLETED"


async def test_webhooks_and_the_extended_card_are_reached(tenant_speaker: Speaker) -> None:
    task_id = (await sent(tenant_speaker, "tck-input-required"))["id"]
    named: JsonObject = {"taskId": task_id, "id": "one"}
    made = await tenant_speaker.call("CreateTaskPushNotificationConfig", {**named, "url": _HOOK})
    read = await tenant_speaker.call("GetTaskPushNotificationConfig", named)
    listed = await tenant_speaker.call("ListTaskPushNotificationConfigs", {"taskId": task_id})
    deleted = await tenant_speaker.call("DeleteTaskPushNotificationConfig", named)
    assert [at(made.value, "url"), at(read.value, "url"), at(listed.value, "configs.0.url")] == [_HOOK] * 3
    assert deleted.refused == ""
    assert at((await tenant_speaker.call("GetExtendedAgentCard", {})).value, "name") == "Purple Agent"


@pytest.mark.parametrize("prefix", ["/rival", "/nobody", "/acme/acme"])
async def test_a_prefix_that_is_not_the_callers_leads_nowhere(full: Replicas, prefix: str) -> None:
    """It tells as little of a tenant that there is as of one that there is not."""
    task = await sent(Rpc(full))
    asked: list[tuple[str, JsonObject]] = [
        ("SendMessage", {"message": message("tck-complete-task")}),
        ("SendStreamingMessage", {"message": message("tck-complete-task")}),
        ("GetTask", {"id": task["id"]}),
        ("ListTasks", {}),
        ("CancelTask", {"id": task["id"]}),
        ("ListTaskPushNotificationConfigs", {"taskId": task["id"]}),
        ("GetExtendedAgentCard", {}),
    ]
    for method, params in asked:
        response = await Rest(full, prefix).ask(method, params)
        assert response.status_code == 404, method


async def test_a_tenant_that_is_named_in_the_request_is_the_callers(wire: Speaker) -> None:
    said = message("tck-complete-task")
    for method, params in (("SendMessage", {"message": said}), ("ListTasks", {})):
        assert (await wire.call(method, {**params, "tenant": "rival"})).refused == "INVALID_PARAMS"
        assert (await wire.call(method, {**params, "tenant": "acme"})).refused == ""
