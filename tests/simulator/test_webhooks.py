"""``/webhooks``, and what is sent to them."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import cast

import pytest
from standardwebhooks import Webhook
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.simulator.adapters.webhook_sender import open_http_sender
from services.simulator.core.records import JsonObject
from services.simulator.entrypoints.notice_delivery import deliver_notices
from services.simulator.ports.sending import SendResult
from shared.domain.outgoing import addresses_for_webhooks
from tests.doubles.simulated_surroundings import NotingSender
from tests.serving import serving
from tests.simulator.stage import Stage
from tests.simulator.writing import later, schedule

pytestmark = pytest.mark.promise("simulator.webhooks")
URL = "https://example.org/hook"


async def _made(stage: Stage, **more: object) -> JsonObject:
    return await stage.post("/webhooks", {"url": URL, **more}, expect=201)


async def _deliveries(stage: Stage, webhook: JsonObject, count: int = 1) -> list[JsonObject]:
    """So many of them, once there are."""
    async with asyncio.timeout(10):
        while True:
            answer = await stage.get(f"/webhooks/{webhook['webhook_id']}/deliveries")
            if cast(int, answer["total"]) >= count:
                return cast(list[JsonObject], answer["deliveries"])
            await asyncio.sleep(0)  # calls inside one process let nobody else run


@pytest.fixture
async def sender(running: Stage) -> AsyncIterator[NotingSender]:
    """One that takes everything."""
    noting = NotingSender()
    async with deliver_notices(running.rooms, noting):
        yield noting


async def test_a_webhook_is_made_shown_changed_and_removed(stage: Stage) -> None:
    """Its secret is shown once."""
    made = await _made(stage, name="mine", events=["event.failed"])
    path = f"/webhooks/{made['webhook_id']}"

    changed = (await stage.call("PUT", path, {"name": "yours"})).json()
    paused = await stage.post(f"{path}/pause")

    assert str(made.pop("secret")).startswith("whsec_")
    assert made["created_by"] == "ues_admin"
    assert changed == {**made, "name": "yours"}
    assert paused == {**changed, "is_paused": True} == await stage.get(path)
    assert (await stage.get("/webhooks"))["total"] == 1
    assert (await stage.post(f"{path}/resume"))["is_paused"] is False
    await stage.delete(path)
    await stage.get(path, expect=404)
    await stage.delete(path, expect=404)


async def test_each_event_that_ran_is_told(running: Stage, sender: NotingSender) -> None:
    webhook = await _made(running)
    event_id = await schedule(running, 10)

    await running.post("/simulator/time/advance", {"seconds": 60})

    (delivery,) = await _deliveries(running, webhook)
    (attempt,) = sender.attempts
    told = json.loads(attempt.body)
    assert (attempt.url, attempt.secret, attempt.notice_id) == (URL, webhook["secret"], delivery["delivery_id"])
    assert (told["type"], told["world_id"], told["event"]["event_id"]) == ("event.executed", "default", event_id)
    assert (delivery["success"], delivery["status_code"], delivery["attempts"]) == (True, 200, 1)


async def test_a_webhook_is_told_what_it_asked_for(running: Stage, sender: NotingSender) -> None:
    failed = await _made(running, events=["event.failed"])
    await _made(running, modalities=["email"])
    paused = await _made(running)
    await running.post(f"/webhooks/{paused['webhook_id']}/pause")
    await running.post("/events", {**later(10, "x"), "data": {"operation": "throw", "note_id": "none"}})
    await schedule(running, 20)

    await running.post("/simulator/time/advance", {"seconds": 60})

    await _deliveries(running, failed)
    assert [json.loads(attempt.body)["type"] for attempt in sender.attempts] == ["event.failed"]


@pytest.mark.parametrize(
    ("answers", "attempts", "success"),
    [
        ([SendResult(503), SendResult(None, "ConnectError"), SendResult(204)], 3, True),
        ([SendResult(500)], 3, False),
        ([SendResult(404)], 1, False),
        ([SendResult(None, "not allowed", is_final=True)], 1, False),
    ],
)
async def test_a_receiver_that_is_away_is_tried_again(
    running: Stage, answers: list[SendResult], attempts: int, success: bool
) -> None:
    """With the same id; one that refuses is not."""
    sender = NotingSender(answers)
    async with deliver_notices(running.rooms, sender, pauses=(0, 0)):
        webhook = await _made(running)
        await running.post(f"/webhooks/{webhook['webhook_id']}/test")
        (delivery,) = await _deliveries(running, webhook)

    assert (delivery["attempts"], delivery["success"]) == (attempts, success)
    assert len(sender.attempts) == attempts
    assert len({attempt.notice_id for attempt in sender.attempts}) == 1


async def test_what_is_sent_can_be_verified_by_its_receiver() -> None:
    """As Standard Webhooks say, and with their library."""
    secret, got = "whsec_" + "A" * 32, []

    async def receive(request: Request) -> Response:
        got.append((await request.body(), dict(request.headers)))
        return Response(status_code=204)

    app, reach = (
        Starlette(routes=[Route("/hook", receive, methods=["POST"])]),
        addresses_for_webhooks((), permits_loopback=True),
    )
    async with serving(app) as url, open_http_sender(reach) as sender:
        sent = await sender.send(f"{url}/hook", secret, "id-1", '{"type": "webhook.test"}')

    ((body, headers),) = got
    assert sent == SendResult(204)
    assert Webhook(secret).verify(body, headers) == {"type": "webhook.test"}


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/hook", "http://169.254.169.254/latest", "http://nowhere.invalid"])
async def test_a_webhook_does_not_reach_into_the_network_it_stands_in(url: str) -> None:
    async with open_http_sender(addresses_for_webhooks((), permits_loopback=False)) as sender:
        sent = await sender.send(url, "whsec_" + "A" * 32, "id-1", "{}")

    assert (sent.status_code, bool(sent.error), sent.is_final) == (None, True, True)
