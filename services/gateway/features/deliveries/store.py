"""The durable queue of webhooks and notices: in each partition a sorted set by due time, claimed by short leases."""

from collections.abc import Sequence
from typing import NamedTuple, cast
from urllib.parse import urlsplit

import structlog
from redis.asyncio import Redis

from services.gateway.features.deliveries import model as deliveries
from services.gateway.features.webhooks import store as rows
from services.gateway.features.webhooks.model import DeliveryProgress, FailingDelivery, SignedPost, TaskWebhook
from shared.domain import metric_names as names
from shared.domain.partition import partition_of
from shared.infra import keys
from shared.infra.event_pages import read_event_page
from shared.infra.lua import Argument, ScriptCall, Scripts
from shared.infra.secret_cipher import CannotDecrypt, SecretCipher
from shared.infra.stored_tasks import parse_task_record
from shared.ports.meter import NO_METER, Meter

log = structlog.get_logger()
_MOST_EVENTS = 500
_DUE_PAGE = 500
_MOST_DUE_OF_PARTITION = 10_000  # of one partition in one look: of more, later looks read on


class _DeliveryKeys(NamedTuple):
    """The Redis keys of a webhook or notice. ``is_removed_once_delivered``: true for notices."""

    deliveries: str
    hash: str
    events: str
    record: str
    is_removed_once_delivered: bool


class RedisDeliveryQueue:
    """The durable queue of deliveries. Each is claimed by one process. All methods may raise ``StoreUnavailable``."""

    def __init__(self, redis: Redis, seal: SecretCipher, meter: Meter = NO_METER) -> None:
        self._scripts = Scripts(redis)
        self._seal, self._meter = seal, meter
        self._failing = rows.FailingDeliveries(self._scripts)
        self._places = ["0" for _ in keys.all_partitions()]  # in each partition, where the next look reads on

    async def enqueue(self, delivery: SignedPost) -> None:
        """Queue a post, which is tried until it is delivered or given up. It may be repeated."""
        member = keys.NoticeDeliveryMember(delivery.tenant, delivery.delivery_id)
        delivery_keys = _choose_keys_of_delivery(member)
        sealed = self._seal.encrypt(delivery.model_dump_json())
        arguments = [keys.pack_member(member), "0", rows.pack_progress(DeliveryProgress()), sealed]
        await self._scripts.run("put_delivery", [delivery_keys.hash, delivery_keys.deliveries], arguments)

    async def list_due(
        self, most_per_partition: int, most_per_tenant: int
    ) -> tuple[list[deliveries.QueuedDelivery], float | None]:
        """The due webhooks and notices, the longest due first, so many of each partition and of each tenant at most.
        With them, the seconds until another will be due; None if no other is queued.
        """
        arguments = [most_per_partition, most_per_tenant, _DUE_PAGE, _MOST_DUE_OF_PARTITION]
        calls: list[ScriptCall] = [
            ([partition.deliveries], [*arguments, place])
            for partition, place in zip(keys.all_partitions(), self._places, strict=True)
        ]
        replies = cast("list[list[str]]", await self._scripts.run_many("find_due_deliveries", calls))
        self._places = [reply[1] for reply in replies]
        waits = [int(reply[0]) for reply in replies if reply[0] != "-1"]
        due_deliveries = [
            deliveries.QueuedDelivery(member, keys.unpack_delivery(member).tenant, score)
            for reply in replies
            for member, score in zip(reply[2::2], reply[3::2], strict=True)
        ]
        due_deliveries.sort(key=lambda delivery: int(delivery.token))
        return due_deliveries, min(waits) / 1000 if waits else None

    async def claim_deliveries(
        self, due_deliveries: Sequence[deliveries.QueuedDelivery], seconds: float
    ) -> Sequence[deliveries.QueuedDelivery]:
        """Claims those deliveries that no other process has claimed, and returns them; a claim lasts ``seconds``."""
        lease_ms = round(1000 * seconds)
        calls: list[ScriptCall] = []
        for delivery in due_deliveries:
            names = _choose_keys_of_delivery(keys.unpack_delivery(delivery.member))
            calls.append(([names.deliveries], [delivery.member, delivery.token, lease_ms]))
        tokens = cast("list[str]", await self._scripts.run_many("claim_delivery", calls))
        return [delivery._replace(token=token) for delivery, token in zip(due_deliveries, tokens, strict=True) if token]

    async def read_claimed(self, claim: deliveries.QueuedDelivery) -> deliveries.DeliveryWork | None:
        """Read what is to be delivered under the claim; None if its task is gone, or another version wrote it."""
        member = keys.unpack_delivery(claim.member)
        delivery_keys = _choose_keys_of_delivery(member)
        text = await self._scripts.execute("HGET", delivery_keys.hash, claim.member)
        try:
            work = (
                None
                if text is None
                else await self._read_work(member, delivery_keys, rows.parse_delivery_row(str(text)))
            )
        except ValueError as error:  # perhaps another replica can, or this one soon
            log.warning("webhook_unreadable", tenant=claim.tenant, error=type(error).__name__)
            return None
        if work is None:  # the webhook may have been set anew meanwhile; then the claim no longer holds
            step = deliveries.StepAfterDelivery.DISABLE.value
            arguments: list[Argument] = [claim.member, claim.token, step, 0, "", "", 1]
            key_names = [delivery_keys.deliveries, delivery_keys.hash, delivery_keys.events]
            await self._scripts.run("settle_delivery", key_names, arguments)
        return work

    async def store_result(
        self,
        claim: deliveries.QueuedDelivery,
        work: deliveries.DeliveryWork,
        progress: DeliveryProgress,
        step: deliveries.StepAfterDelivery,
        seconds: float,
    ) -> str:
        """Store how far the delivery has come. ``seconds``: how long it stays claimed, or until the next try.

        Returns the token of the claim; empty if another process has claimed the delivery by now, or it was removed.
        """
        if progress.tries or progress.disabled:  # before it is settled: what dies in between is tried, and noted, again
            await self._failing.add_delivery(claim.tenant, claim.member, _build_failing_delivery(work, progress))
        delivery_keys = _choose_keys_of_delivery(keys.unpack_delivery(claim.member))
        arguments = [
            *(claim.member, claim.token, step.value, round(1000 * seconds), progress.cursor),
            *(rows.pack_progress(progress), int(delivery_keys.is_removed_once_delivered)),
        ]
        key_names = [delivery_keys.deliveries, delivery_keys.hash, delivery_keys.events]
        token = str(await self._scripts.run("settle_delivery", key_names, arguments))
        if work.progress.tries and not (progress.tries or progress.disabled):
            await self._failing.remove_delivery(claim.tenant, claim.member)
        if step is deliveries.StepAfterDelivery.DISABLE:
            self._meter.add(names.WEBHOOKS_DISABLED)
        return token

    async def _read_work(
        self,
        member: keys.WebhookMember | keys.NoticeDeliveryMember,
        delivery_keys: _DeliveryKeys,
        row: rows.DeliveryRow,
    ) -> deliveries.DeliveryWork | None:
        """What a stored row is to deliver: ``UnreadableDelivery`` if it cannot be decrypted, None if the webhook's task
        is gone. Raises ``ValueError`` if its content has a wrong form.
        """
        try:
            content = self._seal.decrypt(row.sealed)
        except CannotDecrypt:
            content = None
        if isinstance(member, keys.NoticeDeliveryMember):
            if content is None:
                return deliveries.UnreadableDelivery(row.progress, "a notice", member.post_id)
            return deliveries.SignedPostWork(SignedPost.model_validate_json(content), row.progress)
        story = await read_event_page(
            self._scripts,
            delivery_keys.events,
            delivery_keys.record,
            after=row.progress.cursor,
            most_entries=_MOST_EVENTS,
        )
        if not story.record:
            return None
        if content is None:
            return deliveries.UnreadableDelivery(row.progress, member.task_id, member.config_id)
        webhook = TaskWebhook.model_validate_json(content)
        return deliveries.WebhookWork(webhook, row.progress, parse_task_record(story.record), tuple(story.rows))


