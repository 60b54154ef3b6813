"""The figures that the executor computes for a process: exact, from one plain source each, or not at all and why."""

from collections.abc import Sequence

import pytest

from services.executor.core.figures.evaluate import audit
from services.executor.core.figures.operands import KnownFigures
from services.executor.core.process.figures import compute_figures
from services.executor.core.session.values import Fact, FigureResults, figures_about, with_figures
from services.executor.core.states.machine import TEMPLATES, Figure, ProcessTemplate
from shared.domain.exact_json import Json
from shared.domain.words import FsmState
from tests.each_row import each_row
from tests.unit.executor_core.makers import fact, from_task, value

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
    found = compute_figures(TEMPLATES[process], facts, task)
    assert audit(found.values, KnownFigures(facts, (), (task,))) == ()
    return found


def _why_not(process: str, task: str, *facts: Fact) -> str:
    found = _found(process, task, *facts)
    assert not found.values
    return "; ".join(one.text for one in found.missing)


def _one(figure: Figure, facts: Sequence[Fact], task: str = "") -> FigureResults:
    states = (FsmState.DECOMPOSE, FsmState.ASSESS, FsmState.MUTATE, FsmState.COMPLETE)
    return compute_figures(ProcessTemplate(process_type="some", states=states, figures=(figure,)), facts, task)


@pytest.mark.promise("process.figures")
def test_of_several_budgets_the_one_counts_that_the_claim_leads_to() -> None:
    """The claim names a person, and the person's department is the budget's."""
    claim = fact({"id": "E-1", "employee_id": "P-1", "amount": "40"}, "f1", "get_expense")
    person = fact({"id": "P-1", "name": "Ann Lee", "department": "North"}, "f2", "get_employee")
    rows: list[Json] = [
        {"id": "B-1", "department": "South", "available": 1},
        {"id": "B-2", "department": "North", "available": 100},
    ]
    assert _computed("expense_approval", "Approve E-1", claim, person, fact(rows, "f3", "list_budgets")) == {
        "budget_after": "60"
    }


@pytest.mark.promise("process.figures.plain")
def test_two_budgets_that_nothing_tells_apart_leave_the_figure_unknown() -> None:
    other = fact({"id": "B-2", "department": "North", "available": "5.00"}, "f3", "get_department_budget")
    said = _why_not("expense_approval", "Approve expense E-1", CLAIM, BUDGET, other)
    assert said.startswith("budget_after could not be computed: there are 2 different things that could be")


@pytest.mark.promise("process.figures.plain")
def test_what_was_not_read_is_named() -> None:
    assert "nothing was read that is the available or remaining of the budget" in _why_not(
        "expense_approval", "Approve expense E-1", CLAIM
    )


@pytest.mark.promise("process.figures.plain")
def test_a_refusal_is_no_source() -> None:
    refused = fact({"available": "9999"}, "f2", "get_department_budget", ok=False)
    assert "could not be computed" in _why_not("expense_approval", "Approve expense E-1", CLAIM, refused)


@pytest.mark.promise("process.figures.plain")
def test_of_two_invoices_in_one_task_each_has_figures_of_its_own() -> None:
    """They are spoken of by name, and in a call's verdict by the record that the call names."""
    found = _found("invoice_reconciliation", "Reconcile V-1 and V-3", LISTED, ORDERS)
    by_name = {one.name: one.value for one in found.values}

    assert (by_name["variance_v_1"], by_name["variance_v_3"]) == ("30.01", "1025.01")
    assert str(figures_about(found.values, ("v-3",))["variance"]) == "1025.01"
    assert figures_about(found.values, ()) == {}


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
def test_runs_of_two_periods_are_not_summed_where_the_task_names_none() -> None:
    said = _why_not("payroll", "Run payroll", fact(RUNS, "f1", "list_payroll_runs"))
    assert "the rows have 2 values of period, and the task names none" in said


@pytest.mark.promise("process.figures.plain")
def test_amounts_of_two_currencies_are_not_summed() -> None:
    rows: list[Json] = [
        {"id": "R-1", "gross": "1.00", "currency": "EUR"},
        {"id": "R-2", "gross": "1.00", "currency": "USD"},
    ]
    found = _found("payroll", "Run payroll", fact(rows, "f1", "list_payroll_runs"))
    assert "different currencies" in next(one.text for one in found.missing if one.name == "total_gross")


@pytest.mark.promise("process.figures.plain")
def test_a_list_that_was_not_read_to_its_end_is_no_source() -> None:
    part = fact(RUNS, "f1", "list_payroll_runs").model_copy(update={"note": "NOT all rows: 3 rows from 1 pages; why."})
    assert "not all rows of the list of payroll run were read" in _why_not("payroll", "Payroll 2026-02", part)


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
def test_what_an_answer_says_of_its_list_is_no_record() -> None:
    """``total`` is another name for an amount, and counts the rows here."""
    figure = Figure(name="sum", operation="sum", operands=("invoice.amount",))
    found = _one(figure, [fact({"invoices": [{"id": "V-1", "amount": 5}], "total": 1}, "f1", "list_invoices")])
    assert [one.value for one in found.values] == ["5"]


@pytest.mark.promise("process.figures.plain")
def test_two_aliases_that_disagree_are_ambiguous() -> None:
    figure = Figure(name="sum", operation="sum", operands=("claim.amount",))
    same = _one(figure, [fact({"id": "C-1", "price": 5, "cost": 5}, "f1", "get_claim")])
    other = _one(figure, [fact({"id": "C-1", "price": 5, "cost": 6}, "f1", "get_claim")])
    assert [one.value for one in same.values] == ["5"]
    assert not other.values


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
    [
        ("P-1", "Process the claim for P-1, $2,340 for the offsite", {"budget_after_e_1": "-0.01"}),
        ("P-1", "Process the claim for P-1", {}),
        ("P-2", "Process the claim for P-1, $2,340 for the offsite", {"budget_after": "2180.99"}),
    ],
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
