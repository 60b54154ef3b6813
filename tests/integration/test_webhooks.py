"""Webhooks of tasks, from a real gateway over a real store to a real receiver: what is told, in each dialect."""

from collections.abc import Sequence

import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import ParseDict
from redis.asyncio import Redis

from shared.domain.exact_json import JsonObject
from tests.http_client import open_http
from tests.integration.gateway_stage import at, stage
from tests.integration.webhook_receiver import SOON, Taken, receiving

TOKEN = "x-a2a-notification-token"


def _send(text: str, webhook: JsonObject, **more: str) -> JsonObject:
    message: JsonObject = {"messageId": f"m-{text}", "role": "ROLE_USER", "parts": [{"text": text}], **more}
    return {"message": message, "configuration": {"taskPushNotificationConfig": webhook}}


def _send_0_3(text: str, webhook: JsonObject) -> JsonObject:
    message: JsonObject = {"messageId": f"m-{text}", "role": "user", "parts": [{"kind": "text", "text": text}]}
    return {"message": message, "configuration": {"blocking": True, "pushNotificationConfig": webhook}}


def _whole(taken: list[Taken]) -> bool:
    return any("task" in one.json for one in taken)


def _states(taken: Sequence[Taken]) -> list[object]:
    """Of whole tasks as older receivers get them, and of 1.0's status updates."""
    found = [one.json.get("statusUpdate", one.json) for one in taken]
    return [at(one, "status.state") for one in found if isinstance(one, dict) and "status" in one]


@pytest.mark.promise("push.delivered")
async def test_a_task_of_1_0_is_told_from_its_start_to_its_end(redis: Redis, redis_url: str) -> None:
    """Each change of state, the results, the end's state, and the whole task last; signed, with the client's token."""
    async with receiving() as receiver, stage(redis, redis_url, **SOON) as play:
        webhook: JsonObject = {
            "url": receiver.url,
            "token": "t0k",
            "authentication": {"scheme": "Bearer", "credentials": "abc"},
        }
        sent = await play.rpc("SendMessage", _send("hello", webhook), "1.0")
        taken = await receiver.until(_whole)
    kinds = [next(iter(one.json)) for one in taken]
    assert kinds == ["statusUpdate", "artifactUpdate", "statusUpdate", "task"]
    assert at(taken[-1].json, "task.id") == at(sent, "result.task.id")
    assert at(taken[-1].json, "task.status.state") == "TASK_STATE_COMPLETED"
    assert at(taken[1].json, "artifactUpdate.artifact.parts.0.text") == "done: hello"
    for one in taken:
        one.verify()
        assert (one.headers[TOKEN], one.headers["authorization"]) == ("t0k", "Bearer abc")
    assert len({one.delivery_id for one in taken}) == len(taken)


@pytest.mark.promise("push.delivered")
async def test_a_receiver_of_0_3_gets_the_task(redis: Redis, redis_url: str) -> None:
    async with receiving() as receiver, stage(redis, redis_url, **SOON) as play:
        sent = await play.rpc("message/send", _send_0_3("hello", {"url": receiver.url, "token": "t0k"}))
        taken = await receiver.until(lambda taken: "completed" in _states(taken))
    assert _states(taken) == ["working", "completed"]
    assert (taken[-1].json["kind"], taken[-1].json["id"]) == ("task", at(sent, "result.id"))
    assert at(taken[-1].json, "artifacts.0.parts.0.text") == "done: hello"
    assert "artifacts" not in taken[0].json
    assert {one.headers[TOKEN] for one in taken} == {"t0k"}


@pytest.mark.promise("push.delivered")
async def test_an_early_receiver_gets_the_task_by_its_clients_own_id(redis: Redis, redis_url: str) -> None:
    """Also of a second task of that id, which the gateway knows by another."""
    async with receiving() as receiver, stage(redis, redis_url, **SOON) as play:
        for text in ("one", "two"):
            params = {"id": "T1", "message": {"parts": [{"text": text}]}, "pushNotification": {"url": receiver.url}}
            await play.rpc("tasks/send", params)
        taken = await receiver.until(lambda taken: _states(taken).count("completed") == 2)
    assert {one.json["id"] for one in taken} == {"T1"}
    said = [at(one.json, "artifacts.0.parts.0") for one in taken if "completed" in _states([one])]
    assert sorted(said, key=str) == [{"type": "text", "text": f"done: {text}"} for text in ("one", "two")]


@pytest.mark.promise("push.delivered")
async def test_a_task_that_waits_for_a_person_says_so_and_then_how_it_went_on(redis: Redis, redis_url: str) -> None:
    async with receiving() as receiver, stage(redis, redis_url, **SOON) as play:
        asked = await play.rpc("SendMessage", _send("ask", {"url": receiver.url}), "1.0")
        await receiver.until(lambda taken: "TASK_STATE_INPUT_REQUIRED" in _states(taken))
        task_id = str(at(asked, "result.task.id"))
        await play.rpc("SendMessage", _send("approve", {"url": receiver.url}, taskId=task_id), "1.0")
        taken = await receiver.until(_whole)
    states = [state for state in _states(taken) if state != "TASK_STATE_WORKING"]
    assert states == ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"]


async def test_a_message_sent_again_has_nothing_told_twice(redis: Redis, redis_url: str) -> None:
    async with receiving() as receiver, stage(redis, redis_url, **SOON) as play:
        for _ in range(3):
            await play.rpc("SendMessage", _send("hello", {"url": receiver.url}), "1.0")
        await receiver.until(_whole)
        await play.rpc("SendMessage", _send("other", {"url": receiver.url}), "1.0")
        taken = await receiver.until(lambda taken: len([one for one in taken if "task" in one.json]) == 2)
    assert len({one.delivery_id for one in taken}) == len(taken) == 8


@pytest.mark.promise("push.delivered")
async def test_a_webhook_that_comes_after_the_end_is_told_of_the_end(redis: Redis, redis_url: str) -> None:
    """Whoever sets one cannot know that the task has just ended."""
    async with receiving() as receiver, stage(redis, redis_url, **SOON) as play:
        await play.send("T1", "hello")
        params = {"id": "T1", "pushNotificationConfig": {"url": receiver.url}}
        await play.rpc("tasks/pushNotification/set", params)
        taken = await receiver.has(1)
    assert _states(taken) == ["completed"]


@pytest.mark.promise("push.delivered")
async def test_the_official_client_sets_a_webhook_and_is_told(redis: Redis, redis_url: str) -> None:
    async with (
        receiving() as receiver,
        stage(redis, redis_url, **SOON) as play,
        open_http(timeout=20, trust_env=False) as http,
    ):
        card = await A2ACardResolver(http, play.url).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=False, polling=True)).create(card)
        message = pb.Message(message_id="m1", role=pb.Role.ROLE_USER, parts=[pb.Part(text="hold it")])
        replies = [reply async for reply in client.send_message(pb.SendMessageRequest(message=message))]
        wanted = pb.TaskPushNotificationConfig(task_id=replies[-1].task.id, url=receiver.url, token="t0k")
        made = await client.create_task_push_notification_config(wanted)
        ask = pb.ListTaskPushNotificationConfigsRequest(task_id=wanted.task_id)
        listed = await client.list_task_push_notification_configs(ask)
        play.worker.release.set()
        taken = await receiver.until(_whole)
    assert card.capabilities.push_notifications
    assert [(one.id, one.url, one.token) for one in listed.configs] == [(made.id, receiver.url, "")]
    told = ParseDict(taken[-1].json, pb.StreamResponse())
    assert told.task.status.state == pb.TaskState.TASK_STATE_COMPLETED
