"""What a chaos run must find: each harm, when there is one, and nothing when there is none."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from cli.gateway.messages import TaskView
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tools.chaos.chaos_tasks import ChaosTask, ChaosTaskKind, Intended, SeededRow
from tools.chaos.evidence import Crossing, Harm, RunEvidence
from tools.chaos.findings import findings, untold_writes
from tools.chaos.gateway_caller import AcceptedTask
from tools.chaos.ledgers import AppliedWrite, CompanyLedger
from tools.chaos.load import SentTask
from tools.chaos.recovery import percentile
from tools.chaos.schedule import Planned
from tools.chaos.sight import Counted

_REASON = "it arrived late"
_REFUND = AppliedWrite("create_refund", {"order_id": "ORD-1", "amount": "5.00", "reason": _REASON})
_OTHER = AppliedWrite("create_refund", {"order_id": "ORD-9", "amount": "5.00", "reason": _REASON})
REPORTED: JsonObject = {
    "tool": "create_refund",
    "arguments": {"order_id": "ORD-1", "amount": 5, "reason": _REASON},
    "status": "verified",
}


def sent_refund() -> SentTask:
    intended = Intended("create_refund", (("order_id", "ORD-1"),), (("amount", "5.00"), ("reason", _REASON)))
    wanted = ChaosTask(
        ChaosTaskKind.REFUND, "Refund 5.00 of order ORD-1.", (SeededRow("orders", {"id": "ORD-1"}),), (intended,)
    )
    return SentTask(Planned(0, 0.0, wanted, "mcp"), accepted=AcceptedTask("t1", "s1"))


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
    assert findings(replace(intact_evidence(), sent=(sent,))) == ()


@pytest.mark.promise("chaos.finds_harm")
def test_nothing_is_found_where_nothing_happened() -> None:
    assert findings(intact_evidence()) == ()
    assert untold_writes(intact_evidence()) == ()


@pytest.mark.promise("chaos.finds_harm")
@each_row(
    ("harm", "spoil"),
    [
        (Harm.LOST, lambda e: replace(e, views={"t1": _view("working")}, counted=Counted(frozenset(), 0))),
        (Harm.LOST, lambda e: replace(e, views={}, counted=Counted(frozenset(), 0))),
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
    ],
)
def test_each_harm_is_found_alone(harm: Harm, spoil: Callable[[RunEvidence], RunEvidence]) -> None:
    """And named with the task that it befell, where there is one."""
    assert [finding.harm for finding in findings(spoil(intact_evidence()))] == [harm]


def test_a_write_that_its_task_does_not_tell_of_is_shown() -> None:
    """It is no harm by itself, but somebody should look."""
    silent = replace(intact_evidence(), views={"t1": _view("failed", ())})
    assert len(untold_writes(silent)) == 1


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([float(second) for second in range(100)], 0.95) == 95.0
    assert percentile([], 0.95) is None
