"""What the executor computes for a process, each figure from one plain source, and the ways of the rows of a list."""

import re
from collections.abc import Sequence

import pytest

from services.executor.core.figures.evaluate import find_wrong_values
from services.executor.core.figures.operands import OperandSources
from services.executor.core.process import figures
from services.executor.core.process.rules import build_process_policy, describe_unknown_inputs
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.values import Fact, FigureResults, find_figures_about, with_figures
from services.executor.core.states.machine import BUILT_IN_TEMPLATES, GENERAL_TEMPLATE, Figure, ProcessTemplate
from services.executor.core.tools.classes import find_deciding_verb
from services.executor.core.tools.record_tree import NO_RECORD_KEYS
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Rule
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import FsmState, ToolClass
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, dossier, fact, from_task, plan, value

CLAIM = fact({"id": "E-1", "employee": "P-1", "amount": "2340.00", "department": "North"}, "f1", "get_expense")
BUDGET = fact({"id": "B-1", "department": "North", "available": "2339.99"}, "f2", "get_department_budget")
INVOICES: list[Json] = [
    {"id": "V-1", "vendor_id": "S-1", "order_id": "O-1", "number": "A-1", "amount": "1030.01", "due_on": "2026-03-01"},
    {"id": "V-2", "vendor_id": "S-1", "order_id": "O-2", "number": "A-1", "amount": 99, "due_on": "2026-03-02"},
    {"id": "V-3", "vendor_id": "S-1", "order_id": "O-2", "number": "A-7", "amount": "1030.01", "due_on": "2026-03-01"},
    {"id": "V-4", "vendor_id": "S-2", "order_id": "O-2", "number": "A-1", "amount": "1030.01", "due_on": "2026-03-01"},
]
LISTED = fact({"invoices": INVOICES, "total": 4}, "f1", "list_invoices")
ORDERS = fact(
    [{"id": "O-1", "vendor_id": "S-1", "amount": "1000.00"}, {"id": "O-2", "vendor_id": "S-1", "amount": "5"}],
    "f2",
    "list_purchase_orders",
)
RUNS: list[Json] = [
    {"id": "R-1", "country": "Germany", "period": "2026-02", "gross": "10.10", "tax": "1.01", "net": "9.09"},
    {"id": "R-2", "country": "New Zealand", "period": "2026-02", "gross": "20.20", "tax": "2.02", "net": "18.18"},
    {"id": "R-0", "country": "Germany", "period": "2026-01", "gross": "7.77", "tax": "0.77", "net": "7.00"},
]
FILE = fact({"id": "F-1", "period": "2026-02", "total": "27.28", "lines": [{"amount": "1"}]}, "f2", "get_bank_file")


def _computed(process: str, task: str, *facts: Fact) -> dict[str, str]:
    return {one.name: one.value for one in _found(process, task, *facts).values}


def _found(process: str, task: str, *facts: Fact) -> FigureResults:
    found = figures.compute_figures(BUILT_IN_TEMPLATES[process], facts, task, NO_RECORD_KEYS)
    assert find_wrong_values(found.values, OperandSources(facts, (), (task,))) == {}
    return found


def _why_not(process: str, task: str, *facts: Fact) -> str:
    found = _found(process, task, *facts)
    assert not found.values
    return "; ".join(one.text for one in found.missing)


def _one(figure: Figure, facts: Sequence[Fact], task: str = "") -> FigureResults:
    states = (FsmState.DECOMPOSE, FsmState.ASSESS, FsmState.MUTATE, FsmState.COMPLETE)
    return figures.compute_figures(
        ProcessTemplate(process_type="some", states=states, figures=(figure,)), facts, task, NO_RECORD_KEYS
    )


@pytest.mark.promise("process.figures")
def test_of_several_budgets_the_one_counts_that_the_claim_leads_to() -> None:
    """The claim names a person, and the person's department is the budget's."""
    claim = fact({"id": "E-1", "employee_id": "P-1", "amount": "40"}, "f1", "get_expense")
    person = fact({"id": "P-1", "name": "Ann Lee", "department": "North"}, "f2", "get_employee")
    budgets = ("B-1", "South", 1), ("B-2", "North", 100)
    rows: list[Json] = [{"id": one, "department": where, "available": left} for one, where, left in budgets]
    computed = _computed("expense_approval", "Approve E-1", claim, person, fact(rows, "f3", "list_budgets"))
    assert computed == {"budget_after": "60"}


_OTHER = fact({"id": "B-2", "department": "North", "available": "5.00"}, "f3", "get_other_budget")
_REFUSED = fact({"available": "9999"}, "f2", "get_department_budget", ok=False)
_PART = fact(RUNS, "f1", "list_payroll_runs").model_copy(update={"note": "NOT all rows: 3 rows from 1 pages; why."})


