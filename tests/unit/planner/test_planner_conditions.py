"""Conditions: which figure is compared, and that a figure which nobody knows decides nothing."""

import pytest

from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calls, fact, planned, tool

_FACTS: list[Json] = [
    fact("f1", "get_kite", {"id": "KIT-7"}, {"id": "KIT-7", "amount": "120.00", "state": "open", "club": "Harbour"}),
    fact("f2", "get_budget", {"club": "Harbour"}, {"club": "Harbour", "limit": "900.00", "spent": "289.00"}),
]
_APPROVE: Json = tool("approve_kite", kite_id="string")


@pytest.mark.promise("planner.compares_what_is_said")
@each_row(
    ("condition", "holds"),
    ("only if less than 500 is left in the Harbour budget", False),
    ("only if more than 500 is left in the Harbour budget", True),
    ("only if the Harbour budget has less than 100 left", False),
    ("only if the Harbour budget has at least 600.00 remaining", True),
    ("unless more than 500 USD is available in the Harbour budget", False),
    ("if its amount is under 500 and more than 700 is left in the Harbour budget", False),
    ("if it is under 500", True),
    ("if the kite costs less than 100", False),
)
def test_a_condition_compares_the_figure_that_its_words_name(condition: str, holds: bool) -> None:
    """611.00 is left of the budget; the kite's own 120.00 would decide most of them the other way."""
    plan = planned(f"Approve kite KIT-7 {condition}.", _FACTS, [_APPROVE])
    assert bool(calls(plan)) is holds
    assert ("does not hold" in plan.text) is not holds


@pytest.mark.promise("planner.compares_what_is_said")
@each_row(
    "condition",
    "only if less than 5,000 is left in the Meadow budget",
    "only if less than 5,000 is left in the travel budget",
    "only if less than 5,000 is due",
    "if the salary of its pilot is under 5,000",
)
def test_a_figure_that_nothing_tells_decides_nothing(condition: str) -> None:
    """Another budget, another thing's figure: the amount of the kite stands in for none of them."""
    plan = planned(f"Approve kite KIT-7 {condition}.", _FACTS, [_APPROVE])
    assert (calls(plan), "is not known" in plan.text) == ([], True)
