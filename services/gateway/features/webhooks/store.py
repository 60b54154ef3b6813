"""The webhooks of tasks in Redis."""

from collections.abc import Sequence
from typing import cast

from redis.asyncio import Redis

from services.gateway.features.webhooks import model as hooks
from services.gateway.features.webhooks.rows import FailingDeliveries, pack_progress, parse_row
from shared.contracts.task import TaskRecord
from shared.infra import keys
from shared.infra.lua import Argument, Scripts
from shared.infra.secret_cipher import CannotDecrypt, SecretCipher


class RedisWebhooks(hooks.WebhookStore):
    """The webhooks of tasks in Redis. Every method may raise ``StoreUnavailable``."""

    def __init__(self, redis: Redis, seal: SecretCipher) -> None:
        self._scripts = Scripts(redis)
        self._seal = seal
        self._failing = FailingDeliveries(self._scripts)

    async def put(self, record: TaskRecord, webhook: hooks.TaskWebhook, *, includes_past: bool, limit: int) -> None:
        member = _pack_member(record, webhook.config_id)
        text = await self._scripts.execute("HGET", _task_keys(record).push, member)
        registered = None if text is None else self._parse_row(str(text))
        if registered is not None and registered.webhook == webhook and not registered.progress.disabled:
            return  # a message that was sent again must not disturb what is under way
        progress = hooks.DeliveryProgress(cursor="0" if includes_past else "")
        if registered is not None and not registered.progress.disabled:
            progress = registered.progress.model_copy(update={"tries": 0, "error": ""})
        await self._write_webhook(record, member, webhook, progress, limit)

    async def list_webhooks(self, record: TaskRecord) -> Sequence[hooks.RegisteredWebhook]:
        rows = cast("dict[str, str]", await self._scripts.execute("HGETALL", _task_keys(record).push))
        webhooks = [webhook for webhook in (self._parse_row(text) for text in rows.values()) if webhook is not None]
        return sorted(webhooks, key=lambda webhook: webhook.webhook.config_id)

    async def drop(self, record: TaskRecord, config_id: str) -> None:
        partition = keys.partition_keys_of(record.tenant, record.session_id)
        member = _pack_member(record, config_id)
        commands = (("ZREM", partition.deliveries, member), ("HDEL", _task_keys(record).push, member))
        await self._scripts.execute_many(*commands)
        await self._failing.remove(record.tenant, member)

    async def list_failing_deliveries(self, tenant: str) -> Sequence[hooks.FailingDelivery]:
        return await self._failing.list_newest(tenant)

    async def _write_webhook(
        self, record: TaskRecord, member: str, webhook: hooks.TaskWebhook, progress: hooks.DeliveryProgress, limit: int
    ) -> None:
        task, partition = _task_keys(record), keys.partition_keys_of(record.tenant, record.session_id)
        names = [task.push, partition.deliveries, task.record, task.events]
        sealed = self._seal.encrypt(webhook.model_dump_json())
        arguments: list[Argument] = [member, progress.cursor, pack_progress(progress), sealed, limit]
        if await self._scripts.run("put_delivery", names, arguments) == -1:
            raise hooks.TooManyWebhooks(record.task_id)

    def _parse_row(self, text: str) -> hooks.RegisteredWebhook | None:
        """Parse a stored webhook; None if no key can decrypt it."""
        try:
            row = parse_row(text)
            return hooks.RegisteredWebhook(
                hooks.TaskWebhook.model_validate_json(self._seal.decrypt(row.sealed)), row.progress
            )
        except (CannotDecrypt, ValueError):
            return None


def _task_keys(record: TaskRecord) -> keys.TaskKeys:
    return keys.task_keys(record.tenant, record.session_id, record.task_id)


def _pack_member(record: TaskRecord, config_id: str) -> str:
    return keys.pack_member(keys.WebhookMember(record.tenant, record.session_id, record.task_id, config_id))
