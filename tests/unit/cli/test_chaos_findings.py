"""What a chaos run must find: each harm to a write, a call or an approval when there is one, and nothing otherwise."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from random import Random

import pytest

from cli.gateway.messages import TaskView
from shared.domain.exact_json import Json, JsonObject, dumps
from tests.each_row import each_row
from tools.chaos.chaos_tasks import ChaosTask, ChaosTaskKind, IntendedWrite, SeededRow, make_task
from tools.chaos.evidence import Crossing, Harm, RunEvidence
from tools.chaos.findings import find_harms, find_untold_writes
from tools.chaos.gateway_caller import AcceptedTask
from tools.chaos.ledgers import AppliedWrite, CompanyLedger
from tools.chaos.load import GivenApproval, SentTask
from tools.chaos.schedule import PlannedTask
from tools.chaos.sent_calls import CallTap, SentCall
from tools.chaos.sight import Counted
from tools.chaos.tails import LostTail
from tools.chaos.writes import judge_writes, reported_repetitions

_REASON = "it arrived late"
_REFUND = AppliedWrite("create_refund", {"order_id": "ORD-1", "amount": "5.00", "reason": _REASON})
_OTHER = AppliedWrite("create_refund", {"order_id": "ORD-9", "amount": "5.00", "reason": _REASON})
REPORTED: JsonObject = {
    "tool": "create_refund",
    "arguments": {"order_id": "ORD-1", "amount": 5, "reason": _REASON},
    "status": "verified",
}


def sent_refund() -> SentTask:
    intended = IntendedWrite("create_refund", (("order_id", "ORD-1"),), (("amount", "5.00"), ("reason", _REASON)))
    wanted = ChaosTask(
        ChaosTaskKind.REFUND, "Refund 5.00 of order ORD-1.", (SeededRow("orders", {"id": "ORD-1"}),), (intended,)
    )
    return SentTask(PlannedTask(0, 0.0, wanted, "mcp"), accepted=AcceptedTask("t1", "s1"))


def _view(state: str = "completed", writes: tuple[Json, ...] = (REPORTED,)) -> TaskView:
    return TaskView("t1", state, "Done.", {"writes": [*writes]})


def intact_evidence() -> RunEvidence:
    """A run in which all is as it should be."""
    return RunEvidence(
        sent=(sent_refund(),),
        views={"t1": _view()},
        books={"mcp": CompanyLedger((_REFUND,)), "rest": CompanyLedger(())},
        counted=Counted(frozenset({"t1:1"}), 1, ("t1:1",)),
        known_tasks=frozenset({"t1"}),
    )


def _books(*writes: AppliedWrite) -> dict[str, CompanyLedger]:
    return {"mcp": CompanyLedger(writes), "rest": CompanyLedger(())}


def _said_twice(evidence: RunEvidence) -> RunEvidence:
    sent = sent_refund()
    sent.twice = "the message sent again made a second task"
    return replace(evidence, sent=(sent,))


def _resent_as_another(evidence: RunEvidence) -> RunEvidence:
    sent = sent_refund()
    sent.resent_as = "t2"
    return replace(evidence, sent=(sent,))


def _refused_after_a_cut_tail(evidence: RunEvidence) -> RunEvidence:
    sent = sent_refund()
    sent.accepted, sent.lost_ids = None, ["t1"]
    return replace(
        evidence, sent=(sent,), books=_books(), views={}, counted=Counted(frozenset(), 0), known_tasks=frozenset()
    )


def test_a_message_whose_first_task_lay_in_a_cut_tail_may_lead_to_another() -> None:
    sent = sent_refund()
    sent.resent_as, sent.lost_ids = "t0", ["t0"]
    assert find_harms(replace(intact_evidence(), sent=(sent,))) == ()


@pytest.mark.promise("chaos.finds_harm")
def test_nothing_is_found_where_nothing_happened() -> None:
    assert find_harms(intact_evidence()) == ()
    assert find_untold_writes(intact_evidence()) == ()


@pytest.mark.promise("chaos.finds_harm")
@each_row(
    ("harm", "spoil"),
    (Harm.LOST, lambda e: replace(e, views={"t1": _view("working")}, counted=Counted(frozenset(), 0))),
    (Harm.LOST, _refused_after_a_cut_tail),
    (Harm.TWICE_ACCEPTED, _said_twice),
    (Harm.TWICE_ACCEPTED, _resent_as_another),
    (Harm.TENANTS_MIXED, lambda e: replace(e, crossings=(Crossing("t1", "it was shown"),))),
    (Harm.OVER_LIMIT, lambda e: replace(e, over_limit=(Crossing("-", "41 waited"),))),
    (Harm.TWICE_ACCEPTED, lambda e: replace(e, known_tasks=frozenset({"t1", "t2"}))),
    (Harm.DOUBLE_WRITE, lambda e: replace(e, books=_books(_REFUND, _REFUND))),
    (Harm.UNCALLED_WRITE, lambda e: replace(e, books=_books(_REFUND, _OTHER))),
    (Harm.FALSE_PROOF, lambda e: replace(e, books=_books())),
    (Harm.OUTCOME_MISSING, lambda e: replace(e, counted=Counted(frozenset(), 0))),
    (Harm.OUTCOME_REPEATED, lambda e: replace(e, counted=Counted(frozenset({"t1:1"}), 2))),
    (Harm.OUTCOME_REPEATED, lambda e: replace(e, counted=Counted(frozenset({"t1:1", "t1:2"}), 2))),
    (Harm.OUTCOME_REPEATED, lambda e: replace(e, counted=Counted(frozenset({"t1:1"}), 1, ("t1:1", "t1:1")))),
)
def test_each_harm_is_found_alone(harm: Harm, spoil: Callable[[RunEvidence], RunEvidence]) -> None:
    """And named with the task that it befell, where there is one."""
    assert [finding.harm for finding in find_harms(spoil(intact_evidence()))] == [harm]


def test_a_write_that_its_task_does_not_tell_of_is_shown() -> None:
    """It is no harm by itself, but somebody should look."""
    silent = replace(intact_evidence(), views={"t1": _view("failed", ())})
    assert len(find_untold_writes(silent)) == 1


def _told_twice(*calls: SentCall, tails: tuple[LostTail, ...]) -> RunEvidence:
    """A claimant was told twice, by these calls, while Redis lost these tails of its log."""
    notice = IntendedWrite("notify_employee", (("employee_id", "EMP-1"),))
    sent = sent_refund()
    sent.planned = replace(sent.planned, task=replace(sent.planned.task, writes=(notice,)))
    applied = AppliedWrite("notify_employee", {"employee_id": "EMP-1"})
    return replace(intact_evidence(), sent=(sent,), calls=calls, books=_books(applied, applied), tails=tails)


_TAIL = LostTail("log-tail-cut", began=9.9, ended=10.2)


@each_row(
    ("keys", "at", "is_harm"),
    (("", ""), 10.0, False),  # its intent lay in the tail, and nothing tells that it was sent
    (("", ""), 9.0, True),  # its intent was stored before
    (("k1", "k2"), 10.0, True),  # the company knows our keys
)
def test_a_notice_is_made_twice_only_where_its_intent_lay_in_a_cut_tail(
    keys: tuple[str, str], at: float, is_harm: bool
) -> None:
    calls = [
        SentCall(moment, "mcp", "notify_employee", {"employee_id": "EMP-1"}, key)
        for moment, key in zip((at, 30.0), keys, strict=True)
    ]
    evidence = _told_twice(*calls, tails=(_TAIL,))
    assert [one.harm for one in judge_writes(evidence) if one.harm is Harm.DOUBLE_WRITE] == [
        Harm.DOUBLE_WRITE
    ] * is_harm
    assert len(reported_repetitions(evidence)) == (not is_harm)


_ASKED: JsonObject = {"order_id": "ORD-1", "amount": "5.00", "reason": "it arrived late"}


def _call(at: float = 10.0, **changes: str) -> SentCall:
    return SentCall(at, "mcp", "create_refund", {**_ASKED, **changes})


def _evidence(sent: SentTask, *calls: SentCall, applied: tuple[JsonObject, ...] = (_ASKED,)) -> RunEvidence:
    books = {"mcp": CompanyLedger(AppliedWrite("create_refund", one) for one in applied), "rest": CompanyLedger(())}
    return replace(intact_evidence(), sent=(sent,), calls=calls, books=books)


def test_no_tail_excuses_a_change_that_a_read_shows() -> None:
    calls = (_call(10.0), _call(30.0))
    evidence = replace(_evidence(sent_refund(), *calls, applied=(_ASKED, _ASKED)), tails=(_TAIL,))
    assert Harm.DOUBLE_WRITE in [one.harm for one in judge_writes(evidence)]


def _approved(*amounts: str, at: float = 5.0) -> SentTask:
    """A refund that needs an approval, and what its approver saw."""
    sent = sent_refund()
    sent.planned = replace(sent.planned, task=replace(sent.planned.task, decision="approve"))
    sent.approvals = [GivenApproval(at, (("create_refund", {**_ASKED, "amount": amount}),)) for amount in amounts]
    return sent


def _canceled(taken_at: float, said: str) -> SentTask:
    sent = sent_refund()
    sent.cancel_taken_at, sent.cancel_said = taken_at, said
    return sent


def _harms(evidence: RunEvidence) -> list[Harm]:
    return [finding.harm for finding in find_harms(evidence)]


@pytest.mark.promise("chaos.finds_harm")
@each_row(
    "evidence",
    _evidence(sent_refund(), _call()),
    _evidence(_approved("9.00", "5.00"), _call()),
    _evidence(_canceled(10.5, "canceled"), _call()),
    _evidence(_canceled(9.0, "working"), _call()),
)
def test_a_write_as_it_should_be_is_no_finding(evidence: RunEvidence) -> None:
    assert _harms(evidence) == []


@pytest.mark.promise("chaos.finds_harm")
@each_row(
    ("evidence", "harm"),
    (_evidence(_approved("5.00", at=10.2), _call()), Harm.BEFORE_APPROVAL),
    (_evidence(_approved("4.00"), _call()), Harm.NOT_AS_APPROVED),
    (_evidence(_canceled(9.9, "canceled"), _call()), Harm.AFTER_CANCEL),
    (_evidence(_canceled(7.0, "input-required"), _call()), Harm.AFTER_CANCEL),
    (_evidence(sent_refund(), _call(), _call(12.0), applied=(_ASKED, _ASKED)), Harm.DOUBLE_WRITE),
    (_evidence(sent_refund(), _call(), applied=(_ASKED, _ASKED)), Harm.DOUBLING_PROVED),
    (_evidence(sent_refund(), _call(), _call(11.0, order_id="ORD-7")), Harm.UNCALLED_WRITE),
    (_evidence(sent_refund(), _call(), _call(11.0, amount="6.00")), Harm.WRONG_ARGUMENT),
)
def test_a_write_that_should_not_be_is_found(evidence: RunEvidence, harm: Harm) -> None:
    assert _harms(evidence) == [harm]


@pytest.mark.promise("chaos.finds_harm")
@each_row("change", [{"amount": "5.01"}, {"reason": "it arrived broken"}, {"note": "by the way"}])
def test_every_argument_counts(change: JsonObject) -> None:
    """Also where the company applied it so, and the task tells of it as asked: that proof is false as well."""
    found = _harms(_evidence(sent_refund(), _call(), applied=({**_ASKED, **change},)))

    assert found == [Harm.WRONG_ARGUMENT, Harm.FALSE_PROOF]


@pytest.mark.promise("chaos.finds_harm")
def test_what_is_sent_again_under_one_key_is_asked_for_once() -> None:
    view = replace(intact_evidence().views["t1"], metadata={"writes": [{**REPORTED, "status": "unverified"}]})
    first, again = _call()._replace(key="k"), _call(12.0)._replace(key="k")

    def judge(*calls: SentCall) -> list[Harm]:
        return _harms(replace(_evidence(sent_refund(), *calls, applied=(_ASKED, _ASKED)), views={"t1": view}))

    assert (judge(first, again), judge(first, again._replace(key="other"))) == ([], [Harm.DOUBLE_WRITE])


@pytest.mark.promise("chaos.finds_harm")
def test_a_task_that_spent_more_than_its_ceiling_is_found() -> None:
    told = intact_evidence().views["t1"]
    spent = replace(told, metadata={**told.metadata, "spend": {"tokens": 1001, "token_limit": 1000}})
    within = replace(told, metadata={**told.metadata, "spend": {"tokens": 1000, "token_limit": 1000}})

    assert _harms(replace(intact_evidence(), views={"t1": spent})) == [Harm.OVERSPENT]
    assert _harms(replace(intact_evidence(), views={"t1": within})) == []


def test_a_notice_may_end_with_the_workers_own_sentence_and_begin_with_no_other() -> None:
    """Only the notice's text: what it tells of may be acknowledged, and not proved."""
    notice = make_task(ChaosTaskKind.CLAIM_AND_NOTICE, 1, Random(1)).writes[1]  # noqa: S311  # not a secret
    told = {**dict(notice.telling), "message": dict(notice.begins)["message"]}

    assert notice.differences({**told, "message": f"{told['message']} It is not confirmed yet."}) == ()
    assert notice.differences({**told, "message": f"Hello, {told['message']}"})