@pytest.mark.promise("process.figures.plain")
@each_row(
    ("process", "task", "facts", "why"),
    ("expense_approval", "Approve expense E-1", (CLAIM, BUDGET, _OTHER), "there are 2 different things that could"),
    ("expense_approval", "Approve expense E-1", (CLAIM,), "nothing was read that is the available or remaining of"),
    ("expense_approval", "Approve expense E-1", (CLAIM, _REFUSED), "could not be computed"),
    (
        "payroll",
        "Run payroll",
        (fact(RUNS, "f1", "list_payroll_runs"),),
        "the rows have 2 values of period, and the task names none",
    ),
    ("payroll", "Payroll 2026-02", (_PART,), "not all rows of the list of payroll run were read"),
)
def test_what_is_ambiguous_unread_refused_or_read_in_part_is_no_source_and_named(
    process: str, task: str, facts: tuple[Fact, ...], why: str
) -> None:
    assert why in _why_not(process, task, *facts)


@pytest.mark.promise("process.figures.plain")
def test_of_two_invoices_in_one_task_each_has_figures_of_its_own() -> None:
    """They are spoken of by name, and in a call's verdict by the record that the call names."""
    found = _found("invoice_reconciliation", "Reconcile V-1 and V-3", LISTED, ORDERS)
    by_name = {one.name: one.value for one in found.values}

    assert (by_name["variance_v_1"], by_name["variance_v_3"]) == ("30.01", "1025.01")
    assert str(find_figures_about(found.values, ("v-3",))["variance"]) == "1025.01"
    assert find_figures_about(found.values, ()) == {}


@pytest.mark.promise("process.figures")
def test_a_pay_run_is_summed_by_period_and_country_and_compared_with_the_bank_file() -> None:
    """The file is a cent off, and another month's run is not counted."""
    computed = _computed("payroll", "Run payroll for February 2026", fact(RUNS, "f1", "list_payroll_runs"), FILE)
    assert computed == {
        "total_gross": "30.30",
        "taxes_germany": "1.01",
        "taxes_new_zealand": "2.02",
        "total_net": "27.27",
        "bank_difference": "0.01",
    }


@pytest.mark.promise("process.figures.plain")
def test_neither_amounts_of_two_currencies_nor_what_an_answer_says_of_its_list_are_summed() -> None:
    """``total`` is another name for an amount, and counts the rows here; two aliases that disagree are ambiguous."""
    rows: list[Json] = [{"id": f"R-{one}", "gross": "1.00", "currency": one} for one in ("EUR", "USD")]
    found = _found("payroll", "Run payroll", fact(rows, "f1", "list_payroll_runs"))
    assert "different currencies" in next(one.text for one in found.missing if one.name == "total_gross")
    figure = Figure(name="sum", operation="sum", operands=("invoice.amount",))
    listed = _one(figure, [fact({"invoices": [{"id": "V-1", "amount": 5}], "total": 1}, "f1", "list_invoices")])
    figure = Figure(name="sum", operation="sum", operands=("claim.amount",))
    same, other = (_one(figure, [fact({"id": "C-1", "price": 5, "cost": one}, "f1", "get_claim")]) for one in (5, 6))
    assert [[one.value for one in found.values] for found in (listed, same, other)] == [["5"], ["5"], []]


@pytest.mark.promise("process.figures")
def test_gaps_are_the_required_documents_of_this_customer_that_are_missing_or_expired() -> None:
    customer = fact({"id": "C-1", "name": "Lee & Sons"}, "f1", "get_customer")
    rows: list[Json] = [
        {"id": "D-1", "customer_id": "C-1", "required": True, "status": "Missing"},
        {"id": "D-2", "customer_id": "C-1", "required": True, "status": "expired"},
        {"id": "D-3", "customer_id": "C-1", "required": False, "status": "expired"},
        {"id": "D-4", "customer_id": "C-2", "required": True, "status": "expired"},
        {"id": "D-5", "customer_id": "C-1", "required": True, "status": "valid"},
    ]
    documents = fact(rows, "f2", "list_kyc_documents")
    assert _computed("compliance_audit", "Audit customer C-1", customer, documents) == {"kyc_gaps": "2"}


@pytest.mark.promise("process.figures.plain")
def test_a_record_that_belongs_to_another_is_not_taken() -> None:
    """The only document there is names another customer."""
    customer = fact({"id": "C-1", "name": "Lee"}, "f1", "get_customer")
    paper = fact({"id": "D-1", "customer_id": "C-2", "fee": 5}, "f2", "get_document")
    figure = Figure(name="fee", operation="sum", operands=("document.fee",), about="customer")
    assert "nothing was read" in _one(figure, [customer, paper], "Bill C-1").missing[0].text


