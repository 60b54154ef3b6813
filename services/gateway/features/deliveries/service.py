"""Delivers what one line owes, in order, until it is accepted, to be tried again, or given up."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import structlog

from services.gateway.edge.errors import InvalidField
from services.gateway.features.deliveries import news as deliveries
from services.gateway.features.webhooks.model import HookState, TaskHook, checked_headers
from services.gateway.features.webhooks.secrets import WebhookSecrets, delivery_id, sign_body

_LONGEST = 64


def seconds_in(text: str, now: datetime) -> float:
    """The seconds that a ``Retry-After`` header names; 0 if it cannot be understood or names a past time."""
    said = text.strip()
    if said.isascii() and said.isdecimal() and len(said) < 10:
        return float(said)
    try:
        until = parsedate_to_datetime(said) if len(said) <= _LONGEST else now
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds())


log = structlog.get_logger()
_GONE = 410
_NO_KEY = "no key here opens what was kept of it: WEBHOOK_SECRET was changed, and does not name the one before"
_JSON = {"Content-Type": "application/json"}
_TOKEN = "X-A2A-Notification-Token"  # noqa: S105 - a header's name
_LONGEST_EXPONENT = 30


class DeliveryRules(NamedTuple):
    """Limits of deliveries. Seconds for an answer, before the second try, and between two tries at most.

    ``tries``: in all, for one delivery. ``slots``: deliveries at once in this process, ``per_tenant`` of one tenant.
    """

    timeout: float = 15
    first_pause: float = 5
    longest_pause: float = 3600
    tries: int = 12
    slots: int = 32
    per_tenant: int = 8

    @property
    def lease(self) -> float:
        """The seconds for which a line is claimed: enough for one delivery and for storing its result."""
        return 2 * self.timeout + 1


WriteBody = Callable[[deliveries.HookWork, deliveries.News], str]  # the update as JSON, in the webhook's protocol


class ClockAndChance(NamedTuple):
    """The clock, and a random number from 0 to 1."""

    now: Callable[[], datetime]
    luck: Callable[[], float]


class _PreparedPost(NamedTuple):
    """One request, and the line's state once it is accepted."""

    delivery_id: str
    url: str
    headers: Mapping[str, str]
    body: str
    secrets: Sequence[str]
    told: HookState


class _Outcome(NamedTuple):
    """The result of a request. ``error``: why it was not accepted, else empty. ``gone``: the receiver wants no more.

    ``wait``: the seconds for which the receiver wants to be left alone.
    """

    error: str
    gone: bool = False
    wait: float = 0


