"""Contexts and policies that hypothesis makes up; and how long those may take that are meant to harm."""

from collections.abc import Callable
from decimal import Decimal
from time import process_time

from hypothesis import strategies as st

from shared.contracts.policy import (
    CallContext,
    CallOutcome,
    Confirmation,
    ContextValue,
    EvaluateRequest,
    PastCall,
    Policy,
    Rule,
    ToolRule,
)

TEXTS = ["", "active", "VIP", "7", "-3", "5,000", "$7,200", "€7,200", "1,2", "007", 'say "x"']
EDGES = [Decimal("5000"), Decimal("7200"), Decimal("0.1"), Decimal("7.0"), Decimal(7), Decimal(-3), Decimal(0)]

texts = st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
numbers = st.sampled_from(EDGES) | st.decimals(-10_000, 10_000, allow_nan=False, places=3)

scalars: st.SearchStrategy[str | bool | int | Decimal | None] = (
    st.none() | st.booleans() | st.integers(-10, 10_000) | numbers | texts
)
values: st.SearchStrategy[ContextValue] = scalars | st.lists(scalars, max_size=3)
amounts: st.SearchStrategy[str | bool | int | Decimal | None] = (
    numbers | st.integers(-10, 10_000) | st.sampled_from(["7", "$7,200", "5,000"])
)
_objects: st.SearchStrategy[ContextValue] = st.dictionaries(st.sampled_from(["x", "y"]), scalars, max_size=2).map(dict)
_fields: dict[str, st.SearchStrategy[ContextValue]] = {
    "a": amounts | values,
    "b": st.booleans() | values,
    "c": texts | values,
    "o": _objects | scalars,
}
contexts: st.SearchStrategy[dict[str, ContextValue]] = st.fixed_dictionaries({}, optional=_fields)

conditions = st.sampled_from(
    ["a > 100", "b", "!b", "c == null", "a < 10 || b", 'c in ["VIP"]', "o.x >= 1", "true", "a >", "b && a != 7"]
)
levels = st.none() | st.sampled_from(["manager", "CFO", "legal", "queen"])
rules = st.builds(
    Rule,
    id=st.sampled_from(["R1", "R2", "R3"]),
    condition=conditions,
    action=st.sampled_from(["block", "escalate", "require_approval", "deny"]),
    level=levels,
)
policies = st.builds(Policy, id=st.just("P"), rules=st.lists(rules, max_size=5).map(tuple))
requests = st.builds(
    EvaluateRequest, policies=st.lists(policies, max_size=2).map(tuple), context=contexts, binding=st.booleans()
)

# Plans over a handful of tools, so that rules, calls and history meet.
_tools = st.sampled_from(["pay", "ship", "cancel", "note"])
_named_tools = _tools | st.sampled_from(["*", "p*", "s*p"])
_call_fields: st.SearchStrategy[dict[str, ContextValue]] = st.fixed_dictionaries(
    {}, optional={"a": amounts, "order_id": st.sampled_from(["7", 7, "8", None])}
).map(dict)
_per = st.sampled_from([(), ("order_id",)])
_report_only = st.sampled_from([False, False, True])
_ids = st.sampled_from(["T1", "T2", "T3"])
_some_tools = st.lists(_tools, min_size=1, max_size=2).map(tuple)


def _tool_rules(*kinds: str, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[ToolRule]:
    return st.builds(ToolRule, id=_ids, kind=st.sampled_from(kinds), tool=_named_tools, **fields)


tool_rules: st.SearchStrategy[ToolRule] = st.one_of(
    _tool_rules("never", "allow", "only_after_confirmation", "forbid", report_only=_report_only),
    _tool_rules("at_most", limit=st.sampled_from([None, 1, 2]), per=_per, report_only=_report_only),
    _tool_rules("only_after", after=_some_tools, per=_per, report_only=_report_only),
    _tool_rules("only_when", condition=conditions),
)
tool_policies = st.builds(
    Policy,
    id=st.sampled_from(["P", "Q"]),
    tool_rules=st.lists(tool_rules, max_size=4).map(tuple),
    tool_default=st.sampled_from(["allow", "allow", "deny", "deny_writes"]),
)
_planned = st.lists(st.tuples(_tools, _call_fields), max_size=5).map(
    lambda calls: tuple(
        CallContext(call_id=f"c{number}", tool=tool, fields=fields) for number, (tool, fields) in enumerate(calls)
    )
)
plans = st.builds(
    EvaluateRequest,
    policies=st.lists(tool_policies, max_size=2).map(tuple),
    calls=_planned,
    history=st.lists(
        st.builds(PastCall, tool=_tools, outcome=st.sampled_from(CallOutcome), fields=_call_fields), max_size=3
    ).map(tuple),
    confirmations=st.lists(st.builds(Confirmation, tool=_tools), max_size=2).map(tuple),
    binding=st.booleans(),
)


def soon(act: Callable[[], object]) -> bool:
    """Whether the best of three tries is over within a moment, far below what a blow-up takes."""
    for _ in range(3):
        before = process_time()
        act()
        if process_time() - before < 3:
            return True
    return False
