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
    """A webhook to add. Empty lists mean everything; without a secret one is made."""

    url: Address
    name: str = Field(default="webhook", min_length=1, max_length=100)
    events: list[WebhookEventType] = []
    modalities: Names = []
    secret: str | None = Field(default=None, pattern=r"^whsec_[A-Za-z0-9+/]{32,88}={0,2}$")


class ChangeWebhook(NullableModel):
    """Changes of a webhook; fields that are left out stay as they are."""

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
    """A new webhook with the secret that signs its notices, which is shown only here."""

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
    body: NewWebhook, context: Annotated[RequestContext, require_permission("webhooks:create")]
) -> WebhookMade:
    surroundings = context.world.surroundings
    webhook = WebhookSubscription(
        webhook_id=surroundings.new_id(),
        name=body.name,
        url=body.url,
        secret=body.secret or _format_secret(surroundings.new_secret(64)),
        created_at=surroundings.now(),
        created_by=context.caller.key_id,
        kinds=tuple(body.events),
        modalities=tuple(body.modalities),
    )
    context.hosted.webhooks.add(webhook)
    return WebhookMade(**dict(WebhookInfo.from_webhook(webhook)), secret=webhook.secret)


@router.get("")
async def show_all(context: Annotated[RequestContext, require_permission("webhooks:list")]) -> WebhookList:
    page = [WebhookInfo.from_webhook(webhook) for webhook in context.hosted.webhooks]
    return WebhookList(webhooks=page, total=len(page))


@router.get("/{webhook_id}")
async def show(webhook_id: str, context: Annotated[RequestContext, require_permission("webhooks:read")]) -> WebhookInfo:
    return WebhookInfo.from_webhook(context.hosted.webhooks.get(webhook_id))


@router.put("/{webhook_id}")
@router.patch("/{webhook_id}")
async def change(
    webhook_id: str, body: ChangeWebhook, context: Annotated[RequestContext, require_permission("webhooks:update")]
) -> WebhookInfo:
    before = context.hosted.webhooks.get(webhook_id)
    changed = replace(
        before,
        url=body.url or before.url,
        name=body.name or before.name,
        kinds=before.kinds if body.events is None else tuple(body.events),
        modalities=before.modalities if body.modalities is None else tuple(body.modalities),
    )
    context.hosted.webhooks.put(changed)
    return WebhookInfo.from_webhook(changed)


@router.delete("/{webhook_id}")
async def remove(
    webhook_id: str, context: Annotated[RequestContext, require_permission("webhooks:delete")]
) -> WebhookRemoved:
    return WebhookRemoved(webhook_id=context.hosted.webhooks.remove(webhook_id).webhook_id, deleted=True)


@router.post("/{webhook_id}/test")
async def test(
    webhook_id: str, context: Annotated[RequestContext, require_permission("webhooks:test")]
) -> WebhookTested:
    """Sends a test notice to the webhook; the list of deliveries tells how that went."""
    webhook = context.hosted.webhooks.get(webhook_id)
    sent = context.hosted.send_notice(
        webhook, WebhookEventType.TEST, {"type": WebhookEventType.TEST.value, "world_id": context.hosted.world_id}
    )
    return WebhookTested(webhook_id=webhook_id, delivery_id=sent, message="A test is on its way")


@router.get("/{webhook_id}/deliveries")
async def deliveries(
    webhook_id: str,
    context: Annotated[RequestContext, require_permission("webhooks:deliveries")],
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> DeliveryList:
    deliveries_found = context.hosted.webhooks.deliveries(webhook_id)
    page = [DeliveryInfo.from_delivery(delivery) for delivery in deliveries_found[:limit]]
    return DeliveryList(webhook_id=webhook_id, deliveries=page, total=len(deliveries_found))


@router.post("/{webhook_id}/pause")
async def pause(
    webhook_id: str, context: Annotated[RequestContext, require_permission("webhooks:pause")]
) -> WebhookInfo:
    return WebhookInfo.from_webhook(context.hosted.webhooks.set_paused(webhook_id, True))


@router.post("/{webhook_id}/resume")
async def resume(
    webhook_id: str, context: Annotated[RequestContext, require_permission("webhooks:resume")]
) -> WebhookInfo:
    return WebhookInfo.from_webhook(context.hosted.webhooks.set_paused(webhook_id, False))


def _format_secret(hexadecimal: str) -> str:
    return f"whsec_{base64.b64encode(bytes.fromhex(hexadecimal)).decode()}"
