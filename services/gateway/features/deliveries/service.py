"""Delivers the updates of one webhook in order, until all are accepted or a try fails; counts tries and pauses."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import structlog

from services.gateway.edge.errors import InvalidField
from services.gateway.features.deliveries import model as deliveries
from services.gateway.features.deliveries.store import RedisDeliveryQueue
from services.gateway.features.webhooks.model import DeliveryProgress, TaskWebhook, require_valid_headers
from services.gateway.features.webhooks.settings import PushSettings, derive_delivery_id, sign_body

_LONGEST_RETRY_AFTER = 64


def _parse_retry_after(text: str, now: datetime) -> float:
    """The seconds in a ``Retry-After`` header; 0 if it is invalid or names a past time."""
    value = text.strip()
    if value.isascii() and value.isdecimal() and len(value) < 10:
        return float(value)
    try:
        until = parsedate_to_datetime(value) if len(value) <= _LONGEST_RETRY_AFTER else now
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds())


log = structlog.get_logger()
_GONE_STATUS = 410
_UNREADABLE_TEXT = "no key here opens what was kept of it: WEBHOOK_SECRET was changed, and does not name the one before"
_JSON_HEADERS = {"Content-Type": "application/json"}
_TOKEN_HEADER = "X-A2A-Notification-Token"  # noqa: S105 - a header's name
_MOST_BACKOFF_EXPONENT = 30


# The update as JSON, in the webhook's protocol.
WriteBody = Callable[[deliveries.WebhookWork, deliveries.WebhookUpdate], str]


class _PreparedPost(NamedTuple):
    """A request to send, and the progress of delivery once the receiver has accepted it."""

    delivery_id: str
    url: str
    headers: Mapping[str, str]
    body: str
    secrets: Sequence[str]
    progress: DeliveryProgress


class _PostOutcome(NamedTuple):
    """What came of a POST. ``error``: why the receiver did not accept it, else empty. ``is_gone``: the receiver
    answered 410.

    ``wait``: the seconds in its ``Retry-After``.
    """

    error: str
    is_gone: bool = False
    wait: float = 0


class DeliveryService:
    """Makes deliveries. ``random_fraction``: gives random numbers from 0 to 1."""

    def __init__(
        self,
        queue: RedisDeliveryQueue,
        post: deliveries.HttpPoster,
        write_body: WriteBody,
        settings: PushSettings,
        clock: Callable[[], datetime],
        random_fraction: Callable[[], float],
    ) -> None:
        self._queue = queue
        self._post = post
        self._write_body = write_body
        self._settings, self._secrets = settings, settings.secrets
        self._clock, self._random_fraction = clock, random_fraction

    async def deliver_claimed(self, claim: deliveries.QueuedDelivery) -> None:
        """Deliver the updates of a claimed webhook or notice; again later if this raises ``StoreUnavailable``."""
        work = await self._queue.read_claimed(claim)
        if work is None:
            return
        if isinstance(work, deliveries.UnreadableDelivery):
            await self._store_progress(claim, work, self._count_failure(work.progress, _UNREADABLE_TEXT))
            return
        for prepared in self._prepare_posts(claim, work):
            outcome = await self._send_post(prepared)
            progress = self._compute_progress_after(work.progress, prepared, outcome)
            step, token = await self._store_progress(claim, work, progress, outcome.wait)
            if step is not deliveries.StepAfterDelivery.KEEP_CLAIM or not token:
                return
            claim, work = claim._replace(token=token), work._replace(progress=progress)
        await self._queue.store_result(
            claim, work, _compute_progress_after_all(work), deliveries.StepAfterDelivery.DONE, 0
        )

    async def count_internal_failure(self, claim: deliveries.QueuedDelivery) -> None:
        """Count an internal error of this process as a failed try, so that nothing is tried for ever."""
        work = await self._queue.read_claimed(claim)
        if work is not None:
            progress = self._count_failure(work.progress, "the gateway failed on it; its log says how")
            await self._store_progress(claim, work, progress)

    async def _store_progress(
        self,
        claim: deliveries.QueuedDelivery,
        work: deliveries.DeliveryWork,
        progress: DeliveryProgress,
        wait: float = 0,
    ) -> tuple[deliveries.StepAfterDelivery, str]:
        """Store the progress; returns what happens to the webhook or notice next, and the token of its claim."""
        step = _choose_step_after_delivery(progress, work)
        token = await self._queue.store_result(claim, work, progress, step, self._compute_pause(progress, step, wait))
        if step is deliveries.StepAfterDelivery.DISABLE:
            log.warning("webhook_disabled", tenant=claim.tenant, tries=progress.tries, error=progress.error)
        return step, token

    def _prepare_posts(
        self, claim: deliveries.QueuedDelivery, work: deliveries.WebhookWork | deliveries.SignedPostWork
    ) -> Iterator[_PreparedPost]:
        if isinstance(work, deliveries.SignedPostWork):
            post = work.delivery
            secrets = (post.secret,) if post.secret else self._secrets.derive_secrets(claim.tenant)
            yield _PreparedPost(post.delivery_id, post.url, {}, post.body, secrets, work.progress)
            return
        secrets, headers = self._secrets.derive_secrets(claim.tenant), _build_headers(work.webhook)
        for update in deliveries.list_pending_updates(work):
            name = derive_delivery_id(claim.member, work.webhook.url, update.name)
            yield _PreparedPost(
                name, work.webhook.url, headers, self._write_body(work, update), secrets, update.progress
            )

    async def _send_post(self, prepared: _PreparedPost) -> _PostOutcome:
        signatures = sign_body(prepared.delivery_id, prepared.body, prepared.secrets, self._clock())
        try:
            headers = require_valid_headers({**_JSON_HEADERS, **prepared.headers, **signatures})
            status, retry_after = await self._post.post(prepared.url, headers, prepared.body.encode())
        except (deliveries.NoReceiverAnswer, InvalidField) as error:
            return _PostOutcome(str(error))
        if 200 <= status < 300:
            return _PostOutcome("")
        remark = "; redirects are not followed" if 300 <= status < 400 else ""
        wait = _parse_retry_after(retry_after, self._clock())
        return _PostOutcome(f"it answered {status}{remark}", status == _GONE_STATUS, wait)

    def _compute_progress_after(
        self, progress: DeliveryProgress, prepared: _PreparedPost, outcome: _PostOutcome
    ) -> DeliveryProgress:
        if outcome.error:
            return self._count_failure(progress, outcome.error, is_gone=outcome.is_gone)
        delivered = {"tries": 0, "error": "", "delivered": progress.delivered + 1, "at": self._clock()}
        return prepared.progress.model_copy(update=delivered)

    def _count_failure(self, progress: DeliveryProgress, error: str, *, is_gone: bool = False) -> DeliveryProgress:
        tries = progress.tries + 1
        is_given_up = is_gone or tries >= self._settings.push_tries
        failed = {"tries": tries, "error": error, "disabled": is_given_up, "at": self._clock()}
        return progress.model_copy(update=failed)

    def _compute_pause(self, progress: DeliveryProgress, step: deliveries.StepAfterDelivery, wait: float) -> float:
        """The seconds until the next try: doubled each time, randomised, at least ``wait``, at most the longest pause.

        For steps other than a retry, the seconds of the lease.
        """
        if step is not deliveries.StepAfterDelivery.RETRY:
            return self._settings.delivery_lease
        doubled = self._settings.push_first_pause * float(2 ** min(progress.tries - 1, _MOST_BACKOFF_EXPONENT))
        randomised = min(doubled, self._settings.push_longest_pause) * (0.5 + self._random_fraction() / 2)
        return max(randomised, min(wait, self._settings.push_longest_pause))


def choose_due_deliveries(
    due: Sequence[deliveries.QueuedDelivery], busy: Counter[str], settings: PushSettings
) -> list[deliveries.QueuedDelivery]:
    """The due deliveries to claim now, the longest due first, within the free slots of the process and each tenant."""
    chosen: list[deliveries.QueuedDelivery] = []
    counts = Counter(busy)
    for delivery in due:
        if counts.total() >= settings.push_concurrency:
            break
        if counts[delivery.tenant] < settings.deliveries_per_tenant:
            counts[delivery.tenant] += 1
            chosen.append(delivery)
    return chosen


def _choose_step_after_delivery(
    progress: DeliveryProgress, work: deliveries.DeliveryWork
) -> deliveries.StepAfterDelivery:
    if progress.disabled:
        return deliveries.StepAfterDelivery.DISABLE
    if progress.tries:
        return deliveries.StepAfterDelivery.RETRY
    is_all = isinstance(work, deliveries.SignedPostWork)
    return deliveries.StepAfterDelivery.DONE if is_all else deliveries.StepAfterDelivery.KEEP_CLAIM


def _compute_progress_after_all(work: deliveries.WebhookWork | deliveries.SignedPostWork) -> DeliveryProgress:
    """The progress of delivery once everything that was read has been delivered."""
    if isinstance(work, deliveries.SignedPostWork) or not work.events:
        return work.progress
    return work.progress.model_copy(update={"cursor": work.events[-1][0], "part": 0})


def _build_headers(webhook: TaskWebhook) -> dict[str, str]:
    headers = {_TOKEN_HEADER: webhook.token} if webhook.token else {}
    if webhook.scheme and webhook.credentials:
        headers["Authorization"] = f"{webhook.scheme} {webhook.credentials}"
    return headers
