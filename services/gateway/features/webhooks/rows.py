"""The form of webhooks and notices in Redis: encrypted, with their progress; and the list of those that fail."""

from collections.abc import Sequence
from typing import NamedTuple, cast

from services.gateway.features.webhooks.model import DeliveryProgress, FailingDelivery
from shared.infra import keys
from shared.infra.lua import Scripts


class DeliveryRow(NamedTuple):
    """A stored webhook or notice: its progress, and its encrypted content."""

    progress: DeliveryProgress
    sealed: str


_FIELDS_BEFORE_JSON = {"cursor", "disabled"}  # scripts read these, so they stand before the JSON


def parse_row(text: str) -> DeliveryRow:
    flag, cursor, progress_json, sealed = text.split("\n", 3)
    progress = DeliveryProgress.model_validate_json(progress_json)
    return DeliveryRow(progress.model_copy(update={"cursor": cursor, "disabled": flag != "on"}), sealed)


def pack_progress(progress: DeliveryProgress) -> str:
    return progress.model_dump_json(exclude=_FIELDS_BEFORE_JSON)


_MOST_FAILING = 1000  # of one tenant


class FailingDeliveries:
    """The webhooks and notices of a tenant whose deliveries fail. ``member``: names one of them."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def list_newest(self, tenant: str) -> Sequence[FailingDelivery]:
        """The tenant's failing webhooks and notices, the newest failure first."""
        rows = cast("dict[str, str]", await self._scripts.execute("HGETALL", keys.failing_webhooks_key(tenant)))
        failing = map(FailingDelivery.model_validate_json, rows.values())
        return sorted(failing, key=lambda delivery: (str(delivery.at), delivery.subject), reverse=True)

    async def add(self, tenant: str, member: str, failing: FailingDelivery) -> None:
        """Add a failing webhook or notice to the tenant's list, unless the list is full."""
        key, row = keys.failing_webhooks_key(tenant), failing.model_dump_json()
        is_listed = await self._scripts.execute("HEXISTS", key, member)
        if is_listed or cast(int, await self._scripts.execute("HLEN", key)) < _MOST_FAILING:
            await self._scripts.execute("HSET", key, member, row)
        await self._scripts.execute("EXPIRE", key, keys.FAILING_WEBHOOK_SECONDS)

    async def remove(self, tenant: str, member: str) -> None:
        """Remove a webhook or notice from the list, after it was delivered or dropped."""
        await self._scripts.execute("HDEL", keys.failing_webhooks_key(tenant), member)
