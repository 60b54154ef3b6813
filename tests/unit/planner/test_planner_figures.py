"""A figure that a change brings about is told of no other change."""

import pytest

from services.planner.core.request import LEAVE_PART
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calculated, calls, fact, planned, said, tool

pytestmark = pytest.mark.promise("planner.answers_each_question")

_LEFT: JsonObject = {"name": "purse_after", "value": "40", "after_change_of": ["loa-3"], "not_by": ["reject"]}


def _answer(verb: str, *values: Json, loans: tuple[str, ...] = ("LOA-3",)) -> str:
    """What is said when the verb was done to these loans."""
    seen = [fact("f1", "get_loan", {"loan_id": loan}, {"id": loan, "state": "open"}) for loan in loans]
    made = [fact("w", f"{verb}_loan", {"loan_id": loan}, {"done": True}) for loan in loans]
    task = f"{verb.capitalize()} {' and '.join(f'loan {loan}' for loan in loans)}."
    tools: list[Json] = [tool("get_loan", loan_id="string"), tool(f"{verb}_loan", loan_id="string"), tool(LEAVE_PART)]
    return said({"task": task, "values": [*values], "so_far": [*seen, *made]}, tools).text


@each_row(
    ("verb", "value", "is_told"),
    ("approve", _LEFT, True),
    ("approve", {"name": "purse_after", "value": "40"}, True),
    ("reject", _LEFT, False),
    ("approve", {**_LEFT, "after_change_of": ["loa-4"]}, False),
)
def test_a_remainder_is_told_where_its_change_was_made(verb: str, value: JsonObject, is_told: bool) -> None:
    assert ("purse after: 40." in _answer(verb, value)) is is_told


@each_row(("without", "is_told"), [(["loa-4"], False), (["loa-9"], True)])
def test_a_remainder_is_not_told_where_another_change_draws_on_the_same(without: list[Json], is_told: bool) -> None:
    answer = _answer("approve", {**_LEFT, "without": without}, loans=("LOA-3", "LOA-4"))
    assert "LOA-3 is approved. LOA-4 is approved." in answer
    assert ("purse after: 40." in answer) is is_told


@each_row(("unit", "proposed_fee"), ("cents", 500), ("", 50_000))
def test_a_value_worked_out_in_cents_is_proposed_in_cents(unit: str, proposed_fee: int) -> None:
    set_fee = tool("set_kite_fee", kite_id="string", fee_cents="integer")
    seen: list[Json] = [fact("f1", "get_kite", {"kite_id": "KIT-7"}, {"id": "KIT-7", "price_cents": 5000})]
    task = "Set the fee of kite KIT-7 to 10% of its price."
    [calculation] = calculated(task, seen, set_fee)
    result: JsonObject = {"name": calculation["name"], "value": "500", **({"unit": unit} if unit else {})}
    seen.append({"tool": "calculate", "arguments": calculation, "result": result})
    assert calls(planned(task, seen, [set_fee])) == [("set_kite_fee", {"kite_id": "KIT-7", "fee_cents": proposed_fee})]


@each_row("value", "soon", "2026-02-01", "9" * 40)
def test_a_value_that_is_no_figure_ends_no_reply(value: str) -> None:
    set_fee = tool("set_kite_fee", kite_id="string", fee="number")
    seen: list[Json] = [fact("f1", "get_kite", {"kite_id": "KIT-7"}, {"id": "KIT-7"})]
    plan = planned("Set the new fee of kite KIT-7.", seen, [set_fee], values=[{"name": "new_fee", "value": value}])
    assert (calls(plan), "needs fee" in plan.text) == ([], True)
