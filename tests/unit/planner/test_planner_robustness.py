"""Whatever a request holds, the planner answers in the form that was asked, and soon."""

from time import process_time

from hypothesis import given, settings, strategies as st

from services.planner.core.mentions import find_mentions
from services.planner.core.request import parse_request
from services.planner.core.roles import reply
from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.planner.planner_requests import said, tool, writer

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
_READERS: list[Json] = [tool("get_kite", kite_id="string"), tool("list_kites")]
_WRITERS: list[Json] = [writer("approve_kite", kite_id="string"), writer("set_kite_fee", id="string", fee="number")]
_TOOLS: list[Json] = [tool("understand"), tool("calculate"), *_READERS, *_WRITERS]
_NAMED = {"understand", "calculate", "get_kite", "list_kites", "approve_kite", "set_kite_fee"}


@given(task=_TASKS, facts=_FACTS, tools=st.sampled_from([_TOOLS, _READERS, _WRITERS, []]))
def test_every_reply_calls_offered_tools_or_says_something(task: str, facts: list[Json], tools: list[Json]) -> None:
    """Odd texts and odd results give fewer calls, never a broken answer; what is understood is quoted from the task."""
    answer = said({"task": task, "so_far": facts}, tools)
    assert {name for name, _ in answer.calls} <= _NAMED
    assert answer.calls or answer.text
    for name, given_to in answer.calls:
        parts = given_to["parts"] if name == "understand" else []
        assert isinstance(parts, list)
        assert all(isinstance(part, dict) and str(part["quote"]) in task for part in parts)


@settings(max_examples=20)
@given(body=st.dictionaries(st.sampled_from(["messages", "system", "tools", "output_config"]), _JSON))
def test_no_body_breaks_it(body: dict[str, Json]) -> None:
    """What the checks let through by mistake still gets an answer."""
    assert reply(parse_request(body)).text


@each_row("text", "1" * 20_000, ",111" * 5_000, "1," * 10_000, "$1" * 10_000, "1.1" * 7_000)
def test_long_rows_of_digits_are_looked_through_once(text: str) -> None:
    started = process_time()
    find_mentions(text)
    assert process_time() - started < 1


@each_row("run", " " * 20_000, "\t \n" * 7_000, ", " * 10_000, "A" * 20_000)
def test_long_runs_of_blanks_commas_or_letters_are_looked_through_once(run: str) -> None:
    started = process_time()
    for tools in (_TOOLS, [*_READERS, *_WRITERS]):
        assert said({"task": f"Approve kite KIT-7{run}then set its fee to 5."}, tools)
    assert process_time() - started < 5
