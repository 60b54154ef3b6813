"""Webhooks of a world: which subscriber is notified of which events, and how each delivery went."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from services.simulator.core.events import EventStatus, WorldEvent
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import Conflict, Missing
from services.simulator.core.written_events import event_as_json

MOST_WEBHOOKS = 100
KEPT_DELIVERIES = 1000


class WebhookEventType(StrEnum):
    EXECUTED = "event.executed"
    FAILED = "event.failed"
    TEST = "webhook.test"


@dataclass(frozen=True, slots=True)
class WebhookSubscription:
    """A subscription to events. Empty ``kinds`` or ``modalities`` mean all of them."""

    webhook_id: str
    name: str
    url: str
    secret: str
    created_at: datetime
    created_by: str | None
    kinds: tuple[WebhookEventType, ...] = ()
    modalities: tuple[str, ...] = ()
    is_paused: bool = False

    def wants(self, kind: WebhookEventType, modality: str) -> bool:
        return (
            not self.is_paused
            and (not self.kinds or kind in self.kinds)
            and (not self.modalities or modality in self.modalities)
        )


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """One delivery of a notice. ``status_code`` is the receiver's answer, ``error`` why there was none."""

    delivery_id: str
    webhook_id: str
    kind: WebhookEventType
    attempted_at: datetime
    attempts: int
    status_code: int | None
    error: str | None

    @property
    def succeeded(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300


class WebhookNotice(NamedTuple):
    """A notice for one webhook. ``notice_id`` is the same in every attempt."""

    notice_id: str
    webhook: WebhookSubscription
    kind: WebhookEventType
    body: JsonObject


class WebhookRegistry:
    def __init__(self) -> None:
        self._webhooks: dict[str, WebhookSubscription] = {}
        self._deliveries: deque[WebhookDelivery] = deque(maxlen=KEPT_DELIVERIES)

    def __iter__(self) -> Iterator[WebhookSubscription]:
        return iter(self._webhooks.values())

    def __len__(self) -> int:
        return len(self._webhooks)

    def add(self, webhook: WebhookSubscription) -> None:
        """Adds a subscription. Raises ``Conflict`` if there are too many."""
        if len(self._webhooks) >= MOST_WEBHOOKS:
            raise Conflict(f"There are {MOST_WEBHOOKS} webhooks already")
        self._webhooks[webhook.webhook_id] = webhook

    def get(self, webhook_id: str) -> WebhookSubscription:
        """The subscription of that id. Raises ``Missing``."""
        if webhook_id not in self._webhooks:
            raise Missing(f"Webhook '{webhook_id}' not found")
        return self._webhooks[webhook_id]

    def put(self, webhook: WebhookSubscription) -> None:
        self._webhooks[webhook.webhook_id] = webhook

    def set_paused(self, webhook_id: str, paused: bool) -> WebhookSubscription:
        """Pauses or resumes a subscription. Raises ``Missing``."""
        changed = replace(self.get(webhook_id), is_paused=paused)
        self.put(changed)
        return changed

    def remove(self, webhook_id: str) -> WebhookSubscription:
        """Removes a subscription. Raises ``Missing``."""
        webhook = self.get(webhook_id)
        del self._webhooks[webhook_id]
        return webhook

    def subscriptions_to(self, event: WorldEvent) -> list[tuple[WebhookSubscription, WebhookEventType]]:
        """The subscriptions to be notified of the event's present status, with the kind of notice."""
        kind = WebhookEventType.EXECUTED if event.status is EventStatus.EXECUTED else WebhookEventType.FAILED
        return [(webhook, kind) for webhook in self if webhook.wants(kind, event.modality)]

    def record(self, delivery: WebhookDelivery) -> None:
        self._deliveries.append(delivery)

    def deliveries(self, webhook_id: str) -> list[WebhookDelivery]:
        """The deliveries of a subscription, the newest first; raises ``Missing``."""
        self.get(webhook_id)
        return [delivery for delivery in reversed(self._deliveries) if delivery.webhook_id == webhook_id]


def notice_body(kind: WebhookEventType, world_id: str, event: WorldEvent) -> JsonObject:
    """A notice's JSON: its kind, the world's id and the whole event."""
    return {"type": kind.value, "world_id": world_id, "event": event_as_json(event)}
