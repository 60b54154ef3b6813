"""Receivers that fail, hang, say no more or lead elsewhere: nothing is lost, nothing is told out of order."""

import asyncio
import gzip
from contextlib import aclosing

import pytest
from redis.asyncio import Redis
from starlette.responses import RedirectResponse, Response

from services.gateway.features.deliveries.dispatcher import WebhookHttp
from services.gateway.features.deliveries.news import Undelivered
from shared.domain.exact_json import Json, JsonObject
from shared.domain.outgoing import Reach, why_refused
from shared.infra.guard import Guard
from tests.integration.gateway_stage import PATIENCE, Stage, at, stage
from tests.integration.webhook_receiver import SOON, Receiver, Taken, receiving


async def _told(play: Stage, receiver: Receiver, task_id: str = "T1") -> None:
    message = {"parts": [{"text": "hello"}]}
    await play.rpc("tasks/send", {"id": task_id, "message": message, "pushNotification": {"url": receiver.url}})


async def _hook(play: Stage, task_id: str = "T1") -> JsonObject:
    found = (await play.client.get(f"/tasks/{task_id}/webhooks")).json()["webhooks"]
    assert len(found) == 1
    return dict(found[0])


async def until_hook(play: Stage, **wanted: Json) -> JsonObject:
    """The one webhook once it has these values: delivery goes on beside us, so it is asked for them, with a bound."""
    async with asyncio.timeout(PATIENCE):
        while not wanted.items() <= (hook := await _hook(play)).items():
            await asyncio.sleep(0.01)
    return hook


def _states(taken: list[Taken]) -> list[object]:
    return [at(one.json, "status.state") for one in taken]


@pytest.mark.promise("push.retried")
async def test_a_receiver_that_fails_gets_the_same_delivery_until_it_takes_it(redis: Redis, redis_url: str) -> None:
    """And only then the next one: one id and one body for all tries of one delivery, in the order of the task."""
    async with receiving(500, 503, 404) as receiver, stage(redis, redis_url, **SOON) as play:
        await _told(play, receiver)
        taken = await receiver.has(5)
        hook = await until_hook(play, state="active", delivered=2)
    assert _states(taken) == ["working"] * 4 + ["completed"]
    assert len({(one.delivery_id, one.body) for one in taken[:4]}) == 1
    assert taken[4].delivery_id != taken[3].delivery_id
    assert (hook["tries"], hook["error"]) == (0, None)


@pytest.mark.promise("push.retried")
async def test_a_receiver_that_hangs_is_left_in_time_and_tried_again(redis: Redis, redis_url: str) -> None:
    async def hangs(_: Taken) -> Response:
        await asyncio.sleep(PATIENCE)
        return Response()

    async with receiving(hangs) as receiver, stage(redis, redis_url, **{**SOON, "push_timeout": 0.2}) as play:
        await _told(play, receiver)
        taken = await receiver.has(3)
    assert _states(taken) == ["working", "working", "completed"]


@pytest.mark.promise("push.retried")
async def test_a_receiver_that_is_not_there_holds_up_nobody_else(redis: Redis, redis_url: str) -> None:
    """Webhooks of the same task go each their own way."""
    async with receiving() as receiver, stage(redis, redis_url, **SOON) as play:
        await play.send("T1", "ask")
        for url in ("http://127.0.0.1:9/", receiver.url):
            params = {"id": "T1", "pushNotificationConfig": {"url": url}}
            await play.rpc("tasks/pushNotification/set", params)
        await play.send("T1", "approve")
        taken = await receiver.until(lambda taken: "completed" in _states(taken))
        states = {hook["state"] for hook in (await play.client.get("/tasks/T1/webhooks")).json()["webhooks"]}
    assert _states(taken)[-1] == "completed"
    assert "active" in states