class DeliveryService:
    def __init__(
        self,
        lines: deliveries.DeliveryQueue,
        post: deliveries.HttpPoster,
        write_body: WriteBody,
        secrets: WebhookSecrets,
        edge: ClockAndChance,
        rules: DeliveryRules,
    ) -> None:
        self._lines, self._post, self._write_body = lines, post, write_body
        self._secrets, self._edge, self._rules = secrets, edge, rules

    async def carry(self, claim: deliveries.ClaimedDelivery) -> None:
        """Deliver what a claimed line owes. May raise ``StoreUnavailable``; it is then delivered later."""
        work = await self._lines.read(claim)
        if work is None:
            return
        if isinstance(work, deliveries.UnreadableDelivery):
            await self._settle(claim, work, self._count_failure(work.told, _NO_KEY, gone=False))
            return
        for prepared in self._prepare_posts(claim, work):
            outcome = await self._send_post(prepared)
            told = self._judge(work.told, prepared, outcome)
            step, token = await self._settle(claim, work, told, outcome.wait)
            if step is not deliveries.DeliveryStep.HOLD or not token:
                return
            claim, work = claim._replace(token=token), work._replace(told=told)
        await self._lines.settle(claim, work, _tell_all(work), deliveries.DeliveryStep.DONE, 0)

    async def count_own_failure(self, claim: deliveries.ClaimedDelivery) -> None:
        """Count a failure of this process as a failed try, so that nothing is tried for ever."""
        work = await self._lines.read(claim)
        if work is None:
            return
        await self._settle(
            claim, work, self._count_failure(work.told, "the gateway failed on it; its log says how", gone=False)
        )

    async def _settle(
        self, claim: deliveries.ClaimedDelivery, work: deliveries.Work, told: HookState, wait: float = 0
    ) -> tuple[deliveries.DeliveryStep, str]:
        """Store the line's state; returns what happens to it, and the token of its claim."""
        step = _step_after_delivery(told, work)
        token = await self._lines.settle(claim, work, told, step, self._compute_pause(told, step, wait))
        if step is deliveries.DeliveryStep.OFF:
            log.warning("webhook_disabled", tenant=claim.tenant, tries=told.tries, error=told.error)
        return step, token

    def _prepare_posts(
        self, claim: deliveries.ClaimedDelivery, work: deliveries.HookWork | deliveries.SignedPostWork
    ) -> Iterator[_PreparedPost]:
        if isinstance(work, deliveries.SignedPostWork):
            given = work.delivery
            secrets = (given.secret,) if given.secret else self._secrets.secrets_of(claim.tenant)
            yield _PreparedPost(given.delivery_id, given.url, given.headers, given.body, secrets, work.told)
            return
        secrets, headers = self._secrets.secrets_of(claim.tenant), _build_headers(work.webhook)
        for news in deliveries.news_of(work):
            name = delivery_id(claim.member, work.webhook.url, news.name)
            yield _PreparedPost(name, work.webhook.url, headers, self._write_body(work, news), secrets, news.told)

    async def _send_post(self, prepared: _PreparedPost) -> _Outcome:
        stamp = sign_body(prepared.delivery_id, prepared.body, prepared.secrets, self._edge.now())
        try:
            headers = checked_headers({**_JSON, **prepared.headers, **stamp})
            status, retry_after = await self._post.post(prepared.url, headers, prepared.body.encode())
        except (deliveries.Undelivered, InvalidField) as why:
            return _Outcome(str(why))
        if 200 <= status < 300:
            return _Outcome("")
        return _Outcome(_status_words(status), status == _GONE, seconds_in(retry_after, self._edge.now()))

    def _judge(self, before: HookState, prepared: _PreparedPost, outcome: _Outcome) -> HookState:
        if outcome.error:
            return self._count_failure(before, outcome.error, gone=outcome.gone)
        delivered = {"tries": 0, "error": "", "delivered": before.delivered + 1, "at": self._edge.now()}
        return prepared.told.model_copy(update=delivered)

    def _count_failure(self, before: HookState, error: str, *, gone: bool) -> HookState:
        tries = before.tries + 1
        over = gone or tries >= self._rules.tries
        failed = {"tries": tries, "error": error, "disabled": over, "at": self._edge.now()}
        return before.model_copy(update=failed)

    def _compute_pause(self, told: HookState, step: deliveries.DeliveryStep, wait: float) -> float:
        """The seconds until the next try: doubled each time and spread by chance, at least ``wait`` (the receiver's
        wish) and at most the longest pause. Of any other step the lease's.
        """
        if step is not deliveries.DeliveryStep.RETRY:
            return self._rules.lease
        doubled = self._rules.first_pause * float(2 ** min(told.tries - 1, _LONGEST_EXPONENT))
        spread = min(doubled, self._rules.longest_pause) * (0.5 + self._edge.luck() / 2)
        return max(spread, min(wait, self._rules.longest_pause))


def choose_lines(
    due: Sequence[deliveries.DueDelivery], busy: Counter[str], rules: DeliveryRules
) -> list[deliveries.DueDelivery]:
    """The lines to claim now: the longest due first, within the slots of the process and of each tenant."""
    taken, counts = list[deliveries.DueDelivery](), Counter(busy)
    for one in due:
        if counts.total() >= rules.slots:
            break
        if counts[one.tenant] < rules.per_tenant:
            counts[one.tenant] += 1
            taken.append(one)
    return taken


def _step_after_delivery(told: HookState, work: deliveries.Work) -> deliveries.DeliveryStep:
    if told.disabled:
        return deliveries.DeliveryStep.OFF
    if told.tries:
        return deliveries.DeliveryStep.RETRY
    return deliveries.DeliveryStep.DONE if isinstance(work, deliveries.SignedPostWork) else deliveries.DeliveryStep.HOLD


def _tell_all(work: deliveries.HookWork | deliveries.SignedPostWork) -> HookState:
    """The line's state once everything that was read is told."""
    if isinstance(work, deliveries.SignedPostWork) or not work.events:
        return work.told
    return work.told.model_copy(update={"cursor": work.events[-1][0], "part": 0})


def _build_headers(webhook: TaskHook) -> dict[str, str]:
    headers = {_TOKEN: webhook.token} if webhook.token else {}
    if webhook.scheme and webhook.credentials:
        headers["Authorization"] = f"{webhook.scheme} {webhook.credentials}"
    return headers


def _status_words(status: int) -> str:
    if 300 <= status < 400:
        return f"it answered {status}; redirects are not followed"
    return f"it answered {status}"
