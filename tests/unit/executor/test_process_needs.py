"""A strict tenant's change asks a person where a rule of its process rests on what nobody knows; another's is told."""

from decimal import Decimal

import pytest

from services.executor.core.states.machine import TEMPLATES
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState
from tests.each_row import each_row
from tests.unit.executor.begun_as import judged, made
from tests.unit.executor.stage import Stage, Use, use

_CLAIMS: dict[str, Json] = {
    "EXP-1": {"id": "EXP-1", "amount": "600.00", "department": "Ops"},
    "EXP-2": {"id": "EXP-2", "amount": "700.00", "department": "Ops"},
}
_BUDGET: JsonObject = {"id": "BUD-1", "department": "Ops", "available": "1000.00"}
_INVOICE: JsonObject = {
    "id": "INV-1",
    "vendor_id": "V-1",
    "order_id": "PO-1",
    "invoice_number": "N-7",
    "amount": "100.00",
}
_TOOLS: dict[str, Json] = {
    "get_expense": {"expenses": [*_CLAIMS.values()]},
    "get_budget": _BUDGET,
    "get_whole_budget": {**_BUDGET, "available": "1300.00"},
    "list_budgets": {"budgets": [_BUDGET, {**_BUDGET, "id": "BUD-2", "available": "9000.00"}]},
    "get_purchase_order": {"id": "PO-1", "amount": "1100.00", "department": "Ops"},
    "get_invoice": _INVOICE,
    "list_invoices": {"invoices": [_INVOICE]},
    "get_incident": {"id": "INC-1", "agreement_id": "SLA-1", "downtime_minutes": 90},
    "get_period": {"id": "P-1", "ledger_balance": "100000.00"},
    "get_order": {"id": "ORD-1", "total": "100.00"},
    "get_customer": {"id": "CUS-1", "name": "Ann"},
    "get_dispute": {"id": "D-1", "status": "open"},
    "get_payroll": {
        "payroll_runs": [{"id": "PR-1", "period": "2026-02", "country": "UK", "gross": "10", "tax": "2", "net": "8"}]
    },
}


async def _run(kind: str, text: str, read: tuple[str, ...], *calls: Use) -> tuple[Stage, list[JsonObject]]:
    """A strict tenant's task as this kind, with these tools read and these calls planned; and what was written."""
    stage = await judged(TEMPLATES[kind], text, {tool: _TOOLS[tool] for tool in read}, *calls, strict=True)
    return stage, made(stage)


_ONE = use("approve_expense", expense_id="EXP-1")


@pytest.mark.promise("process.needs_read")
@each_row(
    ("kind", "text", "read", "tool", "about", "needed"),
    [
        ("expense_approval", "Approve EXP-1", ("get_expense",), *_ONE, "budget_after"),
        ("expense_approval", "Approve EXP-1", ("get_expense", "list_budgets"), *_ONE, "budget_after"),
        ("procurement", "Approve PO-1", ("get_purchase_order",), "approve_order", {"order_id": "PO-1"}, "budget_after"),
        ("invoice_reconciliation", "Pay INV-1", ("get_invoice",), "pay_invoice", {"invoice_id": "INV-1"}, "duplicates"),
        ("invoice_reconciliation", "Pay INV-1", ("list_invoices",), "pay_invoice", {"invoice_id": "INV-1"}, "variance"),
        ("sla_breach", "Credit INC-1", ("get_incident",), "issue_credit", {"incident_id": "INC-1"}, "sla_credit"),
        ("month_end_close", "Close P-1", ("get_period",), "close_period", {"period_id": "P-1"}, "close_variance"),
        ("compliance_audit", "CUS-1", ("get_customer",), "note_customer", {"customer_id": "CUS-1"}, "risk_rating"),
        ("dispute_resolution", "D-1", ("get_dispute",), "settle_dispute", {"dispute_id": "D-1"}, "elevated_review"),
        ("order_management", "Change ORD-1", ("get_order",), "add_order_item", {"order_id": "ORD-1"}, "price_delta"),
        ("payroll", "Payroll 2026-02", ("get_payroll",), "execute_run", {"run_id": "PR-1"}, "bank_difference"),
    ],
)  # fmt: skip
async def test_a_change_asks_where_what_decides_was_not_read(
    kind: str, text: str, read: tuple[str, ...], tool: str, about: JsonObject, needed: str
) -> None:
    """Whether it was not read or is ambiguous: nothing is written without somebody."""
    stage, written = await _run(kind, text, read, (tool, about))
    assert (stage.turns.record.state, written) == (TaskState.INPUT_REQUIRED, [])
    assert f"needs-{needed}" in str(stage.turns.record.reason)


