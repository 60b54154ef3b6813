"""The planner says which of the listed kinds a task is, and how a kind is carried out that nobody described."""

import pytest

from services.executor.core.fsm.synthesis import Proposed, synthesized
from services.executor.core.fsm.templates import TEMPLATES
from services.executor.core.prime.classifier import Answer, label, sections
from services.executor.core.prime.classify import classify as by_words
from services.planner.core.request import Request
from services.planner.core.roles import reply
from shared.domain.exact_json import Json, dumps
from shared.domain.words import FsmState

KINDS: Json = [
    {"process_type": "invoice_reconciliation", "words": ["invoice", "reconcile"]},
    {"process_type": "procurement", "words": ["purchase order"]},
    {"process_type": "order_management", "words": ["order"]},
    {"process_type": "general", "words": []},
]


def _named(task: str, kinds: Json = KINDS) -> Answer:
    asked = Request("CLASSIFY", {"task": task, "processes": dumps(kinds)}, "", (), None, ())
    return Answer.model_validate_json(reply(asked).text)


def _designed(task: str) -> Proposed:
    asked = Request("NEW PROCESS", {"task": task, "process_type": "fleet_care"}, "", (), None, ())
    return Proposed.model_validate_json(reply(asked).text)


@pytest.mark.promise("planner.classifies")
@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("Reconciling the invoices of May with the purchase order", "invoice_reconciliation"),
        ("Close the purchase orders of May", "procurement"),
        ("Ship the order", "order_management"),
        ("Water the plants", "general"),
        ("Process type: fleet_maintenance. Service van V-7.", "fleet_maintenance"),
    ],
)
def test_a_task_is_of_the_kind_whose_words_it_uses_most(task: str, kind: str) -> None:
    """In any form of the words; a kind that is not listed is said only where the task names it."""
    assert _named(task).process_type == kind


@pytest.mark.promise("planner.classifies")
def test_a_kind_without_words_is_known_by_its_name() -> None:
    kinds: Json = [{"process_type": "badge_renewal", "words": []}, {"process_type": "general", "words": []}]
    assert _named("Do the badge renewals of May", kinds).process_type == "badge_renewal"
    assert _named("Renew it", kinds).process_type == "general"


@pytest.mark.promise("planner.classifies")
def test_an_even_share_of_many_kinds_is_said_to_be_unsure() -> None:
    kinds: Json = [{"process_type": name, "words": [name]} for name in ("invoice", "order", "claim")]
    assert _named("The claim, the invoice and the order", kinds).confidence < 0.5


@pytest.mark.promise("planner.classifies")
@pytest.mark.parametrize(
    "task",
    [
        "Flag the invoice with the difference between it and its purchase order, its reconciliation is uneven",
        "Record an SLA credit for the incident: the service level is broken",
        "Assign the asset to the employee",
    ],
)
def test_where_the_words_leave_room_it_agrees_with_their_first_choice(task: str) -> None:
    """A stack without a model carries a task out as its words alone would have it."""
    said = sections(task, TEMPLATES)
    asked = Request("CLASSIFY", {"task": task, "processes": dumps(said["processes"])}, "", (), None, ())
    answer = Answer.model_validate_json(reply(asked).text)
    assert not by_words(task).settled
    assert label(answer, TEMPLATES).process_type == by_words(task).process_type


@pytest.mark.promise("planner.classifies")
@pytest.mark.parametrize(
    ("task", "risk", "more"),
    [
        ("Service van V-7", "low", set()),
        ("Pay the garage and notify the driver", "medium", {FsmState.SCHEDULE_NOTIFY}),
        ("Erase the record of van V-7", "high", {FsmState.APPROVAL_GATE}),
        ("Book the garage; it needs a sign-off", "low", {FsmState.APPROVAL_GATE}),
    ],
)
def test_a_design_follows_from_what_the_task_does(task: str, risk: str, more: set[FsmState]) -> None:
    """And it can be followed: nothing of the example stands in it."""
    proposed = _designed(task)
    template = synthesized("fleet_care", proposed, task)
    assert proposed.risk == risk
    assert {FsmState.SCHEDULE_NOTIFY, FsmState.APPROVAL_GATE} & set(template.states) == more
