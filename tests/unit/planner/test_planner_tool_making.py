"""The rule-based planner's part in tools made at run time: formulas that are stated; all else needs a model."""

from decimal import Decimal

import pytest

from services.planner.core.formula import NoFormula, formula, worked_out
from services.planner.core.request import parse
from services.planner.core.roles import Reply, reply
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

MARGIN: JsonObject = {
    "name": "net_margin",
    "definition": "net_margin = ( revenue - cost ) / revenue * 100",
    "arguments": ["revenue", "cost"],
    "result": "ratio",
}


def _asked(state: str, tools: tuple[str, ...] = (), **sections: Json) -> Reply:
    shown = "\n\n".join(
        f"<{name}>\n{value if isinstance(value, str) else dumps(value)}\n</{name}>" for name, value in sections.items()
    )
    offered: list[Json] = [{"name": name, "input_schema": {}} for name in tools]
    message: JsonObject = {"role": "user", "content": shown}
    return reply(parse({"system": f"# State: {state}", "messages": [message], "tools": offered}))


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
    tool: JsonObject = {"operation": "net_margin", "arguments": ["revenue", "cost"], "definition": "d"}
    task = "Note the net margin, where revenue is 1,250.00 and cost is 800."

    calls = _asked("COMPUTE", ("calculate",), task=task, made_tools=[tool], facts=[]).calls

    (call,) = calls
    assert call[0] == "calculate"
    assert call[1]["operation"] == "net_margin"
    assert [operand["literal"] for operand in _objects(call[1]["operands"])] == ["1,250.00", "800"]


def test_figures_come_from_the_tasks_record_where_it_does_not_state_them() -> None:
    tool: JsonObject = {"operation": "net_margin", "arguments": ["revenue", "cost"], "definition": "d"}
    fact: JsonObject = {
        "ref": "f1",
        "tool": "get_deal",
        "arguments": {"deal_id": "D-17"},
        "result": {"deal_id": "D-17", "revenue": "1250.00", "cost": "800"},
    }

    calls = _asked("COMPUTE", ("calculate",), task="Note the net margin of D-17", made_tools=[tool], facts=[fact]).calls

    assert [operand["path"] for operand in _objects(calls[0][1]["operands"])] == ["revenue", "cost"]


def test_formulas_keep_the_order_of_operations() -> None:
    terms = formula("x = a - b - c / 2 ^ d * -e", ("a", "b", "c", "d", "e"))
    figures = {name: Decimal(number) for name, number in zip("abcde", (100, 5, 8, 2, 3), strict=True)}
    assert worked_out(terms, figures) == Decimal(101)


def test_a_text_without_a_formula_has_none() -> None:
    with pytest.raises(NoFormula):
        formula("no formula here", ())


def _objects(value: Json) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("revenue is -5.5 and cost: 3", ["-5.5", "3"]),
        ("revenue of $1,250 at cost 800.", ["$1,250", "800"]),
        ("x = revenue -5 + cost", None),
        ("revenue is high, and so is cost", None),
    ],
)
def test_a_figure_belongs_to_a_name_only_where_the_task_says_so(text: str, literals: list[str] | None) -> None:
    tool: JsonObject = {"operation": "net_margin", "arguments": ["revenue", "cost"], "definition": "d"}
    calls = _asked("COMPUTE", ("calculate",), task=text, made_tools=[tool], facts=[]).calls
    assert [one["literal"] for _, asked in calls for one in _objects(asked["operands"])] == (literals or [])