@pytest.mark.promise("process.figures")
@each_row(
    ("owner", "task", "left"),
    ("P-1", "Process the claim for P-1, $2,340 for the offsite", {"budget_after_e_1": "-0.01"}),
    ("P-1", "Process the claim for P-1", {}),
    ("P-2", "Process the claim for P-1, $2,340 for the offsite", {"budget_after": "2180.99"}),
)
def test_of_two_claims_of_a_person_the_one_counts_whose_amount_is_stated(
    owner: str, task: str, left: dict[str, str]
) -> None:
    """It speaks for that claim alone."""
    person = fact({"id": "P-1", "name": "Ann Lee", "department": "North"}, "f0", "get_employee")
    claims: list[Json] = [
        {"id": "E-1", "employee_id": owner, "amount": "2340.00", "department": "North"},
        {"id": "E-2", "employee_id": "P-1", "amount": "159.00", "department": "North"},
    ]
    listed = fact({"expenses": claims, "total": 2}, "f1", "list_expenses")
    assert {one.name: one.value for one in _found("expense_approval", task, person, listed, BUDGET).values} == left


@pytest.mark.promise("process.figures")
def test_a_value_of_the_model_under_a_figures_name_gives_way_to_it() -> None:
    own = _found("expense_approval", "Approve expense E-1, 5 of it", CLAIM, BUDGET)
    stated = value("budget_after", "sum", "5", from_task("5"))
    other = value("mine", "sum", "5", from_task("5"))
    assert with_figures((stated, other), own) == (*own.values, other)


_ROWS: list[Json] = [
    {"id": "R-1", "customer_id": "C-1", "agent_id": "A-1", "amount": "10", "days_overdue": 12},
    {"id": "R-2", "customer_id": "C-2", "agent_id": "A-1", "amount": "20", "days_overdue": 30},
    {"id": "R-3", "customer_id": "C-3", "agent_id": "A-1", "amount": "30", "days_overdue": 31},
    {"id": "R-4", "customer_id": "C-3", "agent_id": "A-1", "amount": "40", "days_overdue": 91},
    {"id": "R-5", "customer_id": "C-5", "agent_id": "A-1", "amount": "50", "days_overdue": 0},
]
_TASK = "Work through the overdue receivables"


def _run(rows: list[Json] | None = None, answer: str | None = None) -> Progress:
    template = BUILT_IN_TEMPLATES["ar_collections"]
    listed = fact({"receivables": _ROWS if rows is None else rows}, "f1", "list_overdue_receivables")
    dossier = Dossier(facts=(listed,), answer=answer)
    return Progress(template=template, path=template.states, visited=template.states[:1], dossier=dossier)


def _left(*calls: JsonObject, task: str = _TASK, run: Progress | None = None) -> list[str]:
    planned = plan(*(call(arguments, f"c{number}") for number, arguments in enumerate(calls)))
    told = figures.append_rows_without_call_to_answer(
        (run or _run()).update_dossier(plan=planned), task, NO_RECORD_KEYS
    )
    return re.findall(r"R-\d \(.+?\)", str(told.notes.get("rows_left_out")))


@pytest.mark.promise("process.routes")
def test_each_row_without_a_call_is_found_with_its_age_and_way_in_the_list_that_has_the_ages() -> None:
    """Thirty days is still the first way; what is not overdue has none."""
    assert _left({"receivable_id": "R-1"}) == [
        "R-2 (30 days: reminder)",
        "R-3 (31 days: second notice)",
        "R-4 (91 days: collections)",
    ]
    ageless: list[Json] = [{"id": "R-9", "customer_id": "C-9", "amount": "1"}, {"id": "R-1", "customer_id": "C-1"}]
    run = _run()
    facts = (fact(ageless, "f2", "list_receivables"), *run.dossier.facts)
    left = _left(run=run.update_dossier(facts=facts))
    assert [row[:3] for row in left] == ["R-1", "R-2", "R-3", "R-4"]


@pytest.mark.promise("process.routes")
def test_a_call_about_the_customer_is_about_all_that_they_owe_and_a_task_about_one_row_not_about_the_others() -> None:
    """What stands in every row names none of them."""
    assert _left({"receivable_id": "R-1"}, {"customer_id": "c-3"}) == ["R-2 (30 days: reminder)"]
    assert len(_left({"agent_id": "A-1"})) == 4
    assert _left(task="Send a reminder for R-2") == ["R-2 (30 days: reminder)"]


