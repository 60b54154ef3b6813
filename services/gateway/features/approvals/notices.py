"""Notices about approvals: their content and form, and the loop that queues them for a tenant's notice targets."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast

import structlog

from services.gateway.features.approvals.approvals import (
    Approvals,
    DueNotices,
    ResolveEnvReference,
    UnreadableReference,
)
from services.gateway.features.approvals.views import ApprovalRequest, build_approval_view
from services.gateway.features.deliveries.store import RedisDeliveryQueue
from services.gateway.features.webhooks.model import SignedPost
from services.gateway.features.webhooks.settings import derive_delivery_id, is_webhook_secret
from shared.contracts.approval import NoticeEvent, NoticeTarget
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import JsonObject, dumps, loads_object, objects_in
from shared.domain.outgoing import AllowedAddresses, why_url_refused
from shared.domain.redaction import redact_json, redact_text
from shared.domain.words import describe_decider
from shared.infra.channel_listener import LOOK_WITHOUT_NEWS_SECONDS, OpenListener, keep_looking_when_due
from shared.infra.keys import NoticeMember
from shared.ports.store import StoreUnavailable

_LONGEST_TEXT = 600  # characters of a task's text or a call's arguments
_MOST_CALLS = 20
_COPIED_FIELDS = (
    *("approval_id", "task_id", "session_id", "status", "requester", "level", "needed", "reasons"),
    *("plan_hash", "asked_at", "deadline"),
)
_DECISION_FIELDS = ("decision", "by", "comment")
_CALL_FIELDS = ("call_id", "connection", "tool", "arguments")
_LONGEST_BLOCK = 2_900  # characters of a block; Slack refuses a message with a block over 3,000


class ApprovalNews(NamedTuple):
    """A step of an approval that people are notified of. ``step``: how many levels the approval had passed by then."""

    event: NoticeEvent
    step: str
    request: ApprovalRequest


def build_signed_post(
    news: ApprovalNews, target: NoticeTarget, url: str, secret: str, public_url: str, now: datetime
) -> SignedPost:
    """The POST that delivers a notice to one target. Its id depends only on event and target, so a repeat has the same.

    ``url``, ``secret``: what the target's fields refer to. ``public_url``: the gateway's public URL, for links.
    """
    approval, record = news.request
    parts = (record.tenant, approval.approval_id, news.event.value, news.step, url)
    link = f"{public_url.rstrip('/')}/console/approvals/{approval.approval_id}"
    if target.format == "slack":  # ``text`` is shown in notifications, ``blocks`` is the message itself
        title = _escape_slack_text(redact_text(_write_notice_headline(news)))
        body: JsonObject = {"text": title, "blocks": [*_build_slack_blocks(news, title, link)]}
    else:
        body = {"type": news.event.value, "timestamp": now.isoformat(), "data": _build_notice_data(news, link)}
    return SignedPost(
        tenant=record.tenant,
        delivery_id=derive_delivery_id(*parts),
        subject=f"{news.event.value} {approval.approval_id}",
        url=url,
        body=dumps(body),
        secret=secret,
    )


def _write_notice_headline(news: ApprovalNews) -> str:
    """One sentence on what happened to the approval, without any of the task's content."""
    approval, record = news.request
    people, subject = describe_decider(approval.level), f"Approval {approval.approval_id}"
    decider = people if approval.needed == 1 else f"{people} ({approval.needed} different people)"
    deadline = f"{approval.deadline:%Y-%m-%d %H:%M} UTC"
    match news.event:
        case NoticeEvent.WAITING:
            return f"{subject} asked by {record.requester.id} waits for {decider}, until {deadline}."
        case NoticeEvent.ESCALATED:
            return f"{subject} was not decided in time and is for {decider} now, until {deadline}."
        case NoticeEvent.EXPIRED:
            return f"{subject} was not decided in time: its calls are not made."
        case NoticeEvent.DECIDED:
            by = ", ".join(decision.by.id for decision in approval.decisions)
            return f"{subject} is {approval.status.value}{f' by {by}' if by else ''}."


def _build_notice_data(news: ApprovalNews, link: str) -> JsonObject:
    """The notice's data, without what the privacy guard marks as personal."""
    approval, record = news.request
    view = build_approval_view(news.request)
    data = {
        **_select_fields(view, _COPIED_FIELDS),
        "summary": _write_notice_headline(news),
        "task": _redact_and_cut_text(record.request.text),
        "decisions": [_select_fields(row, _DECISION_FIELDS) for row in objects_in(view["decisions"])],
        "escalated_from": [escalation.level for escalation in approval.escalations],
        "calls": [_select_fields(row, _CALL_FIELDS) for row in objects_in(view["calls"])[:_MOST_CALLS]],
        "url": link,
    }
    return loads_object(dumps(cast(JsonObject, redact_json(data))))


def _select_fields(fields: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: fields[name] for name in names}


