"""``/webhooks``: who is told of what happens in a world."""

import base64
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Query, status
from pydantic import BaseModel, Field

from services.simulator.core.webhooks import WebhookDelivery, WebhookEventType, WebhookSubscription
from services.simulator.entrypoints.request_context import RequestContext, require_permission
from shared.contracts.base import NullableModel

router = APIRouter(prefix="/webhooks", tags=["webhooks"])
Address = Annotated[str, Field(pattern=r"^https?://[^\s]+$", max_length=2048)]
Names = Annotated[list[str], Field(max_length=50)]


class NewWebhook(NullableModel):
    """Empty lists mean: everything. Without a secret one is made."""

    url: Address
    name: str = Field(default="webhook", min_length=1, max_length=100)
    events: list[WebhookEventType] = []
    modalities: Names = []
    secret: str | None = Field(default=None, pattern=r"^whsec_[A-Za-z0-9+/]{32,88}={0,2}$")


class ChangeWebhook(NullableModel):
    """What is not named stays."""

    url: Address | None = None
    name: str | None = Field(default=None, min_length=1, max_length=100)
    events: list[WebhookEventType] | None = None
    modalities: Names | None = None


class WebhookInfo(BaseModel):
    webhook_id: str
    url: str
    name: str
    events: list[str]
    modalities: list[str]
    is_paused: bool
    created_at: datetime
    created_by: str | None

    @classmethod
    def from_webhook(cls, webhook: WebhookSubscription) -> Self:
        return cls(
            webhook_id=webhook.webhook_id,
            url=webhook.url,
            name=webhook.name,
            events=list(webhook.kinds),
            modalities=list(webhook.modalities),
            is_paused=webhook.is_paused,
            created_at=webhook.created_at,
            created_by=webhook.created_by,
        )


class WebhookMade(WebhookInfo):
    """The secret with which notices are signed is shown here and nowhere else."""

    secret: str


class WebhookList(BaseModel):
    webhooks: list[WebhookInfo]
    total: int


class WebhookRemoved(BaseModel):
    webhook_id: str
    deleted: bool


class WebhookTested(BaseModel):
    webhook_id: str
    delivery_id: str
    message: str


class DeliveryInfo(BaseModel):
    delivery_id: str
    event_type: str
    attempted_at: datetime
    attempts: int
    success: bool
    status_code: int | None
    error: str | None

    @classmethod
    def from_delivery(cls, delivery: WebhookDelivery) -> Self:
        return cls(
            delivery_id=delivery.delivery_id,
            event_type=delivery.kind,
            attempted_at=delivery.attempted_at,
            attempts=delivery.attempts,
            success=delivery.succeeded,
            status_code=delivery.status_code,
            error=delivery.error,
        )


class DeliveryList(BaseModel):
    webhook_id: str
    deliveries: list[DeliveryInfo]
    total: int


@router.post("", status_code=status.HTTP_201_CREATED)
async def make(
    body: NewWebhook, place: Annotated[RequestContext, require_permission("webhooks:create")]
) -> WebhookMade:
    surroundings = place.world.surroundings
    webhook = WebhookSubscription(
        webhook_id=surroundings.new_id(),
        name=body.name,
        url=body.url,
        secret=body.secret or _format_secret(surroundings.new_secret(64)),
        created_at=surroundings.now(),
        created_by=place.caller.key_id,
        kinds=tuple(body.events),
        modalities=tuple(body.modalities),
    )
    place.hosted.webhooks.add(webhook)
    return WebhookMade(**dict(WebhookInfo.from_webhook(webhook)), secret=webhook.secret)


@router.get("")
async def show_all(place: Annotated[RequestContext, require_permission("webhooks:list")]) -> WebhookList:
    shown = [WebhookInfo.from_webhook(webhook) for webhook in place.hosted.webhooks]
    return WebhookList(webhooks=shown, total=len(shown))


@router.get("/{webhook_id}")
async def show(webhook_id: str, place: Annotated[RequestContext, require_permission("webhooks:read")]) -> WebhookInfo:
    return WebhookInfo.from_webhook(place.hosted.webhooks.get(webhook_id))


@router.put("/{webhook_id}")
@router.patch("/{webhook_id}")
async def change(
    webhook_id: str, body: ChangeWebhook, place: Annotated[RequestContext, require_permission("webhooks:update")]
) -> WebhookInfo:
    before = place.hosted.webhooks.get(webhook_id)
    changed = replace(
        before,
        url=body.url or before.url,
        name=body.name or before.name,
        kinds=before.kinds if body.events is None else tuple(body.events),
        modalities=before.modalities if body.modalities is None else tuple(body.modalities),
    )
    place.hosted.webhooks.put(changed)
    return WebhookInfo.from_webhook(changed)


@router.delete("/{webhook_id}")
async def remove(
    webhook_id: str, place: Annotated[RequestContext, require_permission("webhooks:delete")]
) -> WebhookRemoved:
    return WebhookRemoved(webhook_id=place.hosted.webhooks.remove(webhook_id).webhook_id, deleted=True)


@router.post("/{webhook_id}/test")
async def test(webhook_id: str, place: Annotated[RequestContext, require_permission("webhooks:test")]) -> WebhookTested:
    """A notice of its own kind goes out; how it went stands among the deliveries."""
    webhook = place.hosted.webhooks.get(webhook_id)
    sent = place.hosted.send_notice(
        webhook, WebhookEventType.TEST, {"type": WebhookEventType.TEST.value, "world_id": place.hosted.world_id}
    )
    return WebhookTested(webhook_id=webhook_id, delivery_id=sent, message="A test is on its way")


@router.get("/{webhook_id}/deliveries")
async def deliveries(
    webhook_id: str,
    place: Annotated[RequestContext, require_permission("webhooks:deliveries")],
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> DeliveryList:
    found = place.hosted.webhooks.deliveries(webhook_id)
    shown = [DeliveryInfo.from_delivery(delivery) for delivery in found[:limit]]
    return DeliveryList(webhook_id=webhook_id, deliveries=shown, total=len(found))


@router.post("/{webhook_id}/pause")
async def pause(webhook_id: str, place: Annotated[RequestContext, require_permission("webhooks:pause")]) -> WebhookInfo:
    return WebhookInfo.from_webhook(place.hosted.webhooks.set_paused(webhook_id, True))


@router.post("/{webhook_id}/resume")
async def resume(
    webhook_id: str, place: Annotated[RequestContext, require_permission("webhooks:resume")]
) -> WebhookInfo:
    return WebhookInfo.from_webhook(place.hosted.webhooks.set_paused(webhook_id, False))


def _format_secret(hexadecimal: str) -> str:
    return f"whsec_{base64.b64encode(bytes.fromhex(hexadecimal)).decode()}"