@pytest.mark.promise("process.needs_read")
@each_row(
    ("kind", "text", "read", "tool", "about"),
    [
        ("expense_approval", "Reject EXP-1", ("get_expense",), "reject_expense", {"expense_id": "EXP-1"}),
        ("expense_approval", "Approve EXP-1", ("get_expense", "get_budget"), *_ONE),
        ("invoice_reconciliation", "Hold INV-1", ("get_invoice",), "hold_invoice", {"invoice_id": "INV-1"}),
        ("order_management", "Cancel ORD-1", ("get_order",), "cancel_order", {"order_id": "ORD-1"}),
    ],
)
async def test_a_harmless_change_and_a_well_read_one_ask_nobody(
    kind: str, text: str, read: tuple[str, ...], tool: str, about: JsonObject
) -> None:
    stage, written = await _run(kind, text, read, (tool, about))
    assert (stage.turns.record.state, written) == (TaskState.COMPLETED, [about]), stage.turns.record.reason


@pytest.mark.promise("process.several_subjects")
@each_row(
    ("text", "about"),
    [
        ("Approve EXP-1 and EXP-2", {"expense_ids": ["EXP-1", "EXP-2"]}),
        ("Approve EXP-1 and EXP-2", {"expense_id": "EXP-1", "batch": "EXP-2"}),
        ("Approve EXP-1 and EXP-2", {"note": "both"}),
        ("Approve EXP-1", {"expense_id": "EXP-2"}),
    ],
)
async def test_a_call_that_names_several_records_or_another_one_asks(text: str, about: JsonObject) -> None:
    """A figure is known of one record, and of no call that is about more than it, or about another."""
    stage, written = await _run("expense_approval", text, ("get_expense", "get_budget"), ("approve_expense", about))
    assert (stage.turns.record.state, written) == (TaskState.INPUT_REQUIRED, []), stage.turns.record.reason
    assert "needs-budget_after" in str(stage.turns.record.reason)


_BOTH = tuple(use("approve_expense", expense_id=one) for one in _CLAIMS)
_TWO = "Approve EXP-1 and EXP-2"


@pytest.mark.promise("process.several_subjects", "process.drawn_together")
@each_row(
    ("reads", "why"),
    [
        (("get_expense", "get_budget"), "exp-1, exp-2 draw on the same: -300.00 is left after all of them"),
        (("get_expense", "get_whole_budget", "get_budget"), "needs-budget_after"),
    ],
)
async def test_two_claims_that_are_too_much_together_or_draw_on_a_budget_that_is_not_plain_ask_a_person(
    reads: tuple[str, ...], why: str
) -> None:
    """Although each is within the budget: whoever decides is told what both would leave."""
    stage, written = await _run("expense_approval", _TWO, reads, *_BOTH)
    assert (stage.turns.record.state, written) == (TaskState.INPUT_REQUIRED, [])
    assert why in str(stage.turns.record.reason)


@pytest.mark.promise("process.drawn_together")
async def test_claims_that_are_within_one_budget_together_ask_nobody_and_rules_see_what_both_leave() -> None:
    """To the cent; what one of them alone leaves is nobody's measure."""
    stage, written = await _run("expense_approval", _TWO, ("get_expense", "get_whole_budget"), *_BOTH)
    assert (stage.turns.record.state, written) == (TaskState.COMPLETED, [given for _, given in _BOTH])
    (asked, *_) = [request for request in stage.policy.asked if request.binding]
    assert [call.fields["figures"] for call in asked.calls] == [{"budget_after": Decimal("0.00")}] * 2


@pytest.mark.promise("process.drawn_together")
@each_row(
    ("others", "state"), [([], TaskState.FAILED), ([("reject_expense", {"expense_id": "EXP-2"})], TaskState.COMPLETED)]
)
async def test_only_what_the_plan_draws_counts(others: list[tuple[str, JsonObject]], state: TaskState) -> None:
    """Not the claim that the task names too, and that the plan leaves alone or turns down; what is left is not done."""
    stage, written = await _run("expense_approval", _TWO, ("get_expense", "get_budget"), _ONE, *others)
    expected = [given for _, given in (_ONE, *others)]
    assert (stage.turns.record.state, written) == (state, expected), stage.turns.record.reason
