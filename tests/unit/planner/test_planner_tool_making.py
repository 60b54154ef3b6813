"""The rule-based planner's part in tools made at run time: formulas that are stated; all else needs a model."""

from decimal import Decimal

import pytest

from services.planner.core.formula import compute_terms, formula
from services.planner.core.request import PlannerReply, parse
from services.planner.core.roles import reply
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

MARGIN: JsonObject = {
    "name": "net_margin",
    "definition": "net_margin = ( revenue - cost ) / revenue * 100",
    "arguments": ["revenue", "cost"],
    "result": "ratio",
}
OFFERING: JsonObject = {
    "name": "calculate",
    "input_schema": {
        "properties": {
            "operation": {
                "description": "sum (figure...); npv(rate %, flow...); made for this: net_margin(revenue, cost): d"
            }
        }
    },
}


def _asked(state: str, *offered: Json, **sections: Json) -> PlannerReply:
    shown = "\n\n".join(
        f"<{name}>\n{value if isinstance(value, str) else dumps(value)}\n</{name}>" for name, value in sections.items()
    )
    message: JsonObject = {"role": "user", "content": shown}
    return reply(
        parse({"system": f"# State: {state}" if state else "Rules.", "messages": [message], "tools": [*offered]})
    )


@pytest.mark.promise("planner.made_tools")
def test_a_stated_formula_becomes_a_function_and_cases_that_are_worked_out() -> None:
    code = loads_object(_asked("MAKE TOOL", tool_spec=MARGIN).text)
    judged = loads_object(_asked("TOOL CASES", tool_spec=MARGIN).text)

    assert code == {
        "code": "def net_margin(revenue, cost):\n    return (((revenue - cost) / revenue) * 100)",
        "cannot": "",
    }
    listed = judged["cases"]
    assert isinstance(listed, list)
    assert len(listed) == 4
    assert judged["cannot"] == ""


@pytest.mark.promise("planner.made_tools")
@pytest.mark.parametrize(
    "stated",
    [
        "the median: the middle figure, or the mean of the two middle ones",
        "what is fair",
        "x = __import__('os')",
        "x = revenue.cost",
        "x = revenue(cost)",
        "x = revenue if cost else 1",
        "x = revenue + other + cost",
        "x = revenue + cost + 'a'",
        "x = revenue",
        "x = revenue + cost)",
        "x = (revenue + cost",
        "x = revenue cost",
        "x = 2 revenue + cost",
        "x = revenue + + * cost",
        "x = " + "(" * 500 + "revenue + cost" + ")" * 500,
    ],
)
def test_what_states_no_plain_formula_needs_a_model(stated: str) -> None:
    spec = {**MARGIN, "definition": stated}

    for state in ("MAKE TOOL", "TOOL CASES"):
        assert "needs a model" in str(loads_object(_asked(state, tool_spec=spec).text)["cannot"])


@pytest.mark.promise("planner.made_tools")
def test_an_offered_tool_is_asked_with_the_figures_that_the_task_states() -> None:
    task = "Note the net margin, where revenue is 1,250.00 and cost is 800."

    calls = _asked("", OFFERING, task=task).calls

    (call,) = calls
    assert call[0] == "calculate"
    assert call[1]["operation"] == "net_margin"
    assert call[1]["operands"] == ["1,250.00", "800"]


def test_figures_come_from_the_tasks_record_where_it_does_not_state_them() -> None:
    fact: JsonObject = {
        "ref": "f1",
        "tool": "get_deal",
        "arguments": {"deal_id": "D-17"},
        "result": {"deal_id": "D-17", "revenue": "1250.00", "cost": "800"},
    }

    calls = _asked("", OFFERING, task="Note the net margin of D-17", facts=[fact]).calls

    assert calls[0][1]["operands"] == ["f1.revenue", "f1.cost"]


def test_formulas_keep_the_order_of_operations() -> None:
    terms = formula("x = a - b - c / 2 ^ d * -e", ("a", "b", "c", "d", "e"))
    figures = {name: Decimal(number) for name, number in zip("abcde", (100, 5, 8, 2, 3), strict=True)}
    assert compute_terms(terms, figures) == Decimal(101)
