"""Figures that a task names in general terms, and formulas that it states: asked for, and none made up."""

import json
from decimal import Decimal

import pytest

from services.executor.core.figures.calculate import define_calculate_tool
from services.executor.core.figures.finance import run_calculator
from services.planner.core.formula import compute_terms, parse_formula
from services.planner.core.roles import reply
from services.planner.core.situation import observe_situation
from services.planner.core.values import list_known_calculations
from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.each_row import each_row
from tests.unit.planner.planner_requests import asked as request_of, fact

TASKS = [
    ("What is the prorated remaining amount of a total of $1,200 with 73 days used out of 365 total days?",
     "prorated_remaining", "960"),
    ("Prorate it: total 1200, 73 days used, 365 total days.", "prorated_used", "240"),
    ("Compute the SLA credit: invoice $6,000, credit 10 %, cap 30 %, allowed downtime 43.2, downtimes 50, 12 and 99.",
     "sla_credit", "1200"),
    ("What is the straight-line depreciation of a thing with cost 30,000, salvage 7500, life 10 in period 1?",
     "straight_line", "2250"),
    ("What does declining balance write off: cost 2400, salvage 300, life 10, period 2?", "declining_balance", "384"),
    ("Amortise a loan: principal 2500, yearly rate 8.24%, 12 months. What is the payment in month 1?",
     "loan_payment", "217.75"),
    ("What is the total interest of a loan of principal 2500 at a yearly 8.24% over 12 months?",
     "loan_total_interest", "112.97"),
    ("What is the variance of invoiced 1050 against ordered 1000?", "variance_percent", "5"),
    ("How much revenue is recognised of a value of 1000 over 12 months, 1 elapsed?", "recognized_revenue", "83.33"),
    ("How much of the revenue is deferred: value 1000, months 12, elapsed 1?", "deferred_revenue", "916.67"),
    ("What is the termination fee for a remaining value of 960 and a fee of 15%?", "termination_fee", "144"),
]  # fmt: skip


def offered() -> JsonObject:
    """The tool as a request lists it."""
    tool = define_calculate_tool()
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": loads_object(json.dumps(tool.input_schema)),
    }


def asked(task: str, *facts: Json) -> list[JsonObject]:
    request = request_of({"task": task, "facts": [*facts]}, [offered()])
    return list_known_calculations(request, observe_situation(request))


def made(spec: JsonObject, state: str) -> JsonObject:
    """What is answered where a tool is to be made, or its cases."""
    return loads_object(reply(request_of({"tool_spec": spec}, state=state)).text)


@pytest.mark.promise("planner.formulas")
@each_row(("task", "operation", "result"), TASKS)
def test_a_formula_named_in_general_terms_is_asked_for_with_the_figures_of_the_task(
    task: str, operation: str, result: str
) -> None:
    (found,) = asked(task)
    operands = found["operands"]
    assert isinstance(operands, list)
    figures = [Decimal(str(one).replace(",", "")) for one in operands]
    assert found["operation"] == operation
    assert run_calculator(operation, figures) == Decimal(result)


@pytest.mark.promise("planner.formulas")
@each_row(
    "task",
    "What is the variance of what was invoiced?",
    "Amortise a loan: principal 2500, 12 months.",
    "Record an SLA credit of 10% of the monthly fee.",
    "Approve claim CL-1002.",
)
def test_nothing_is_asked_where_a_figure_is_missing_or_no_formula_is_named(task: str) -> None:
    assert asked(task) == []


@pytest.mark.promise("planner.formulas")
def test_a_figure_that_the_task_leaves_out_comes_from_its_record() -> None:
    loan: JsonObject = {"id": "LN-17", "principal": "2500.00", "yearly": "8.24", "months": 12}
    (found,) = asked("What is the loan payment of loan LN-17 in month 1?", fact("f1", "get_loan", {}, loan))
    assert found["operands"] == ["f1.principal", "f1.yearly", "f1.months", "1"]


MARGIN: JsonObject = {
    "name": "net_margin",
    "definition": "net_margin = ( revenue - cost ) / revenue * 100",
    "arguments": ["revenue", "cost"],
    "result": "ratio",
}
_OPERATION = "sum (figure...); npv(rate %, flow...); made for this: net_margin(revenue, cost): d"
OFFERING: JsonObject = {"name": "calculate", "input_schema": {"properties": {"operation": {"description": _OPERATION}}}}


@pytest.mark.promise("planner.made_tools")
def test_a_stated_formula_becomes_a_function_and_cases_that_are_worked_out() -> None:
    code, judged = made(MARGIN, "MAKE TOOL"), made(MARGIN, "TOOL CASES")

    assert code == {
        "code": "def net_margin(revenue, cost):\n    return (((revenue - cost) / revenue) * 100)",
        "cannot": "",
    }
    listed = judged["cases"]
    assert isinstance(listed, list)
    assert len(listed) == 4
    assert judged["cannot"] == ""


@pytest.mark.promise("planner.made_tools")
@each_row(
    "stated",
    "the median: the middle figure, or the mean of the two middle ones",
    "what is fair",
    "x = __import__('os')",
    "x = revenue.cost",
    "x = revenue(cost)",
    "x = revenue cost",
    "x = revenue if cost else 1",
    "x = revenue + other + cost",
    "x = revenue + cost + 'a'",
    "x = (revenue + cost",
    "x = revenue + + * cost",
    "x = " + "(" * 500 + "revenue + cost" + ")" * 500,
)
def test_what_states_no_plain_formula_needs_a_model(stated: str) -> None:
    for state in ("MAKE TOOL", "TOOL CASES"):
        assert "needs a model" in str(made({**MARGIN, "definition": stated}, state)["cannot"])


@pytest.mark.promise("planner.made_tools")
@each_row(
    ("task", "operands"),
    ("Note the net margin, where revenue is 1,250.00 and cost is 800.", ["1,250.00", "800"]),
    ("Note the net margin of D-17", ["f1.revenue", "f1.cost"]),
)
def test_an_offered_tool_is_asked_with_the_figures_that_the_task_states_or_else_its_record(
    task: str, operands: list[str]
) -> None:
    deal = fact("f1", "get_deal", {"deal_id": "D-17"}, {"deal_id": "D-17", "revenue": "1250.00", "cost": "800"})
    ((name, given),) = reply(request_of({"task": task, "facts": [deal]}, [OFFERING])).calls
    assert (name, given["operation"], given["operands"]) == ("calculate", "net_margin", operands)


def test_formulas_keep_the_order_of_operations() -> None:
    terms = parse_formula("x = a - b - c / 2 ^ d * -e", ("a", "b", "c", "d", "e"))
    figures = {name: Decimal(number) for name, number in zip("abcde", (100, 5, 8, 2, 3), strict=True)}
    assert compute_terms(terms, figures) == Decimal(101)