@pytest.mark.promise("push.disabled")
async def test_gone_means_gone(redis: Redis, redis_url: str) -> None:
    """410 disables a webhook at once; setting it again begins anew, with how the task stands."""
    async with receiving(410) as receiver, stage(redis, redis_url, **SOON) as play:
        await _told(play, receiver)
        hook = await until_hook(play, state="disabled")
        assert (hook["error"], hook["delivered"]) == ("it answered 410", 0)
        await play.rpc("tasks/pushNotification/set", {"id": "T1", "pushNotificationConfig": {"url": receiver.url}})
        taken = await receiver.has(2)
    assert _states(taken) == ["working", "completed"]


@pytest.mark.promise("push.disabled")
async def test_a_webhook_that_fails_too_often_is_disabled_and_seen_by_its_tenant(redis: Redis, redis_url: str) -> None:
    async with receiving(*[500] * 9) as receiver, stage(redis, redis_url, **SOON, push_tries=3) as play:
        await _told(play, receiver)
        hook = await until_hook(play, state="disabled")
        failing = (await play.client.get("/webhooks")).json()["failing"]
    assert len(receiver.taken) == hook["tries"] == 3
    shown = [(one["subject"], one["host"], one["disabled"], one["error"]) for one in failing]
    assert shown == [("T1", "127.0.0.1", True, "it answered 500")]


@pytest.mark.promise("push.guarded")
async def test_a_redirect_is_not_followed(redis: Redis, redis_url: str) -> None:
    """That it leads inside could not be known when the webhook was set."""

    async def elsewhere(one: Taken) -> Response:
        return RedirectResponse("http://169.254.169.254/secret", status_code=307)

    async with receiving(elsewhere, elsewhere) as receiver, stage(redis, redis_url, **SOON, push_tries=2) as play:
        await _told(play, receiver)
        hook = await until_hook(play, state="disabled")
    assert [one.path for one in receiver.taken] == ["/hook", "/hook"]
    assert hook["error"] == "it answered 307; redirects are not followed"


@pytest.mark.promise("push.guarded")
async def test_a_name_that_leads_inside_by_now_is_not_called() -> None:
    """It passed when it was set: its address is looked at once more for each call, and is what is connected to."""

    async def inside(_: str, __: int) -> list[str]:
        return ["10.0.0.1"]

    async with aclosing(WebhookHttp(Guard(Reach(public=True), inside), 5, 1)) as post:
        assert why_refused("https://hooks.example/a", Reach(public=True)) is None
        with pytest.raises(Undelivered, match="the URL"):
            await post.post("https://hooks.example/a", {}, b"{}")


@pytest.mark.promise("push.guarded")
async def test_in_production_this_machine_is_called_only_where_the_operator_says_so(
    redis: Redis, redis_url: str
) -> None:
    closed = {**SOON, "profile": "production", "authentication": "off", "allow_volatile_redis": True}
    async with receiving() as receiver:
        async with stage(redis, redis_url, **closed) as play:
            params = {"id": "T1", "message": {"parts": [{"text": "hello"}]}, "pushNotification": {"url": receiver.url}}
            refused = await play.rpc("tasks/send", params)
        async with stage(redis, redis_url, **closed, webhook_allowed_hosts="127.0.0.1") as play:
            await play.rpc("tasks/send", params)
            await receiver.has(2)
    assert at(refused, "error.code") == -32602
    assert "WEBHOOK_ALLOWED_HOSTS" in str(at(refused, "error.message"))


@pytest.mark.promise("push.walls")
async def test_what_a_receiver_answers_touches_no_other_delivery(redis: Redis, redis_url: str) -> None:
    """No cookie is kept, and nothing is unpacked."""

    async def answers(_: Taken) -> Response:
        packed = gzip.compress(b"0" * 10_000_000)
        return Response(packed, headers={"Content-Encoding": "gzip", "Set-Cookie": "who=acme; Path=/"})

    async with receiving(answers, answers) as receiver, stage(redis, redis_url, **SOON) as play:
        await _told(play, receiver)
        taken = await receiver.has(2)
    assert [one.headers.get("cookie") for one in taken] == [None, None]
    assert taken[0].headers["accept-encoding"] == "identity"