@pytest.mark.promise("process.routes")
def test_a_list_that_is_the_answer_stays_as_it_is_to_the_byte() -> None:
    told = figures.append_rows_without_call_to_answer(
        _run(answer='["R-1"]').update_dossier(plan=WritePlan(task_id="t")), _TASK, NO_RECORD_KEYS
    )
    assert told.dossier.answer == '["R-1"]'
    assert "R-2" in str(told.notes["rows_left_out"])


@pytest.mark.promise("process.own_way")
@each_row(
    ("tool", "row", "said", "is_astray"),
    ("create_payment_plan", "R-4", _TASK, True),
    ("hand_over_to_collections", "R-4", _TASK, False),
    ("create_payment_plan", "R-3", _TASK, False),
    ("send_final_notice", "R-3", _TASK, True),
    ("write_down_receivable", "R-3", _TASK, False),
    ("send_reminder", "R-9", _TASK, False),
    ("send_final_notice", "R-3", "Send every overdue receivable a final notice", False),
    ("send_final_notice", "R-3", "Work through the overdue receivables; R-3 is urgent", False),
)
def test_a_row_goes_no_way_of_another_age_unless_the_user_says_so(
    tool: str, row: str, said: str, is_astray: bool
) -> None:
    """A tool that has no words of any way, and a row that is none of the list, are no matter of the ways."""
    planned = plan(call({"receivable_id": row}).model_copy(update={"tool": tool}))
    assert bool(figures.find_calls_on_wrong_route(_run(), (said,), planned, NO_RECORD_KEYS)) is is_astray


_PARTLY = fact([{"id": "R-1"}], "f1", "list_runs").model_copy(update={"note": "NOT all rows: 1 row; a reason."})
_CHANGE, _NOTICE = call({"run_id": "R-1"}), call({"text": "hello"}, tool_class=ToolClass.NOTIFY)


def _figures(template: ProcessTemplate, known: Dossier) -> FigureResults:
    return figures.compute_figures(template, known.facts, "the task", NO_RECORD_KEYS)


def _rules(template: ProcessTemplate, planned: PlannedCall, partial: bool = True, strict: bool = True) -> list[Rule]:
    known = dossier(*([_PARTLY] if partial else [])).model_copy(update={"plan": plan(planned)})
    return [
        rule
        for policy in build_process_policy(template, known, _figures(template, known), NO_RECORD_KEYS, strict)
        for rule in policy.rules
    ]


@pytest.mark.promise("process.required")
def test_a_change_on_a_list_that_was_read_in_part_asks_a_person_where_the_process_needs_all_of_it() -> None:
    payroll = BUILT_IN_TEMPLATES["payroll"]
    [asking] = [rule for rule in _rules(payroll, _CHANGE) if rule.id == "whole-lists"]

    assert (asking.action, asking.reason) == ("require_approval", "not all rows were read of list_runs")
    assert "whole-lists" not in {rule.id for rule in _rules(payroll, _CHANGE, partial=False)}
    assert "whole-lists" not in {rule.id for rule in _rules(payroll, _NOTICE)}
    assert _rules(GENERAL_TEMPLATE, _CHANGE) == []


@pytest.mark.promise("process.asks_nobody")
def test_what_a_process_does_not_know_is_told_and_asks_nobody() -> None:
    """Unless the tenant is strict about it; what contradicts a figure, and what is said twice, asks all the same."""
    payroll = BUILT_IN_TEMPLATES["payroll"]
    known = dossier(_PARTLY).model_copy(update={"plan": plan(_CHANGE)})
    assert {rule.id for rule in _rules(payroll, _CHANGE, strict=False)} == {rule.id for rule in payroll.rules}
    assert "not all rows were read of list_runs" in describe_unknown_inputs(
        payroll, known, _figures(payroll, known), NO_RECORD_KEYS
    )
    twice = known.model_copy(update={"plan": plan(_CHANGE, _CHANGE.model_copy(update={"call_id": "c2"}))})
    [policy] = build_process_policy(payroll, twice, _figures(payroll, twice), NO_RECORD_KEYS, False)
    assert "same-call-twice" in {rule.id for rule in policy.rules}


@pytest.mark.promise("process.rules")
@each_row(
    ("tool", "verb"),
    ("approve_claim", "approve"),
    ("review_and_approve_invoice", "approve"),
    ("get_and_delete_invoice", "delete"),
    ("send_reminder", "send"),
    ("create_vendor", "create"),
    ("", ""),
)
def test_the_verb_of_a_tool_is_that_of_its_effect(tool: str, verb: str) -> None:
    """A name that first looks and then acts is read by what it does; one that does two things is neither alone."""
    assert find_deciding_verb(tool) == verb
