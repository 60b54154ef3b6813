"""Notices on their way to webhooks, beside the requests that caused them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from services.simulator.core.hosted_world import HostedWorld, WorldRegistry
from services.simulator.core.webhooks import WebhookDelivery, WebhookNotice
from services.simulator.ports.sending import Sender, SendResult

_CARRIERS = 8
_MOST_WAITING = 10_000
_PAUSES = (1.0, 5.0)  # seconds before the second and the third attempt
_TO_BE_TRIED_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_log = structlog.get_logger()


@asynccontextmanager
async def deliver_notices(
    registry: WorldRegistry, sender: Sender, pauses: tuple[float, ...] = _PAUSES
) -> AsyncIterator[None]:
    """Deliver every notice from here to the end of the context; what waits then is dropped."""
    waiting: asyncio.Queue[tuple[HostedWorld, WebhookNotice]] = asyncio.Queue(_MOST_WAITING)

    def announce(hosted: HostedWorld, notice: WebhookNotice) -> None:
        try:
            waiting.put_nowait((hosted, notice))
        except asyncio.QueueFull:
            _record_delivery(hosted, notice, 0, SendResult(None, "too many notices wait"))

    registry.announce = announce
    async with asyncio.TaskGroup() as group:
        carriers = [group.create_task(_deliver_all(waiting, sender, pauses)) for _ in range(_CARRIERS)]
        try:
            yield
        finally:
            for carrier in carriers:
                carrier.cancel()


async def _deliver_all(
    waiting: asyncio.Queue[tuple[HostedWorld, WebhookNotice]], sender: Sender, pauses: tuple[float, ...]
) -> None:
    while True:
        hosted, notice = await waiting.get()
        await _deliver(hosted, notice, sender, pauses)


async def _deliver(hosted: HostedWorld, notice: WebhookNotice, sender: Sender, pauses: tuple[float, ...]) -> None:
    body = json.dumps(notice.body, ensure_ascii=False)
    for attempt, pause in enumerate((*pauses, None), 1):
        sent = await sender.send(notice.webhook.url, notice.webhook.secret, notice.notice_id, body)
        if pause is None or not _may_be_tried_again(sent):
            return _record_delivery(hosted, notice, attempt, sent)
        await asyncio.sleep(pause)
    return None


def _may_be_tried_again(sent: SendResult) -> bool:
    return not sent.is_final and (sent.status_code is None or sent.status_code in _TO_BE_TRIED_AGAIN)


def _record_delivery(hosted: HostedWorld, notice: WebhookNotice, attempts: int, sent: SendResult) -> None:
    now = hosted.world.surroundings.now()
    delivery = WebhookDelivery(
        notice.notice_id, notice.webhook.webhook_id, notice.kind, now, attempts, sent.status_code, sent.error
    )
    hosted.webhooks.record(delivery)
    if not delivery.succeeded:
        _log.warning("world_webhook_not_delivered", webhook=notice.webhook.webhook_id, status=sent.status_code)
