"""The webhooks of tasks in Redis, encrypted, with their progress; and the list of webhooks and notices that fail."""

from collections.abc import Sequence
from typing import NamedTuple, cast

from redis.asyncio import Redis

from services.gateway.features.webhooks import model
from shared.contracts.task import TaskRecord
from shared.infra import keys
from shared.infra.lua import Argument, Scripts
from shared.infra.secret_cipher import CannotDecrypt, SecretCipher


class DeliveryRow(NamedTuple):
    """A stored webhook or notice: its progress, and its encrypted content."""

    progress: model.DeliveryProgress
    sealed: str


_FIELDS_BEFORE_JSON = {"cursor", "disabled"}  # scripts read these, so they stand before the JSON


def parse_delivery_row(text: str) -> DeliveryRow:
    flag, cursor, progress_json, sealed = text.split("\n", 3)
    progress = model.DeliveryProgress.model_validate_json(progress_json)
    return DeliveryRow(progress.model_copy(update={"cursor": cursor, "disabled": flag != "on"}), sealed)


def pack_progress(progress: model.DeliveryProgress) -> str:
    return progress.model_dump_json(exclude=_FIELDS_BEFORE_JSON)


_MOST_FAILING = 1000  # of one tenant


class FailingDeliveries:
    """The webhooks and notices of a tenant whose deliveries fail. ``member``: their id in the delivery queue."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def list_newest(self, tenant: str) -> Sequence[model.FailingDelivery]:
        """The tenant's failing webhooks and notices, the newest failure first."""
        rows = cast("dict[str, str]", await self._scripts.execute("HGETALL", keys.failing_webhooks_key(tenant)))
        failing = map(model.FailingDelivery.model_validate_json, rows.values())
        return sorted(failing, key=lambda delivery: (str(delivery.at), delivery.subject), reverse=True)

    async def add_delivery(self, tenant: str, member: str, failing: model.FailingDelivery) -> None:
        """Add a failing webhook or notice to the tenant's list, unless the list is full."""
        key, row = keys.failing_webhooks_key(tenant), failing.model_dump_json()
        is_listed = await self._scripts.execute("HEXISTS", key, member)
        if is_listed or cast(int, await self._scripts.execute("HLEN", key)) < _MOST_FAILING:
            await self._scripts.execute("HSET", key, member, row)
        await self._scripts.execute("EXPIRE", key, keys.FAILING_WEBHOOK_SECONDS)

    async def remove_delivery(self, tenant: str, member: str) -> None:
        """Remove a webhook or notice from the list, after it was delivered or dropped."""
        await self._scripts.execute("HDEL", keys.failing_webhooks_key(tenant), member)


class RedisWebhooks:
    """The webhooks of tasks in Redis. All methods may raise ``StoreUnavailable`` and may be repeated."""

    def __init__(self, redis: Redis, seal: SecretCipher) -> None:
        self._scripts = Scripts(redis)
        self._seal = seal
        self.failing = FailingDeliveries(self._scripts)

    async def register_webhook(
        self, record: TaskRecord, webhook: model.TaskWebhook, *, includes_past: bool, limit: int
    ) -> None:
        """Register a webhook for updates from now on or, with ``includes_past``, from the task's start.

        It replaces a webhook with the same id and continues its progress, unless that was given up. If the task has
        ended, it still receives the end. Raises ``TooManyWebhooks``.
        """
        member = _pack_webhook_member(record, webhook.config_id)
        text = await self._scripts.execute("HGET", _build_task_keys(record).push, member)
        registered = None if text is None else self._parse_row(str(text))
        if registered is not None and registered.webhook == webhook and not registered.progress.disabled:
            return  # a message that was sent again must not disturb what is under way
        progress = model.DeliveryProgress(cursor="0" if includes_past else "")
        if registered is not None and not registered.progress.disabled:
            progress = registered.progress.model_copy(update={"tries": 0, "error": ""})
        task = _build_task_keys(record)
        partition = keys.partition_keys_of(record.tenant, record.session_id)
        names = [task.push, partition.deliveries, task.record, task.events]
        sealed = self._seal.encrypt(webhook.model_dump_json())
        arguments: list[Argument] = [member, progress.cursor, pack_progress(progress), sealed, limit]
        if await self._scripts.run("put_delivery", names, arguments) == -1:
            raise model.TooManyWebhooks(record.task_id)

    async def list_webhooks(self, record: TaskRecord) -> Sequence[model.RegisteredWebhook]:
        rows = cast("dict[str, str]", await self._scripts.execute("HGETALL", _build_task_keys(record).push))
        webhooks = [webhook for webhook in (self._parse_row(text) for text in rows.values()) if webhook is not None]
        return sorted(webhooks, key=lambda webhook: webhook.webhook.config_id)

    async def delete_webhook(self, record: TaskRecord, config_id: str) -> None:
        partition = keys.partition_keys_of(record.tenant, record.session_id)
        member = _pack_webhook_member(record, config_id)
        commands = (("ZREM", partition.deliveries, member), ("HDEL", _build_task_keys(record).push, member))
        await self._scripts.execute_commands(*commands)
        await self.failing.remove_delivery(record.tenant, member)

    def _parse_row(self, text: str) -> model.RegisteredWebhook | None:
        """Parse a stored webhook; None if no key can decrypt it."""
        try:
            row = parse_delivery_row(text)
            return model.RegisteredWebhook(
                model.TaskWebhook.model_validate_json(self._seal.decrypt(row.sealed)), row.progress
            )
        except (CannotDecrypt, ValueError):
            return None


def _build_task_keys(record: TaskRecord) -> keys.TaskKeys:
    return keys.task_keys(record.tenant, record.session_id, record.task_id)


def _pack_webhook_member(record: TaskRecord, config_id: str) -> str:
    return keys.pack_member(keys.WebhookMember(record.tenant, record.session_id, record.task_id, config_id))
