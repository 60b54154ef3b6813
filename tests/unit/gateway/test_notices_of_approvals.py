"""Who is told of an approval, in which form, and what is left out."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import cast

import pytest
from typing_extensions import override

from services.gateway.features.approvals.approvals import Approvals, DueNotices, resolve_env_reference
from services.gateway.features.approvals.notices import ApprovalNews, Notifier, build_signed_post
from services.gateway.features.approvals.views import ApprovalRequest
from services.gateway.features.deliveries.store import RedisDeliveryQueue
from services.gateway.features.webhooks.model import SignedPost
from shared.contracts.approval import Approval, NoticeEvent, NoticeTarget
from shared.contracts.plan import WritePlan
from shared.contracts.task import Principal, TaskRecord, TaskRequest
from shared.domain.exact_json import JsonObject, dumps, loads_object
from shared.domain.outgoing import AllowedAddresses
from shared.infra.keys import NoticeMember
from tests.doubles.redis_tasks import a_record
from tests.each_row import each_row
from tests.unit.executor_core.makers import approval, call

_NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
_HOOK = "https://hooks.example/T/B"
_SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four bytes").decode()


def _approval(*targets: NoticeTarget) -> Approval:
    pay = call({"amount": 12, "card": "4111111111111111"}, tool="pay")
    asked = {"level": "manager", "requester_id": "anna", "reasons": ("LIMIT: over <the> limit",)}
    times = {"asked_at": _NOW, "deadline": _NOW + timedelta(hours=1)}
    return approval(WritePlan(task_id="t1", calls=(pay,)), **asked, **times, notices=targets)


def _record() -> TaskRecord:
    asked = TaskRequest(text="Pay <!channel> with 4111 1111 1111 1111")
    return a_record("s1", "t1").model_copy(update={"request": asked})


class OneApproval(Approvals):
    def __init__(self, approval: Approval) -> None:
        self.request = ApprovalRequest(approval, _record())

    @override
    async def find_approval(self, tenant: str, approval_id: str) -> ApprovalRequest | None:
        return self.request if (tenant, approval_id) == ("acme", "a1") else None


def _due(approval_id: str, event: NoticeEvent = NoticeEvent.WAITING) -> NoticeMember:
    return NoticeMember(event.value, "0", approval_id, "acme", "s1", "t1")


class ListedNotices(DueNotices):
    def __init__(self, *due: NoticeMember) -> None:
        self.due = list(due)

    @override
    async def claim_due_notices(self) -> Sequence[NoticeMember]:
        return list(self.due)

    @override
    async def remove_notice(self, due: NoticeMember) -> None:
        self.due.remove(due)


class HeardPosts(RedisDeliveryQueue):
    def __init__(self) -> None:
        self.heard: list[SignedPost] = []

    @override
    async def enqueue(self, delivery: SignedPost) -> None:
        self.heard.append(delivery)


async def _told(
    *targets: NoticeTarget, event: NoticeEvent = NoticeEvent.WAITING, environ: Mapping[str, str] | None = None
) -> tuple[list[SignedPost], ListedNotices]:
    notices, posts = ListedNotices(_due("a1", event)), HeardPosts()
    notifier = _notifier(notices, OneApproval(_approval(*targets)), posts, environ or {})
    for due in await notices.claim_due_notices():
        await notifier.enqueue_notice(due)
    return posts.heard, notices


def _notifier(
    notices: DueNotices,
    approvals: Approvals,
    posts: RedisDeliveryQueue,
    environ: Mapping[str, str] = MappingProxyType({}),
) -> Notifier:
    reach = AllowedAddresses(permits_public=True, schemes=frozenset({"https"}))
    references = partial(resolve_env_reference, environ=environ)
    return Notifier(notices, approvals, posts, reach, references, "https://purple.example/", lambda: _NOW)


@pytest.mark.promise("approvals.notices", "approvals.notices_masked")
async def test_a_target_is_told_what_is_asked_of_whom_and_where_to_answer_and_no_card_number() -> None:
    (delivery,), left = await _told(NoticeTarget(url=_HOOK))
    said = loads_object(delivery.body)
    data = said["data"]
    assert isinstance(data, dict)
    assert (said["type"], delivery.url, left.due) == ("approval_waiting", _HOOK, [])
    assert (data["approval_id"], data["level"], data["requester"]) == ("a1", "manager", "anna")
    assert "4111" not in delivery.body
    assert data["url"] == "https://purple.example/console/approvals/a1"
    assert data["summary"] == "Approval a1 asked by anna waits for a manager, until 2026-03-02 13:00 UTC."


@pytest.mark.promise("approvals.notices")
@each_row("text", ["", "&" * 700])
async def test_slack_gets_no_block_that_it_refuses(text: str) -> None:
    record = _record()
    record = record.model_copy(update={"request": TaskRequest(text=text), "requester": Principal(id="<!here>")})
    told = ApprovalNews(NoticeEvent.WAITING, "0", ApprovalRequest(_approval(), record))
    target = NoticeTarget(url=_HOOK, format="slack")
    said = loads_object(build_signed_post(told, target, _HOOK, "", "https://purple.example", _NOW).body)
    blocks = cast("list[dict[str, dict[str, str]]]", said["blocks"])
    texts = [block["text"]["text"] for block in blocks if "text" in block]
    assert all(1 <= len(one) <= 3_000 for one in texts)
    assert "<!here>" not in dumps(said)


@pytest.mark.promise("approvals.notices", "approvals.notices_masked")
async def test_in_slack_nobody_is_called_by_what_a_task_says_and_no_card_number_leaves() -> None:
    (delivery,), _ = await _told(NoticeTarget(url=_HOOK, format="slack"))
    said = loads_object(delivery.body)
    assert {*said} == {"text", "blocks"}
    assert not any(said in delivery.body for said in ("<!channel>", "4111"))
    assert "&lt;!channel&gt;" in delivery.body
    assert delivery.body.count("mrkdwn") == delivery.body.count('"verbatim":true') > 0  # else "@here" would call all
    assert _buttons(said) == ["https://purple.example/console/approvals/a1"]


@pytest.mark.promise("approvals.notices", "approvals.notices_once")
async def test_the_events_that_a_target_wants_are_told_alone_and_each_is_one_delivery() -> None:
    """So that whoever takes it up again after a crash enqueues nothing new."""
    target = NoticeTarget(url=_HOOK, events=(NoticeEvent.EXPIRED,))
    nothing, left = await _told(target)
    something, _ = await _told(target, event=NoticeEvent.EXPIRED)
    assert (nothing, left.due, len(something)) == ([], [], 1)
    (once,), _ = await _told(NoticeTarget(url=_HOOK))
    (again,), _ = await _told(NoticeTarget(url=_HOOK))
    (other,), _ = await _told(NoticeTarget(url=f"{_HOOK}/2"))
    assert once.delivery_id == again.delivery_id != other.delivery_id


@pytest.mark.promise("approvals.notices_walls")
async def test_references_are_read_within_the_tenants_walls() -> None:
    own, others = "TOOL_CREDENTIAL__ACME__HOOK", "TOOL_CREDENTIAL__OTHER__HOOK"
    target = NoticeTarget(url=f"env:{own}", secret="env:TOOL_CREDENTIAL__ACME__SIGN")
    environ = {own: _HOOK, others: _HOOK, "TOOL_CREDENTIAL__ACME__SIGN": _SECRET}
    (delivery,), _ = await _told(target, environ=environ)
    assert (delivery.url, delivery.secret) == (_HOOK, _SECRET)
    assert (await _told(NoticeTarget(url=f"env:{others}"), environ=environ))[0] == []
    assert (await _told(NoticeTarget(url="env:PATH"), environ={"PATH": _HOOK}))[0] == []


@pytest.mark.promise("approvals.notices_walls")
async def test_a_target_that_may_not_be_called_or_has_no_secret_is_passed_and_the_others_are_told() -> None:
    heard, left = await _told(NoticeTarget(url="http://inside.example"), NoticeTarget(url=_HOOK))
    assert ([one.url for one in heard], left.due) == ([_HOOK], [])
    unsigned = NoticeTarget(url=_HOOK, secret="env:TOOL_CREDENTIAL__ACME__SIGN")
    assert (await _told(unsigned, environ={"TOOL_CREDENTIAL__ACME__SIGN": "short"}))[0] == []


def _buttons(said: JsonObject) -> list[object]:
    blocks = json.loads(dumps(said["blocks"]))
    return [element["url"] for block in blocks for element in block.get("elements", ())]


class OneUnreadable(OneApproval):
    """Another version of the gateway wrote ``broken``."""

    @override
    async def find_approval(self, tenant: str, approval_id: str) -> ApprovalRequest | None:
        if approval_id == "broken":
            raise ValueError("no approval that this version can read")
        return await super().find_approval(tenant, approval_id)


class TakenOnce(ListedNotices):
    """What is not done is owed again only later; ``told`` is set once ``n2`` is done."""

    def __init__(self, *due: NoticeMember) -> None:
        super().__init__(*due)
        self.told = asyncio.Event()
        self._taken: set[NoticeMember] = set()

    @override
    async def claim_due_notices(self) -> Sequence[NoticeMember]:
        fresh = [one for one in self.due if one not in self._taken]
        self._taken |= {*fresh}
        return fresh

    @override
    async def remove_notice(self, due: NoticeMember) -> None:
        await super().remove_notice(due)
        self.told.set()


@pytest.mark.promise("approvals.notices")
async def test_an_approval_that_cannot_be_read_keeps_nobody_from_being_told_of_others() -> None:
    broken = _due("broken")
    notices, posts = TakenOnce(broken, _due("a1")), HeardPosts()
    notifier = _notifier(notices, OneUnreadable(_approval(NoticeTarget(url=_HOOK))), posts)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        running = group.create_task(notifier.run(_listening))
        await notices.told.wait()
        running.cancel()
    assert ([one.url for one in posts.heard], notices.due) == ([_HOOK], [broken])


@asynccontextmanager
async def _listening() -> AsyncIterator[asyncio.Event]:
    yield asyncio.Event()
