"""The policy that a process brings with it, as it is made for a plan."""

import pytest

from services.executor.core.process.figures import compute_figures
from services.executor.core.process.rules import not_known, process_policy
from services.executor.core.session.dossier import Dossier
from services.executor.core.session.values import FigureResults
from services.executor.core.states.machine import GENERAL, TEMPLATES, ProcessTemplate
from services.executor.core.tools.classes import verb_of
from shared.contracts.plan import PlannedCall
from shared.contracts.policy import Rule
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, dossier, fact, plan

_PART = fact([{"id": "R-1"}], "f1", "list_runs").model_copy(update={"note": "NOT all rows: 1 row; a reason."})
_CHANGE, _NOTICE = call({"run_id": "R-1"}), call({"text": "hello"}, tool_class=ToolClass.NOTIFY)


def _figures(template: ProcessTemplate, known: Dossier) -> FigureResults:
    return compute_figures(template, known.facts, "the task")


def _rules(template: ProcessTemplate, planned: PlannedCall, partial: bool = True, strict: bool = True) -> list[Rule]:
    known = dossier(*([_PART] if partial else [])).model_copy(update={"plan": plan(planned)})
    return [
        rule
        for policy in process_policy(template, known, _figures(template, known), strict=strict)
        for rule in policy.rules
    ]


@pytest.mark.promise("process.required")
def test_a_change_on_a_list_that_was_read_in_part_asks_a_person_where_the_process_needs_all_of_it() -> None:
    payroll = TEMPLATES["payroll"]
    [asking] = [rule for rule in _rules(payroll, _CHANGE) if rule.id == "whole-lists"]

    assert (asking.action, asking.reason) == ("require_approval", "not all rows were read of list_runs")
    assert "whole-lists" not in {rule.id for rule in _rules(payroll, _CHANGE, partial=False)}
    assert "whole-lists" not in {rule.id for rule in _rules(payroll, _NOTICE)}
    assert _rules(GENERAL, _CHANGE) == []


@pytest.mark.promise("process.asks_nobody")
def test_what_a_process_does_not_know_is_told_and_asks_nobody() -> None:
    """Unless the tenant is strict about it; what contradicts a figure, and what is said twice, asks all the same."""
    payroll = TEMPLATES["payroll"]
    known = dossier(_PART).model_copy(update={"plan": plan(_CHANGE)})
    assert {rule.id for rule in _rules(payroll, _CHANGE, strict=False)} == {rule.id for rule in payroll.rules}
    assert "not all rows were read of list_runs" in not_known(payroll, known, _figures(payroll, known))
    twice = known.model_copy(update={"plan": plan(_CHANGE, _CHANGE.model_copy(update={"call_id": "c2"}))})
    [policy] = process_policy(payroll, twice, _figures(payroll, twice))
    assert "same-call-twice" in {rule.id for rule in policy.rules}


@pytest.mark.promise("process.rules")
@each_row(
    ("tool", "verb"),
    [
        ("approve_claim", "approve"), ("bulk_pay_invoices", "pay"), ("review_and_approve_invoice", "approve"),
        ("hold_and_pay_invoice", "hold_and_pay"), ("get_and_delete_invoice", "delete"), ("office.payInvoice", "pay"),
        ("send_reminder", "send"), ("create_refund", "refund"), ("create_vendor", "create"), ("", ""),
    ],
)  # fmt: skip
def test_the_verb_of_a_tool_is_that_of_its_effect(tool: str, verb: str) -> None:
    """A name that first looks and then acts is read by what it does; one that does two things is neither alone."""
    assert verb_of(tool) == verb
