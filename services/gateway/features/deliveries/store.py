"""The durable queue of webhooks and notices: a sorted set by due time in each partition, claimed by short leases."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple, cast
from urllib.parse import urlsplit

import structlog
from pydantic import ValidationError
from redis.asyncio import Redis

from services.gateway.features.deliveries import news
from services.gateway.features.webhooks import rows
from services.gateway.features.webhooks.model import Failing, HookState, SignedPost, TaskHook
from shared.domain import metric_names as names
from shared.domain.partition import partition_of
from shared.infra import keys
from shared.infra.lua import Call, Scripts
from shared.infra.sealed import CannotOpen, Seal
from shared.infra.stored_tasks import read_record
from shared.infra.story import read_story
from shared.ports.meter import NO_METER, Meter

log = structlog.get_logger()
_EVENTS_READ = 500
_DUE_READ = 500  # of one partition in one look: among so many, each tenant gets its turn


class _LinePlace(NamedTuple):
    """The keys under which a line is stored."""

    deliveries: str
    hash: str
    events: str
    record: str
    once: bool


class RedisDeliveryQueue(news.DeliveryQueue, news.DeliverySink):
    """The queue of lines on Redis. Every method may raise ``StoreUnavailable``."""

    def __init__(self, redis: Redis, seal: Seal, meter: Meter = NO_METER) -> None:
        self._scripts = Scripts(redis)
        self._seal, self._meter = seal, meter
        self._failing = rows.FailingWebhooks(self._scripts)

    async def enqueue(self, delivery: SignedPost) -> None:
        member = keys.PostMember(delivery.tenant, delivery.delivery_id)
        place = _line_place(member)
        sealed = self._seal.close(delivery.model_dump_json())
        arguments = [keys.pack(member), "0", rows.progress_line(HookState()), sealed]
        await self._scripts.run("put_line", [place.hash, place.deliveries], arguments)

    async def look(self, most: int, each: int) -> news.DuePage:
        calls: list[Call] = [([one.deliveries], [most, each, _DUE_READ]) for one in keys.all_partitions()]
        replies = cast("list[list[str]]", await self._scripts.run_many("survey_deliveries", calls))
        waits = [int(reply[0]) for reply in replies if reply[0] != "-1"]
        due = chain.from_iterable(_parse_due_lines(reply[1:]) for reply in replies)
        return news.DuePage(sorted(due, key=lambda one: int(one.score)), min(waits) / 1000 if waits else None)

    async def claim(self, due: Sequence[news.DueDelivery], seconds: float) -> Sequence[news.ClaimedDelivery]:
        lease_ms = round(1000 * seconds)
        places = [_line_place(keys.unpack_delivery(one.member)) for one in due]
        calls: list[Call] = [
            ([place.deliveries], [one.member, one.score, lease_ms]) for place, one in zip(places, due, strict=True)
        ]
        tokens = cast("list[str]", await self._scripts.run_many("claim_delivery", calls))
        return [
            news.ClaimedDelivery(one.member, one.tenant, token) for one, token in zip(due, tokens, strict=True) if token
        ]

    async def read(self, claim: news.ClaimedDelivery) -> news.Work | None:
        member = keys.unpack_delivery(claim.member)
        try:
            work = await self._post(member) if isinstance(member, keys.PostMember) else await self._read_webhook(member)
        except (ValidationError, ValueError) as error:  # perhaps another replica can, or this one soon
            log.warning("webhook_unreadable", tenant=claim.tenant, error=type(error).__name__)
            return None
        if work is None:
            place = _line_place(member)
            words = (("ZREM", place.deliveries), ("HDEL", place.hash))
            await self._scripts.commands(*((*each, claim.member) for each in words))
        return work

    async def settle(
        self, claim: news.ClaimedDelivery, work: news.Work, told: HookState, step: news.DeliveryStep, seconds: float
    ) -> str:
        if told.tries or told.disabled:  # before it is settled: what dies in between is tried, and noted, again
            await self._failing.note(claim.tenant, claim.member, _describe_failing(work, told))
        place = _line_place(keys.unpack_delivery(claim.member))
        arguments = [
            claim.member,
            claim.token,
            step.value,
            round(1000 * seconds),
            told.cursor,
            rows.progress_line(told),
        ]
        places = [place.deliveries, place.hash, place.events]
        token = str(await self._scripts.run("settle_delivery", places, [*arguments, int(place.once)]))
        if work.told.tries and not (told.tries or told.disabled):
            await self._failing.forget(claim.tenant, claim.member)
        if step is news.DeliveryStep.OFF:
            self._meter.add(names.WEBHOOKS_OFF)
        return token

    async def _read_line(self, member: keys.WebhookMember | keys.PostMember) -> rows.DeliveryRow | None:
        text = await self._scripts.command("HGET", _line_place(member).hash, keys.pack(member))
        return None if text is None else rows.read_row(str(text))

    async def _post(self, member: keys.PostMember) -> news.SignedPostWork | news.UnreadableDelivery | None:
        row = await self._read_line(member)
        if row is None:
            return None
        try:
            return news.SignedPostWork(SignedPost.model_validate_json(self._seal.open(row.sealed)), row.told)
        except CannotOpen:
            return news.UnreadableDelivery(row.told, "a notice", member.post_id)

    async def _read_webhook(self, member: keys.WebhookMember) -> news.HookWork | news.UnreadableDelivery | None:
        place, row = _line_place(member), await self._read_line(member)
        if row is None:
            return None
        story = await read_story(self._scripts, place.events, place.record, after=row.told.cursor, most=_EVENTS_READ)
        if not story.record:
            return None
        try:
            webhook = TaskHook.model_validate_json(self._seal.open(row.sealed))
        except CannotOpen:
            return news.UnreadableDelivery(row.told, member.task_id, member.config_id)
        return news.HookWork(webhook, row.told, read_record(story.record), tuple(story.rows))


def _parse_due_lines(flat: Sequence[str]) -> list[news.DueDelivery]:
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return [news.DueDelivery(member, keys.unpack_delivery(member).tenant, score) for member, score in pairs]


def _line_place(member: keys.WebhookMember | keys.PostMember) -> _LinePlace:
    if isinstance(member, keys.PostMember):
        partition = keys.partition_keys(partition_of(member.tenant, member.post_id))
        return _LinePlace(partition.deliveries, partition.posts, partition.posts, "", True)
    task = keys.task_keys(member.tenant, member.session_id, member.task_id)
    deliveries = keys.partition_keys_of(member.tenant, member.session_id).deliveries
    return _LinePlace(deliveries, task.push, task.events, task.record, False)


def _describe_failing(work: news.Work, told: HookState) -> Failing:
    if isinstance(work, news.UnreadableDelivery):
        subject, config_id, url = work.subject, work.config_id, ""
    elif isinstance(work, news.SignedPostWork):
        subject, config_id, url = work.delivery.subject, work.delivery.delivery_id, work.delivery.url
    else:
        subject, config_id, url = work.record.task_id, work.webhook.config_id, work.webhook.url
    host = urlsplit(url).hostname or ""
    whose, last = {"subject": subject, "config_id": config_id, "host": host}, {"error": told.error, "at": told.at}
    return Failing.model_validate({**whose, **last, "tries": told.tries, "disabled": told.disabled})