def _choose_keys_of_delivery(member: keys.WebhookMember | keys.NoticeDeliveryMember) -> _DeliveryKeys:
    if isinstance(member, keys.NoticeDeliveryMember):
        partition = keys.partition_keys(partition_of(member.tenant, member.post_id))
        return _DeliveryKeys(partition.deliveries, partition.posts, partition.posts, "", True)
    task = keys.task_keys(member.tenant, member.session_id, member.task_id)
    queue = keys.partition_keys_of(member.tenant, member.session_id).deliveries
    return _DeliveryKeys(queue, task.push, task.events, task.record, False)


def _build_failing_delivery(work: deliveries.DeliveryWork, progress: DeliveryProgress) -> FailingDelivery:
    if isinstance(work, deliveries.UnreadableDelivery):
        subject = work.subject
        config_id = work.config_id
        url = ""
    elif isinstance(work, deliveries.SignedPostWork):
        subject = work.delivery.subject
        config_id = work.delivery.delivery_id
        url = work.delivery.url
    else:
        subject = work.record.task_id
        config_id = work.webhook.config_id
        url = work.webhook.url
    return FailingDelivery(
        subject=subject,
        config_id=config_id,
        host=urlsplit(url).hostname or "",
        error=progress.error,
        tries=progress.tries,
        disabled=progress.disabled,
        at=progress.at,
    )
