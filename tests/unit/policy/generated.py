"""Conditions, contexts and policies that hypothesis makes up; and how long those may take that are meant to harm."""

from collections.abc import Callable
from decimal import Decimal
from time import process_time

from hypothesis import strategies as st

from services.policy.core.grammar import Constant, FieldReference, Node, OperatorNode
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

PATHS = [("a",), ("b",), ("c",), ("flag",), ("ünder_scored",), ("o", "x"), ("o", "y"), ("a", "z")]
OPERATORS = [">", "<", ">=", "<=", "==", "!=", "===", "!=="]
TEXTS = [
    "",
    "active",
    "VIP",
    "7",
    "7.0",
    "-3",
    "5,000",
    "$7,200",
    "€7,200",
    "1,2",
    "007",
    "it's",
    'say "x" \\',
    "a && b",
]
EDGES = [Decimal("5000"), Decimal("7200"), Decimal("0.1"), Decimal("7.0"), Decimal(7), Decimal(-3), Decimal(0)]

texts = st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
numbers = st.sampled_from(EDGES) | st.decimals(-10_000, 10_000, allow_nan=False, places=3)
constants = st.builds(Constant, st.none() | st.booleans() | numbers | texts)
references = st.sampled_from(PATHS).map(FieldReference)
leaves = constants | references
lists = st.lists(constants, max_size=5).map(lambda values: OperatorNode("[]", tuple(values)))


def _pair(signs: list[str], left: st.SearchStrategy[Node], right: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.builds(OperatorNode, st.sampled_from(signs), st.tuples(left, right))


def _joined(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    terms: st.SearchStrategy[tuple[Node, ...]] = st.lists(inner, min_size=2, max_size=4).map(tuple)
    negated = st.builds(OperatorNode, st.just("!"), st.tuples(inner))
    return negated | st.builds(OperatorNode, st.sampled_from(["&&", "||"]), terms)


def _grown(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return _joined(inner) | _pair(OPERATORS, inner, inner) | _pair(["in"], inner, lists | references)


# Wild trees mix everything with everything: most are errors. Sensible ones compare what can be compared.
wild: st.SearchStrategy[Node] = st.recursive(leaves, _grown, max_leaves=8)
_amounts = st.sampled_from([("a",), ("o", "x")]).map(FieldReference)
_flags = st.sampled_from([("b",), ("flag",)]).map(FieldReference)
_words = st.just(FieldReference(("c",)))
_sensible = (
    _flags
    | _pair(OPERATORS, _amounts, st.builds(Constant, numbers) | _amounts)
    | _pair(OPERATORS[4:], _words, st.builds(Constant, texts | numbers | st.none()))
    | _pair(["in"], _words, lists)
)
sensible: st.SearchStrategy[Node] = st.recursive(_sensible, _joined, max_leaves=6)
trees = sensible | wild

scalars: st.SearchStrategy[str | bool | int | Decimal | None] = (
    st.none() | st.booleans() | st.integers(-10, 10_000) | numbers | texts
)
values: st.SearchStrategy[ContextValue] = scalars | st.lists(scalars, max_size=3)
amounts: st.SearchStrategy[str | bool | int | Decimal | None] = (
    numbers | st.integers(-10, 10_000) | st.sampled_from(["7", "$7,200", "5,000"])
)
_expected: dict[str, st.SearchStrategy[ContextValue]] = {"a": amounts, "b": st.booleans(), "c": texts}
_order: st.SearchStrategy[ContextValue] = st.fixed_dictionaries({"x": amounts}).map(dict)
_perhaps: dict[str, st.SearchStrategy[ContextValue]] = {"flag": st.booleans(), "o": _order, "ünder_scored": values}
_objects: st.SearchStrategy[ContextValue] = st.dictionaries(st.sampled_from(["x", "y"]), scalars, max_size=2).map(dict)
_odd: dict[str, st.SearchStrategy[ContextValue]] = {
    **dict.fromkeys(["a", "b", "c", "flag", "ünder_scored"], values),
    "o": _objects | scalars,
}
likely = st.fixed_dictionaries(_expected, optional=_perhaps)
odd = st.fixed_dictionaries({}, optional=_odd)
contexts: st.SearchStrategy[dict[str, ContextValue]] = likely | odd

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
