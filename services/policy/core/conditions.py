"""Conditions ready to decide: each a tree of closures, so no ``eval`` and no text at evaluation time."""

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import NamedTuple, TypeAlias, cast

from services.policy.core.memory import BoundedMemory
from services.policy.core.parser import parse
from services.policy.core.tree import (
    ComparisonNode,
    Conjunction,
    Constant,
    Disjunction,
    FieldReference,
    Membership,
    Node,
    Not,
)
from services.policy.core.tree import parts as parts_of
from services.policy.core.values import (
    UNKNOWN,
    ConditionError,
    Context,
    Truth,
    TypeClash,
    UnknownTruth,
    Value,
    equal,
    identical,
    in_order,
    member,
    negate,
    truth,
)
from shared.contracts.policy import ContextValue, Scalar

REMEMBERED = 100_000  # nodes of all conditions that are held
Decide: TypeAlias = Callable[[Context], Truth]
_Read: TypeAlias = Callable[[Context], Value]
_Compare: TypeAlias = Callable[[Value, Value], Truth]
_ORDERS = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}


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


def decider(node: Node) -> Decide:
    """A closure that decides the condition: true, false or unknown; it raises ``ConditionError``."""
    match node:
        case Conjunction(terms):
            return _junction(tuple(map(decider, terms)), settles=False)
        case Disjunction(terms):
            return _junction(tuple(map(decider, terms)), settles=True)
        case FieldReference((name,)):
            return _plain_flag(name, _flag(node), negated=False)
        case Not(FieldReference((name,)) as field):
            return _plain_flag(name, _opposite(_flag(field)), negated=True)
        case Not(operand):
            return _opposite(decider(operand))
        case ComparisonNode():
            return _comparison(node)
        case Membership(tested, choices):
            return _locate_clash(_reader(tested), _choices_reader(choices), member, node.position)
        case Constant() | FieldReference():
            return _flag(node)


def value_at(context: Context, path: Sequence[str]) -> Value:
    """The value at a dotted path, or unknown where a step is missing or leads through something without fields."""
    for step in path[:-1]:
        inner = context.get(step)
        if not isinstance(inner, dict):
            return UNKNOWN
        context = cast(Context, inner)  # a dict's value type is invariant; what lies inside is narrower
    return context.get(path[-1], UNKNOWN)


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
        if value is True:
            return False
        return True if value is False else UNKNOWN

    return opposite


def _flag(node: Constant | FieldReference) -> Decide:
    read, position = _reader(node), node.position

    def is_true(context: Context) -> Truth:
        try:
            return truth(read(context))
        except TypeClash as clash:
            raise ConditionError(str(clash), position) from clash

    return is_true


def _plain_flag(name: str, general: Decide, *, negated: bool) -> Decide:
    def is_set(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        return value is not negated if value is True or value is False else general(context)

    return is_set


def _comparison(node: ComparisonNode) -> Decide:
    """A plain field against a literal number or text has a short way, which leaves all else to the general one."""
    general = _locate_clash(_reader(node.left), _reader(node.right), _compare(node.operator), node.position)
    match node:
        case ComparisonNode(">" | "<=" as sign, FieldReference((name,)), Constant(Decimal() as limit)):
            return _exceeds(name, _whole(limit), general, wanted=sign == ">")
        case ComparisonNode(">=" | "<" as sign, FieldReference((name,)), Constant(Decimal() as limit)):
            return _reaches(name, _whole(limit), general, wanted=sign == ">=")
        case ComparisonNode("==" | "===" | "!=" | "!==" as sign, FieldReference((name,)), Constant(str(text))):
            return _is_text(name, text, general, wanted=sign[0] == "=")
        case _:
            return general


def _compare(sign: str) -> _Compare:
    match sign:
        case "==":
            return equal
        case "===":
            return identical
        case "!=":
            return lambda left, right: negate(equal(left, right))
        case "!==":
            return lambda left, right: negate(identical(left, right))
        case _:
            return partial(in_order, _ORDERS[sign])


def _whole(number: Decimal) -> int | Decimal:
    """Whole numbers compare faster."""
    return int(number) if number == number.to_integral_value() else number


# Operators and look-ups are written out: each call saved is a quarter of what the usual condition costs.
def _exceeds(name: str, limit: int | Decimal, general: Decide, *, wanted: bool) -> Decide:
    def exceeds(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        if type(value) is int or type(value) is Decimal:  # not isinstance: a boolean is no number
            return (value > limit) is wanted
        return general(context)

    return exceeds


def _reaches(name: str, limit: int | Decimal, general: Decide, *, wanted: bool) -> Decide:
    def reaches(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        if type(value) is int or type(value) is Decimal:
            return (value >= limit) is wanted
        return general(context)

    return reaches


def _is_text(name: str, text: str, general: Decide, *, wanted: bool) -> Decide:
    def is_text(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        return (value == text) is wanted if type(value) is str else general(context)

    return is_text


def _locate_clash(left: _Read, right: _Read, compare: _Compare, position: int) -> Decide:
    def compare_or_locate(context: Context) -> Truth:
        try:
            return compare(left(context), right(context))
        except TypeClash as clash:
            raise ConditionError(str(clash), position) from clash

    return compare_or_locate


def _choices_reader(choices: tuple[Constant, ...] | FieldReference) -> _Read:
    if isinstance(choices, FieldReference):
        return _reader(choices)
    literals: list[Scalar] = [choice.value for choice in choices]
    return lambda _: literals


def _reader(node: Node) -> _Read:
    match node:
        case Constant(value):
            return lambda _: value
        case FieldReference((name,)):
            return lambda context: context.get(name, UNKNOWN)
        case FieldReference(path):
            return lambda context: value_at(context, path)
        case _:
            return decider(node)
