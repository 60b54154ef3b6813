"""Webhooks of tasks: who may set them, what is refused, and what a real receiver is told in each dialect."""

from collections.abc import Sequence

import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import ParseDict
from pydantic import JsonValue
from redis.asyncio import Redis

from services.gateway.features.webhooks.settings import parse_master_secrets
from services.gateway.first_key import create_first_key
from shared.domain.exact_json import JsonObject
from tests.http_client import rpc_body
from tests.integration.gateway_stage import Stage, at, list_at, locked_stage, stage
from tests.integration.webhook_receiver import SECRET, SOON, Taken, receiving

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
        authentication: JsonObject = {"scheme": "Bearer", "credentials": "abc"}
        webhook: JsonObject = {"url": receiver.url, "token": "t0k", "authentication": authentication}
        sent = await play.rpc("SendMessage", _send("hello", webhook), "1.0")
        taken = await receiver.until(_whole)
    kinds = [next(iter(one.json)) for one in taken]
    assert kinds == ["statusUpdate", "artifactUpdate", "statusUpdate", "task"]
    assert at(taken[-1].json, "task.id") == at(sent, "result.task.id")
    assert at(taken[-1].json, "task.status.state") == "TASK_STATE_COMPLETED"
    assert at(taken[1].json, "artifactUpdate.artifact.parts.0.text") == "done: hello"
    for one in taken:
        ParseDict(one.json, pb.StreamResponse())  # raises for what the official client could not read
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


URL = "https://hooks.example/a"
AUTHENTICATION: JsonObject = {"schemes": ["Bearer"], "credentials": "s3cret"}
CONFIG: JsonObject = {"url": URL, "token": "t0k", "authentication": AUTHENTICATION}
SECRETS = ("t0k", "s3cret")


async def _task(play: Stage) -> str:
    """A task that waits: nothing is told, since its webhooks come after that."""
    await play.send("T1", "ask")
    return "T1"


@pytest.mark.promise("push.secrets")
async def test_secrets_are_neither_shown_again_nor_readable_in_the_store(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, **SOON) as play:
        params = {"taskId": await _task(play), "pushNotificationConfig": CONFIG}
        await play.rpc("tasks/pushNotificationConfig/set", params)
        shown = [
            await play.rpc("tasks/pushNotificationConfig/list", {"id": "T1"}),
            await play.rpc("ListTaskPushNotificationConfigs", {"taskId": "T1"}, "1.0"),
            await play.rpc("tasks/pushNotification/get", {"id": "T1"}),
        ]
        names = [name async for name in redis.scan_iter("*:push")]
        stored = str(await redis.hgetall(names[0]))  # type: ignore[misc]  # redis-py
    assert not any(secret in f"{shown}{stored}" for secret in SECRETS)
    assert URL not in stored


@pytest.mark.promise("push.walls")
async def test_only_who_may_see_a_task_has_to_do_with_its_webhooks(redis: Redis, redis_url: str) -> None:
    """Neither another principal nor another tenant; and an approver, who may look, has a task told nowhere."""
    foreign = (await create_first_key(redis_url, "other", "oscar", allows_another=False)).token
    async with locked_stage(redis, redis_url, **SOON) as locked:
        casey, dana = await locked.key("casey"), await locked.key("dana", roles=["approver"])
        others = [await locked.key("eve"), foreign]
        task: JsonObject = {"id": "T1", "message": {"parts": [{"text": "ask"}]}}
        await locked.post("/", rpc_body("tasks/send", task), casey)
        setting = rpc_body("tasks/pushNotificationConfig/set", {"taskId": "T1", "pushNotificationConfig": CONFIG})
        listing = rpc_body("tasks/pushNotificationConfig/list", {"id": "T1"})
        theirs = [await locked.post("/", call, who) for who in others for call in (setting, listing)]
        refused = (await locked.post("/", setting, dana))[1]
        deciding = {"id": "T1", "message": {"parts": [{"text": "approve"}]}, "pushNotification": {"url": URL}}
        decided = (await locked.post("/", rpc_body("tasks/send", deciding), dana))[1]
        own = (await locked.post("/", setting, casey))[1]
        seen = (await locked.post("/", listing, dana))[1]
    assert {at(said, "error.code") for said in (refused, *(one for _, one in theirs))} == {-32001}
    assert "only who began" in str(at(decided, "error.message"))
    assert at(own, "result.taskId") == "T1"
    assert len(list_at(seen, "result")) == 1


@pytest.mark.promise("push.capped")
async def test_a_task_has_only_so_many_webhooks(redis: Redis, redis_url: str) -> None:
    """One that is there may be set again."""
    async with stage(redis, redis_url, **SOON, webhooks_per_task=2) as play:
        task_id = await _task(play)
        answers = []
        for name in ("a", "b", "c", "a"):
            params = {"taskId": task_id, "id": name, "url": f"{URL}/{name}"}
            answers.append(await play.rpc("CreateTaskPushNotificationConfig", params, "1.0"))
    assert ["result" in answer for answer in answers] == [True, True, False, True]
    assert (at(answers[2], "error.code"), "at most 2" in str(at(answers[2], "error.message"))) == (-32602, True)


@pytest.mark.promise("push.headers")
@pytest.mark.parametrize(
    ("change", "field"),
    [({"token": "a\r\nX-Evil: 1"}, "token"), ({"url": "http://169.254.169.254/"}, "pushNotificationConfig.url")],
)
async def test_a_message_whose_webhook_cannot_be_had_is_refused_with_it(
    redis: Redis, redis_url: str, change: dict[str, JsonValue], field: str
) -> None:
    async with stage(redis, redis_url, **SOON) as play:
        params = {"id": "T1", "message": {"parts": [{"text": "ask"}]}, "pushNotification": {"url": URL, **change}}
        answer = await play.rpc("tasks/send", params)
    assert at(answer, "error.code") == -32602
    assert field in str(at(answer, "error.message"))
    assert play.worker.works == []


@pytest.mark.promise("push.off")
@pytest.mark.parametrize("settings", [{}, {**SOON, "a2a_push": "off"}])
async def test_the_card_says_where_none_is_offered(redis: Redis, redis_url: str, settings: dict[str, object]) -> None:
    async with stage(redis, redis_url, **settings) as play:
        params = {"taskId": await _task(play), "url": URL}
        answer = await play.rpc("CreateTaskPushNotificationConfig", params, "1.0")
        message = {"parts": [{"text": "hello"}]}
        sent = await play.rpc("tasks/send", {"id": "T2", "message": message, "pushNotification": {"url": URL}})
        card = (await play.client.get("/.well-known/agent-card.json")).json()
    assert at(answer, "error.code") == at(sent, "error.code") == -32003
    assert card["capabilities"].get("pushNotifications", False) is False


@pytest.mark.promise("push.signed")
async def test_an_operator_is_told_the_secret_of_the_own_tenant_and_nobody_else(redis: Redis, redis_url: str) -> None:
    async with locked_stage(redis, redis_url, **SOON) as locked:
        told = await locked.post("/webhooks/secret", {})
        refused, _ = await locked.post("/webhooks/secret", {}, await locked.key("casey"))
    assert told == (200, {"tenant": "acme", "secrets": [*parse_master_secrets(SECRET).derive_secrets("acme")]})
    assert refused == 403
