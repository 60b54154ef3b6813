"""Streaming, webhooks and extended card switched off: the card says so, and each method refuses in its own words."""

import pytest

from shared.domain.exact_json import JsonObject, loads_object
from tests.conformance.replicas import Replicas
from tests.conformance.speaking import NEW, Rest, Rpc, Speaker, message, old_call, sent
from tests.integration.gateway_stage import at

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _speakers(bare: Replicas) -> tuple[Speaker, Speaker]:
    return Rpc(bare), Rest(bare)


@pytest.mark.promise("gateway.switched_off")
async def test_the_card_names_nothing_that_is_off(bare: Replicas) -> None:
    card = loads_object((await bare.http.get("/.well-known/agent-card.json", headers=NEW)).text)
    assert card["capabilities"] == {"streaming": False, "pushNotifications": False, "extendedAgentCard": False}
    assert "securitySchemes" not in card


@pytest.mark.promise("gateway.switched_off")
@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("SendStreamingMessage", {"message": message("tck-complete-task")}, "UNSUPPORTED_OPERATION"),
        ("SubscribeToTask", {"id": "t"}, "UNSUPPORTED_OPERATION"),
        ("GetExtendedAgentCard", {}, "UNSUPPORTED_OPERATION"),
        *(
            (method, {"taskId": "t", "id": "c", "url": "https://example.com/"}, "PUSH_NOTIFICATION_NOT_SUPPORTED")
            for method in (
                "CreateTaskPushNotificationConfig",
                "GetTaskPushNotificationConfig",
                "ListTaskPushNotificationConfigs",
                "DeleteTaskPushNotificationConfig",
            )
        ),
    ],
)
async def test_a_method_that_is_off_is_refused_by_its_own_error(
    bare: Replicas, method: str, params: JsonObject, reason: str
) -> None:
    for speaker in _speakers(bare):
        assert (await speaker.call(method, params)).refused == reason


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("message/stream", -32004),
        ("tasks/resubscribe", -32004),
        ("tasks/sendSubscribe", -32004),
        ("agent/getAuthenticatedExtendedCard", -32004),
        ("tasks/pushNotificationConfig/set", -32003),
        ("tasks/pushNotificationConfig/get", -32003),
        ("tasks/pushNotificationConfig/list", -32003),
        ("tasks/pushNotificationConfig/delete", -32003),
        ("tasks/pushNotification/set", -32003),
        ("tasks/pushNotification/get", -32003),
    ],
)
async def test_older_methods_that_are_off_are_refused_by_their_codes(bare: Replicas, method: str, code: int) -> None:
    assert at(await old_call(bare, method, {"id": "t"}), "error.code") == code


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/message:stream"),
        ("GET", "/v1/tasks/t:subscribe"),
        ("POST", "/v1/tasks/t:subscribe"),
        ("GET", "/v1/card"),
        ("POST", "/v1/tasks/t/pushNotificationConfigs"),
        ("GET", "/v1/tasks/t/pushNotificationConfigs"),
    ],
)
async def test_older_paths_that_are_off_are_refused(bare: Replicas, method: str, path: str) -> None:
    response = await bare.http.request(method, path, json={"config": {}} if method == "POST" else None)
    assert (response.status_code, response.json()["code"] in (-32003, -32004)) == (400, True)


async def test_a_message_that_brings_a_webhook_is_refused(bare: Replicas) -> None:
    configuration: JsonObject = {"taskPushNotificationConfig": {"url": "https://example.com/hook"}}
    params: JsonObject = {"message": message("tck-complete-task"), "configuration": configuration}
    for speaker in _speakers(bare):
        assert (await speaker.call("SendMessage", params)).refused == "PUSH_NOTIFICATION_NOT_SUPPORTED"


async def test_all_else_is_as_it_was(bare: Replicas) -> None:
    for speaker in _speakers(bare):
        task = await sent(speaker, "tck-artifact-text")
        assert (await speaker.call("GetTask", {"id": task["id"]})).value == task