def _build_slack_blocks(news: ApprovalNews, title: str, link: str) -> Iterator[JsonObject]:
    approval, record = news.request
    calls = "\n".join(_describe_call(call) for call in approval.plan.calls[:_MOST_CALLS])
    reasons = "\n".join(
        f"• {_escape_slack_text(_redact_and_cut_text(reason))}" for reason in approval.reasons[:_MOST_CALLS]
    )
    yield _build_section(f"*{title}*")
    if record.request.text.strip():
        yield _build_section(_escape_slack_text(_redact_and_cut_text(record.request.text)))
    yield _build_section(f"*Calls*\n{calls}")
    if reasons:
        yield _build_section(f"*Because*\n{reasons}")
    yield {
        "type": "actions",
        "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Open in the console"}, "url": link}],
    }


def _build_section(text: str) -> JsonObject:
    """A Slack block with text; ``verbatim`` keeps Slack from making links or mentions of it."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:_LONGEST_BLOCK], "verbatim": True}}


def _describe_call(call: PlannedCall) -> str:
    arguments = _redact_and_cut_text(dumps(redact_json(call.arguments)))
    return f"• `{_escape_slack_text(call.tool)}` {_escape_slack_text(arguments)}"


def _escape_slack_text(text: str) -> str:
    """Escape Slack's control characters, so that the text can contain no mention and no link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _redact_and_cut_text(text: str) -> str:
    hidden = redact_text(text)
    return hidden if len(hidden) <= _LONGEST_TEXT else f"{hidden[:_LONGEST_TEXT]}..."


log = structlog.get_logger()
_NO_WEBHOOKS_TEXT = "no webhooks are offered here: WEBHOOK_SECRET is not set, or A2A_PUSH is off"


class Notifier:
    """Queues due notices about approvals for delivery. ``public_url``: the gateway's public URL, for links.

    ``queue``: the queue of their posts, None if webhooks are not offered; ``addresses``: the addresses
    that they may be sent to. A target that cannot be notified is logged and skipped. Nothing is lost if the process is
    killed.
    """

    def __init__(
        self,
        notices: DueNotices,
        approvals: Approvals,
        queue: RedisDeliveryQueue | None,
        addresses: AllowedAddresses,
        resolve_env_reference: ResolveEnvReference,
        public_url: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._notices = notices
        self._approvals = approvals
        self._queue = queue
        self._addresses = addresses
        self._resolve_env_reference = resolve_env_reference
        self._public_url = public_url
        self._clock = clock

    async def run(self, listen: OpenListener) -> None:
        """Queues due notices for delivery, until cancelled. ``listen``: opens an event that is set when a notice
        becomes due.
        """
        await keep_looking_when_due(listen, self._enqueue_due, "notices")

    async def _enqueue_due(self, _: asyncio.Event) -> float:
        """Queue the due notices; returns the seconds until the next look. One that fails does not stop the others."""
        notices = await self._notices.claim_due_notices()
        for notice in notices:
            try:
                await self.enqueue_notice(notice)
            except StoreUnavailable:
                raise
            except Exception:  # the outermost edge of a notice: it is owed again after a while
                log.exception("approval_notice_failed", tenant=notice.tenant, approval=notice.approval_id)
        return 0 if notices else LOOK_WITHOUT_NEWS_SECONDS

    async def enqueue_notice(self, notice: NoticeMember) -> None:
        """Queue one notice for each of its approval's targets; a repeat is harmless. Raises ``StoreUnavailable``."""
        request = await self._approvals.find_approval(notice.tenant, notice.approval_id)
        if request is not None:
            news = ApprovalNews(NoticeEvent(notice.event), notice.step, request)
            for target in request.approval.notices:
                if news.event in target.events:
                    await self._enqueue_for_target(target, news)
        await self._notices.remove_notice(notice)

    async def _enqueue_for_target(self, target: NoticeTarget, news: ApprovalNews) -> None:
        queue, tenant = self._queue, news.request.record.tenant
        try:
            if queue is None:
                raise UnreadableReference(_NO_WEBHOOKS_TEXT)
            url, secret = self._resolve_target(target, tenant)
        except UnreadableReference as problem:
            approval_id = news.request.approval.approval_id
            log.error("approval_notice_not_sent", tenant=tenant, approval=approval_id, problem=str(problem))
            return
        await queue.enqueue(build_signed_post(news, target, url, secret, self._public_url, self._clock()))

    def _resolve_target(self, target: NoticeTarget, tenant: str) -> tuple[str, str]:
        """The URL and secret that a target's fields refer to; raises ``UnreadableReference``."""
        url = self._resolve_env_reference(target.url, tenant)
        secret = self._resolve_env_reference(target.secret, tenant)
        if problem := why_url_refused(url, self._addresses):
            raise UnreadableReference(f"the URL of a notice target: {problem}")
        if secret and not is_webhook_secret(secret):
            raise UnreadableReference(f"{target.secret} holds no secret of Standard Webhooks")
        return url, secret
