"""What a run finds wrong with a write: each argument, each call on the line, each approval and cancel."""

from dataclasses import replace
from random import Random

import pytest

from shared.domain.exact_json import JsonObject
from tests.each_row import each_row
from tests.unit.cli.test_chaos_findings import REPORTED, intact_evidence, sent_refund
from tools.chaos.chaos_tasks import ChaosTaskKind, equal_arguments, make_task
from tools.chaos.evidence import Harm, RunEvidence
from tools.chaos.findings import findings
from tools.chaos.ledgers import AppliedWrite, CompanyLedger
from tools.chaos.load import Approved, SentTask
from tools.chaos.sent_calls import SentCall

_ASKED: JsonObject = {"order_id": "ORD-1", "amount": "5.00", "reason": "it arrived late"}


def _call(at: float = 10.0, **changes: str) -> SentCall:
    return SentCall(at, "mcp", "create_refund", {**_ASKED, **changes})


def _evidence(sent: SentTask, *calls: SentCall, applied: tuple[JsonObject, ...] = (_ASKED,)) -> RunEvidence:
    books = {
        "mcp": CompanyLedger(AppliedWrite("create_refund", one) for one in applied),
        "rest": CompanyLedger(()),
    }
    return replace(intact_evidence(), sent=(sent,), calls=calls, books=books)


def _approved(*amounts: str, at: float = 5.0) -> SentTask:
    """A refund that needs an approval, and what its approver saw."""
    sent = sent_refund()
    sent.planned = replace(sent.planned, task=replace(sent.planned.task, decision="approve"))
    sent.approvals = [Approved(at, (("create_refund", {**_ASKED, "amount": amount}),)) for amount in amounts]
    return sent


def _canceled(taken_at: float, said: str) -> SentTask:
    sent = sent_refund()
    sent.cancel_taken_at, sent.cancel_said = taken_at, said
    return sent


def _harms(evidence: RunEvidence) -> list[Harm]:
    return [finding.harm for finding in findings(evidence)]


@pytest.mark.promise("chaos.finds_harm")
@each_row(
    "evidence",
    [
        _evidence(sent_refund(), _call()),
        _evidence(_approved("5.00"), _call()),
        _evidence(_approved("9.00", "5.00"), _call()),
        _evidence(_canceled(10.5, "canceled"), _call()),
        _evidence(_canceled(9.0, "working"), _call()),
    ],
)
def test_a_write_as_it_should_be_is_no_finding(evidence: RunEvidence) -> None:
    assert _harms(evidence) == []


@pytest.mark.promise("chaos.finds_harm")
@each_row(
    ("evidence", "harm"),
    [
        (_evidence(_approved("5.00", at=10.2), _call()), Harm.BEFORE_APPROVAL),
        (_evidence(_approved(), _call()), Harm.BEFORE_APPROVAL),
        (_evidence(_approved("4.00"), _call()), Harm.NOT_AS_APPROVED),
        (_evidence(_canceled(9.9, "canceled"), _call()), Harm.AFTER_CANCEL),
        (_evidence(_canceled(7.0, "input-required"), _call()), Harm.AFTER_CANCEL),
        (_evidence(sent_refund(), _call(), _call(12.0), applied=(_ASKED, _ASKED)), Harm.DOUBLE_WRITE),
        (_evidence(sent_refund(), _call(), applied=(_ASKED, _ASKED)), Harm.DOUBLING_PROVED),
        (_evidence(sent_refund(), _call(), _call(11.0, order_id="ORD-7")), Harm.UNCALLED_WRITE),
        (_evidence(sent_refund(), _call(), _call(11.0, amount="6.00")), Harm.WRONG_ARGUMENT),
    ],
)
def test_a_write_that_should_not_be_is_found(evidence: RunEvidence, harm: Harm) -> None:
    assert _harms(evidence) == [harm]


@pytest.mark.promise("chaos.finds_harm")
@each_row("change", [{"amount": "5.01"}, {"reason": "it arrived broken"}, {"note": "by the way"}])
def test_every_argument_counts(change: JsonObject) -> None:
    """Also where the company applied it so, and the task tells of it as asked: that proof is false as well."""
    found = _harms(_evidence(sent_refund(), _call(), applied=({**_ASKED, **change},)))

    assert found == [Harm.WRONG_ARGUMENT, Harm.FALSE_PROOF]


def test_a_doubling_by_a_company_that_is_not_called_proved_is_no_harm() -> None:
    view = replace(intact_evidence().views["t1"], metadata={"writes": [{**REPORTED, "status": "unverified"}]})

    assert _harms(replace(_evidence(sent_refund(), _call(), applied=(_ASKED, _ASKED)), views={"t1": view})) == []


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


def test_amounts_are_compared_as_numbers_and_everything_else_as_it_is() -> None:
    assert equal_arguments({"amount": 5, "note": None}, {"amount": "5.00"})
    assert not equal_arguments({"amount": True}, {"amount": 1, "note": "x"})
    assert not equal_arguments({"order_id": "ORD-1"}, {"order_id": "ORD-10"})


def test_a_notice_may_end_with_the_workers_own_sentence_and_begin_with_no_other() -> None:
    """Only the notice's text: what it tells of may be acknowledged, and not proved."""
    notice = make_task(ChaosTaskKind.CLAIM_AND_NOTICE, 1, Random(1)).writes[1]  # noqa: S311  # not a secret
    told = {**dict(notice.telling), "message": dict(notice.begins)["message"]}

    assert notice.differences({**told, "message": f"{told['message']} It is not confirmed yet."}) == ()
    assert notice.differences({**told, "message": f"Hello, {told['message']}"})
