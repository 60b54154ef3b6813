"""A process's figures judge the calls that name what they rest on; what was calculated under their names stands in."""

from decimal import Decimal

import pytest

from services.executor.core.process.figures import compute_figures
from services.executor.core.session.values import NamedValue, Operand
from services.executor.core.states.machine import TEMPLATES
from shared.contracts.policy import CallContext
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.authorize.verdicts import change, read, request, verdict

_EXPENSES = TEMPLATES["expense_approval"]
_TASK = "Approve EXP-1"
_CLAIM: JsonObject = {"id": "EXP-1", "department": "Ops", "amount": "700.00"}
_OTHER: JsonObject = {"id": "EXP-2", "department": "Ops", "amount": "5.00"}
_BUDGET: JsonObject = {"id": "BUD-1", "department": "Ops", "available": "600.00"}


def _call(key: str, *shown: tuple[str, Json], values: tuple[NamedValue, ...] = ()) -> CallContext:
    facts = [read(tool, result, f"f{place}") for place, (tool, result) in enumerate(shown)]
    own = (*compute_figures(_EXPENSES, facts, _TASK).values, *values)
    return request((), [change("approve_expense", {"expense_id": key})], facts, _EXPENSES, own, _TASK).calls[0]


@pytest.mark.promise("process.figures_bind")
@each_row(
    "shown",
    [
        (("get_expense", _CLAIM), ("get_budget", _BUDGET)),
        (("list_expenses", {"EXP-1": {**_CLAIM}, "EXP-2": _OTHER}), ("list_budgets", {"BUD-1": _BUDGET})),
        (
            ("get_expense", {"id": "EXP-1", "department": "Ops", "totals": {"amount": "700.00"}}),
            ("get_budget", _BUDGET),
        ),
        (("get_expense", _CLAIM), ("get_budget", {"id": "BUD-1", "department": "Ops", "details": {"left": "600.00"}})),
        (("get_expense", {"id": "EXP-1", "department": "Ops", "totalAmount": "700.00"}), ("get_budget", _BUDGET)),
    ],
)
def test_a_figure_is_found_in_any_shape_and_judges_the_call_that_names_its_record(
    shown: tuple[tuple[str, Json], ...],
) -> None:
    assert _call("EXP-1", *shown).fields["figures"] == {"budget_after": Decimal("-100.00")}


@pytest.mark.promise("process.figures_bind")
def test_a_figure_of_one_record_judges_no_call_about_another() -> None:
    shown: tuple[tuple[str, Json], ...] = (("list_expenses", [_CLAIM, _OTHER]), ("get_budget", _BUDGET))
    assert "figures" not in _call("EXP-2", *shown).fields
    assert "figures" not in _call("EXP-3", *shown).fields


@pytest.mark.promise("process.calculated_stands_in")
@each_row(("name", "key", "known"), [
    ("budget_after", "EXP-1", True),
    ("budget_after_exp_1", "EXP-1", True),
    ("budgetAfter", "EXP-1", True),
    ("budget_after", "EXP-2", False),
    ("what_is_left", "EXP-1", False),
])  # fmt: skip
def test_a_calculated_value_of_a_missing_figures_name_stands_in_for_it(name: str, key: str, known: bool) -> None:
    """No budget was read by that name; the model worked the figure out from what there is of the claim."""
    operand = Operand(source="result", ref="f0", path="amount")
    value = NamedValue(name=name, operation="difference", operands=(operand,), value="-100.00")
    call = _call(key, ("get_expense", _CLAIM), values=(value,))
    assert call.fields.get("figures") == ({"budget_after": Decimal("-100.00")} if known else None)


@pytest.mark.promise("process.asks_nobody")
@each_row("process", [*TEMPLATES])
def test_no_process_asks_over_a_change_of_which_it_knows_nothing(process: str) -> None:
    """Whatever it would have decided by: nothing was read, and its rules are silent."""
    found = verdict((), [change("update_thing", {"thing_id": "T-1"})], [], TEMPLATES[process])
    assert (found.passed, found.requires_approval) == (True, False)
