"""Turns a parsed condition into a tree of closures: no ``eval``, no text at evaluation time.

Two terms have a short way of their own, and so have the usual comparisons of a plain field (``shortcuts``).
"""

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeAlias, assert_never, cast

from services.policy.core.shortcuts import AGAINST_NUMBER, AGAINST_TEXT, Decide, flag, no_flag
from services.policy.core.tree import Comparison, Conjunction, Constant, Disjunction, Membership, Node, Not, Reference
from services.policy.core.values import (
    UNKNOWN,
    ConditionError,
    Context,
    Orderable,
    Truth,
    TypeClash,
    Unknown,
    Value,
    equal,
    identical,
    member,
    ordered,
    truth,
)
from shared.contracts.policy import Scalar

Read: TypeAlias = Callable[[Context], Value]
Compare: TypeAlias = Callable[[Value, Value], Truth]
_Order: TypeAlias = Callable[[Orderable, Orderable], bool]

_ORDERS: dict[str, _Order] = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}


def decider(node: Node) -> Decide:
    """A closure that decides the condition: true, false or unknown; it raises ``ConditionError``."""
    match node:
        case Conjunction(terms):
            return _both(*map(decider, terms)) if len(terms) == 2 else _every(tuple(map(decider, terms)))
        case Disjunction(terms):
            return _one_of(*map(decider, terms)) if len(terms) == 2 else _any(tuple(map(decider, terms)))
        case Not(Reference(path=(name,))):
            return no_flag(name, _opposite(decider(node.operand)))
        case Not(operand):
            return _opposite(decider(operand))
        case Comparison():
            return _comparison(node)
        case Membership():
            return _membership(node)
        case Reference(path=(name,)):
            return flag(name, _flag(_reader(node), node.position))
        case Constant() | Reference():
            return _flag(_reader(node), node.position)
        case _:
            assert_never(node)


def _both(first: Decide, second: Decide) -> Decide:
    def both(context: Context) -> Truth:
        value = first(context)
        if value is True:
            return second(context)
        if value is False or second(context) is False:
            return False
        return UNKNOWN

    return both


def _one_of(first: Decide, second: Decide) -> Decide:
    def one_of(context: Context) -> Truth:
        value = first(context)
        if value is False:
            return second(context)
        if value is True or second(context) is True:
            return True
        return UNKNOWN

    return one_of


def _every(terms: Sequence[Decide]) -> Decide:
    def every(context: Context) -> Truth:
        result: Truth = True
        for term in terms:
            value = term(context)
            if value is False:
                return False
            if value is UNKNOWN:
                result = UNKNOWN
        return result

    return every


def _any(terms: Sequence[Decide]) -> Decide:
    def any_term(context: Context) -> Truth:
        result: Truth = False
        for term in terms:
            value = term(context)
            if value is True:
                return True
            if value is UNKNOWN:
                result = UNKNOWN
        return result

    return any_term


def _opposite(decide: Decide) -> Decide:
    def opposite(context: Context) -> Truth:
        value = decide(context)
        if value is True:
            return False
        return True if value is False else UNKNOWN

    return opposite


def _flag(read: Read, position: int) -> Decide:
    def is_true(context: Context) -> Truth:
        try:
            return truth(read(context))
        except TypeClash as clash:
            raise ConditionError(str(clash), position) from clash

    return is_true


def _comparison(node: Comparison) -> Decide:
    general = _located(_reader(node.left), _reader(node.right), _compare(node.operator), node.position)
    match node:
        case Comparison(operator, Reference(path=(name,)), Constant(Decimal() as limit)) if operator in AGAINST_NUMBER:
            number = int(limit) if limit == limit.to_integral_value() else limit
            return AGAINST_NUMBER[operator](name, number, general)
        case Comparison(operator, Reference(path=(name,)), Constant(str(text))) if operator in AGAINST_TEXT:
            return AGAINST_TEXT[operator](name, text, general)
        case _:
            return general


def _compare(operation: str) -> Compare:
    match operation:
        case "==":
            return equal
        case "===":
            return identical
        case "!=":
            return _negated(equal)
        case "!==":
            return _negated(identical)
        case _:
            return _ordering(_ORDERS[operation])


def _negated(compare: Compare) -> Compare:
    def negated(left: Value, right: Value) -> Truth:
        value = compare(left, right)
        return value if isinstance(value, Unknown) else not value

    return negated


def _ordering(order: _Order) -> Compare:
    def ordering(left: Value, right: Value) -> Truth:
        pair = ordered(left, right)
        return pair if isinstance(pair, Unknown) else order(*pair)

    return ordering


def _located(left: Read, right: Read, compare: Compare, position: int) -> Decide:
    def located(context: Context) -> Truth:
        try:
            return compare(left(context), right(context))
        except TypeClash as clash:
            raise ConditionError(str(clash), position) from clash

    return located


def _membership(node: Membership) -> Decide:
    read = _reader(node.member)
    if isinstance(node.choices, Reference):
        return _located(read, _reader(node.choices), member, node.position)
    choices: list[Scalar] = [choice.value for choice in node.choices]
    return _located(read, lambda _: choices, member, node.position)


def _reader(node: Node) -> Read:
    match node:
        case Constant(value):
            return lambda _: value
        case Reference(path=(name,)):
            return lambda context: context.get(name, UNKNOWN)
        case Reference(path):
            return lambda context: value_at(context, path)
        case _:
            return decider(node)


def value_at(context: Context, path: Sequence[str]) -> Value:
    """The value at a dotted path, or unknown where a step is missing or leads through something without fields."""
    for step in path[:-1]:
        inner = context.get(step)
        if not isinstance(inner, dict):
            return UNKNOWN
        context = cast(Context, inner)  # a dict's value type is invariant; what lies inside is narrower
    return context.get(path[-1], UNKNOWN)