_OVER_MCP: JsonObject = {
    "method": "tools/call",
    "params": {"name": "create_refund", "arguments": {"order_id": "ORD-1", "idempotency_key": "k"}},
}
_OVER_THE_BRIDGE: JsonObject = {"tool": "get_order", "params": {"order_id": "ORD-1"}, "session_id": "s"}


def _request(body: str, header: str = "") -> bytes:
    stated = header or f"Content-Length: {len(body.encode())}"
    return f"POST /mcp HTTP/1.1\r\nHost: company\r\n{stated}\r\n\r\n{body}".encode()


def _tap() -> CallTap:
    clock = count(1)
    return CallTap("mcp", lambda: float(next(clock)))


@each_row("size", [1, 10_000])
def test_calls_of_both_protocols_are_read_in_any_pieces(size: int) -> None:
    """Without our key, with the moment at which the last byte was there, and whether they may write."""
    tap = _tap()
    hear = tap.listen()
    stream = _request(dumps(_OVER_MCP)) + b"GET /tools HTTP/1.1\r\n\r\n" + _request(dumps(_OVER_THE_BRIDGE))
    for first in range(0, len(stream), size):
        hear(stream[first : first + size])

    told = [(call.at, call.tool, call.arguments, call.may_write) for call in tap.calls]
    assert told == [
        (1.0, "create_refund", {"order_id": "ORD-1"}, True),
        (2.0, "get_order", {"order_id": "ORD-1"}, False),
    ]
    assert tap.unreadable == 0


@pytest.mark.promise("chaos.judges_itself")
def test_a_request_that_cannot_be_read_is_counted() -> None:
    """A run that cannot see what was sent must not say that nothing was."""
    tap = _tap()
    tap.listen()(_request("5\r\nhello\r\n", "Transfer-Encoding: chunked"))

    assert tap.unreadable == 1
