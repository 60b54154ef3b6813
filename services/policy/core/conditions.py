"""Conditions ready to decide: each a tree of closures, so no ``eval`` and no text at evaluation time."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple, TypeAlias, cast

from services.policy.core.grammar import (
    ComparisonNode,
    Conjunction,
    Constant,
    Disjunction,
    FieldReference,
    Membership,
    Node,
    Not,
    parse,
)
from services.policy.core.grammar import parts as parts_of
from services.policy.core.memory import BoundedMemory
from services.policy.core.values import (
    OPERATORS,
    UNKNOWN,
    ConditionError,
    Context,
    Truth,
    TypeClash,
    UnknownTruth,
    Value,
    member,
    truth,
)
from shared.contracts.policy import ContextValue, Scalar

REMEMBERED = 100_000  # nodes of all conditions that are held
Decide: TypeAlias = Callable[[Context], Truth]
_Read: TypeAlias = Callable[[Context], Value]
# A plain field against a literal has a short way, a bound method of the literal: `amount > 5` asks `5 < amount`.
_SHORT_WAYS = {">": "__lt__", "<": "__gt__", ">=": "__le__", "<=": "__ge__"}
_SHORT_WAYS_OF_ALL = {"==": "__eq__", "===": "__eq__", "!=": "__ne__", "!==": "__ne__"}


class Condition(NamedTuple):
    """``decide`` answers true, false or unknown for a context, or raises ``ConditionError``."""

    tree: Node
    fields: tuple[FieldReference, ...]  # each once, in the order of the text
    cost: int  # of holding and of deciding it
    decide: Decide

    def values(self, context: Context) -> dict[str, ContextValue]:
        """The fields that the condition reads and the context has."""
        found = {field.name: value_at(context, field.path) for field in self.fields}
        return {name: value for name, value in found.items() if not isinstance(value, UnknownTruth)}

    def missing(self, context: Context) -> tuple[str, ...]:
        """The fields that kept the condition from being decided: absent, or null."""
        known = self.values(context)
        return tuple(field.name for field in self.fields if known.get(field.name) is None)


class ConditionCache(BoundedMemory[str, Condition]):
    """Parses each text once."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        super().__init__(limit)

    def get(self, text: str) -> Condition:
        """The condition of that text; raises ``ConditionError``."""
        condition = self.find(text)
        if condition is None:
            condition = parse_condition(text)
            self.keep(text, condition, condition.cost)
        return condition


def parse_condition(text: str) -> Condition:
    """Parse a condition and build its closures; raises ``ConditionError``."""
    tree = parse(text)
    parts = tuple(parts_of(tree))
    fields = tuple(dict.fromkeys(part for part in parts if isinstance(part, FieldReference)))
    return Condition(tree, fields, len(parts) + len(text) // 32, decider(tree))


def value_at(context: Context, path: Sequence[str]) -> Value:
    """The value at a dotted path, or unknown where a step is missing or leads through something without fields."""
    for step in path[:-1]:
        inner = context.get(step)
        if not isinstance(inner, dict):
            return UNKNOWN
        context = cast(Context, inner)  # a dict's value type is invariant; what lies inside is narrower
    return context.get(path[-1], UNKNOWN)


def decider(node: Node) -> Decide:
    """A closure that decides the condition: true, false or unknown; it raises ``ConditionError``."""
    match node:
        case Conjunction(terms):
            return _junction(tuple(map(decider, terms)), settles=False)
        case Disjunction(terms):
            return _junction(tuple(map(decider, terms)), settles=True)
        case Not(FieldReference((name,)) as operand):
            return _flag(name, False, _opposite(_locate(operand, None, truth, operand.position)))
        case Not(operand):
            return _opposite(decider(operand))
        case FieldReference((name,)):
            return _flag(name, True, _locate(node, None, truth, node.position))
        case Constant() | FieldReference():
            return _locate(node, None, truth, node.position)
        case Membership(tested, choices):
            return _locate(tested, choices, member, node.position)
        case ComparisonNode(sign, left, right):
            general = _locate(left, right, OPERATORS[sign], node.position)
            if isinstance(left, FieldReference) and len(left.path) == 1 and isinstance(right, Constant):
                ways = _SHORT_WAYS_OF_ALL | (_SHORT_WAYS if isinstance(right.value, Decimal) else {})
                if sign in ways and isinstance(right.value, Decimal | str):
                    return _take_short_way(left.path[0], right.value, ways[sign], general)
            return general


def _junction(terms: Sequence[Decide], *, settles: bool) -> Decide:
    """``settles``: the value of one term that settles the answer."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2  # in halves, so that two thousand terms are eleven calls deep
    first, second = _junction(terms[:half], settles=settles), _junction(terms[half:], settles=settles)

    def decide_terms(context: Context) -> Truth:
        value = first(context)
        if value is settles:
            return value
        other = second(context)
        return UNKNOWN if value is UNKNOWN and other is not settles else other

    return decide_terms


def _opposite(decide: Decide) -> Decide:
    def opposite(context: Context) -> Truth:
        value = decide(context)
        return UNKNOWN if value is UNKNOWN else not value

    return opposite


def _flag(name: str, wanted: bool, general: Decide) -> Decide:
    def is_as_wanted(context: Context) -> Truth:
        value = context.get(name, UNKNOWN)
        if value is True or value is False:
            return value is wanted
        return UNKNOWN if value is UNKNOWN else general(context)

    return is_as_wanted


def _take_short_way(name: str, literal: Decimal | str, way: str, general: Decide) -> Decide:
    """The literal's own method where the value is of its type; ``general`` decides all else."""
    is_whole = isinstance(literal, Decimal) and literal == literal.to_integral_value()
    wanted = int(literal) if is_whole else literal  # whole numbers compare faster
    holds, kind = cast(Callable[[object], bool], getattr(wanted, way)), type(wanted)

    def decide_plainly(context: Context) -> Truth:
        value = context.get(name, UNKNOWN)
        if type(value) is kind:  # not isinstance: a boolean is no number
            return holds(value)
        return UNKNOWN if value is UNKNOWN else general(context)

    return decide_plainly


def _locate(
    left: Node, right: Node | tuple[Constant, ...] | None, compare: Callable[[Value, Value], Truth], position: int
) -> Decide:
    """A closure whose errors say where in the text they arise."""
    read_left, read_right = _reader(left), _reader(right)

    def compare_or_locate(context: Context) -> Truth:
        try:
            return compare(read_left(context), read_right(context))
        except TypeClash as clash:
            raise ConditionError(str(clash), position) from clash

    return compare_or_locate


def _reader(node: Node | tuple[Constant, ...] | None) -> _Read:
    match node:
        case None:
            return lambda _: None
        case Constant(value):
            return lambda _: value
        case FieldReference((name,)):
            return lambda context: context.get(name, UNKNOWN)
        case FieldReference(path):
            return lambda context: value_at(context, path)
        case tuple(choices):
            literals: list[Scalar] = [choice.value for choice in choices]
            return lambda _: literals
        case _:
            return decider(node)
