"""Whatever a request holds, the planner answers in the form that was asked, and soon."""

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from services.executor.core.prompts import schemas
from services.planner.core.request import parse
from services.planner.core.roles import reply
from shared.domain.exact_json import Json, dumps, loads_object, wire
from tests.unit.planner.planner_requests import answered, said, tool

_LEAF = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=12)
    | st.decimals(allow_nan=False, allow_infinity=False)
)
_NAMES = st.sampled_from(["id", "kite_id", "fee", "data", "items", "error", "state", "", "ß"]) | st.text(max_size=5)
_JSON = st.recursive(
    _LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4), max_leaves=12
)
_WORDS = st.sampled_from(
    (
        "approve kite KIT-7 if otherwise not the fee is over $5 and 10% of total all how many unless by to set "
        '. ? , ; " because'
    ).split()
)
_TASKS = st.lists(_WORDS, max_size=25).map(" ".join) | st.text(max_size=60)
_FACTS = st.lists(st.fixed_dictionaries({"ref": st.just("f1"), "tool": _NAMES, "result": _JSON}), max_size=3)
_TOOLS: list[Json] = [
    tool("approve_kite", "main", kite_id="string"),
    tool("set_kite_fee", "main", id="string", fee="number"),
]
_READERS: list[Json] = [tool("get_kite", kite_id="string"), tool("list_kites")]


@settings(max_examples=150, deadline=None)
@given(task=_TASKS, facts=_FACTS)
def test_every_state_answers_in_its_schema(task: str, facts: list[Json]) -> None:
    """Odd texts and odd results give fewer calls, never a broken answer; calls name offered tools only."""
    sections: dict[str, Json] = {"task": task, "facts": facts}
    computed = answered("COMPUTE", sections)
    plan = answered("WRITE PLAN", {**sections, **computed, "write_tools": _TOOLS, "read_tools": _READERS})
    for schema, answer in (
        (schemas.DECOMPOSITION, answered("DECOMPOSE", sections)),
        (schemas.COMPUTATION, computed),
        (schemas.WRITE_PLAN, plan),
    ):
        Draft202012Validator(schema).validate(wire(answer))
    assert {call["tool"] for call in _objects(plan["calls"])} <= {"approve_kite", "set_kite_fee"}
    assert {name for name, _ in said("ASSESS", sections, _READERS).calls} <= {"get_kite", "list_kites"}
    assert said("COMPLETE", sections).text


@settings(max_examples=60, deadline=None)
@given(body=st.dictionaries(st.sampled_from(["messages", "system", "tools", "output_config"]), _JSON))
def test_no_body_breaks_it(body: dict[str, Json]) -> None:
    """What the checks let through by mistake still gets an answer."""
    assert reply(parse(body)).text


def _objects(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def test_the_same_request_gets_the_same_answer() -> None:
    """It keeps nothing and draws no lots."""
    sections: dict[str, Json] = {"task": "Approve kite KIT-7 and set its fee to 5.", "write_tools": _TOOLS}
    assert said("WRITE PLAN", sections) == said("WRITE PLAN", sections)
    assert loads_object(said("WRITE PLAN", sections).text) == loads_object(dumps(answered("WRITE PLAN", sections)))
