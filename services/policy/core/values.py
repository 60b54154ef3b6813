"""The operators of the condition language. docs/policy.md has them as tables."""

import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

from shared.contracts.policy import ContextValue


class UnknownTruth(Enum):
    """The third truth value: a needed field is missing or null."""

    UNKNOWN = "unknown"


UNKNOWN: Final[Literal[UnknownTruth.UNKNOWN]] = UnknownTruth.UNKNOWN
Context: TypeAlias = Mapping[str, ContextValue]
Value: TypeAlias = ContextValue | UnknownTruth
Truth: TypeAlias = bool | UnknownTruth


class ConditionError(Exception):
    """A condition that cannot be parsed or evaluated; ``position``: the character offset of the fault."""

    def __init__(self, cause: str, position: int) -> None:
        super().__init__(cause)
        self.cause = cause
        self.position = position


class TypeClash(Exception):
    """An operator got values of types that it does not support. It becomes a ``ConditionError``, which adds the
    position.
    """


class Amount(NamedTuple):
    """The number that a text such as ``5,000`` or ``$7,200.50`` spells, and its currency sign; empty if it has none."""

    number: Decimal
    currency: str


_AMOUNT_PATTERN = re.compile(r"(-?)([$€£]?)(-?)([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(\.[0-9]+)?")
_LONGEST_AMOUNT = 64
_KIND_WORDS = {
    type(None): "null",
    bool: "boolean",
    int: "number",  # a boolean is an int as well: it stands first
    Decimal: "number",
    str: "text",
    list: "list",
    dict: "object",
}


def parse_amount(text: str) -> Amount | None:
    """The number that a text spells, with optional sign, currency and commas; None if it spells none."""
    text = text.strip() if len(text) <= _LONGEST_AMOUNT else ""
    match = _AMOUNT_PATTERN.fullmatch(text)
    if not match or (match[1] and match[3]):
        return None
    sign = match[1] or match[3]
    return Amount(Decimal(sign + match[4].replace(",", "") + (match[5] or "")), match[2])


def to_truth(value: Value) -> Truth:
    """A value as a truth value: booleans as they are, null and missing as unknown; raises ``TypeClash`` for others."""
    if value is True or value is False:
        return value
    if value is None or isinstance(value, UnknownTruth):
        return UNKNOWN
    raise TypeClash(f"expected true or false, found {_name_type_for_error(value)}")


def are_equal(left: Value, right: Value) -> Truth:
    """The operator ``==``: like ``===`` (``_are_identical``), but a text also equals a number that it spells.

    Raises ``TypeClash`` for values that cannot be compared.
    """
    is_identical = _are_identical(left, right)
    if is_identical is False and isinstance(left, str) is not isinstance(right, str):
        left_number, right_number = read_number(left), read_number(right)
        return left_number is not None and left_number == right_number
    return is_identical


def _are_identical(left: Value, right: Value) -> Truth:
    """The operator ``===``: the same type and value; ``3 === 3.0`` holds, since both are numbers.

    ``UNKNOWN`` if a side is; raises ``TypeClash`` for a list or an object, unless the other side is null.
    """
    if isinstance(left, UnknownTruth) or isinstance(right, UnknownTruth):
        return UNKNOWN
    if left is None or right is None:
        return left is right
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        pair = f"{_name_type_for_error(left)} with {_name_type_for_error(right)}"
        raise TypeClash(f"cannot compare {pair}: a list is asked with 'in'")
    return _name_type_of(left) == _name_type_of(right) and left == right


def _is_in_list(value: Value, choices: Value) -> Truth:
    """The operator ``in``: whether the value equals (``==``) an item of the list. Raises ``TypeClash`` for no list."""
    if isinstance(value, UnknownTruth) or choices is None or isinstance(choices, UnknownTruth):
        return UNKNOWN
    if not isinstance(choices, list):
        raise TypeClash("the right side of 'in' is no list")
    return any(are_equal(value, choice) is True for choice in choices)


def _compare_order(holds: Callable[..., bool], left: Value, right: Value) -> Truth:
    """Compares by ``<``, ``<=``, ``>`` or ``>=``, which ``holds`` computes: numbers and texts that spell numbers by
    value, other texts by character. ``UNKNOWN`` if a side is null or missing; raises ``TypeClash`` for other types.
    """
    if left is None or right is None or isinstance(left, UnknownTruth) or isinstance(right, UnknownTruth):
        return UNKNOWN
    left_number = read_number(left)
    right_number = read_number(right)
    cause = ""
    if isinstance(left, str) and isinstance(right, str):
        if left_number is None and right_number is None:
            return holds(left, right)
        amounts = filter(None, (parse_amount(left), parse_amount(right)))
        if left_number is None or right_number is None:
            cause = ": one is a number, the other is not"
        elif len({amount.currency for amount in amounts if amount.currency}) > 1:
            cause = ": two currencies"
    if left_number is None or right_number is None or cause:
        raise TypeClash(f"cannot order {_name_type_for_error(left)} against {_name_type_for_error(right)}{cause}")
    return holds(left_number, right_number)


def _negate_equality(compare: Callable[[Value, Value], Truth], left: Value, right: Value) -> Truth:
    are_equal = compare(left, right)
    return UNKNOWN if are_equal is UNKNOWN else not are_equal


COMPARE_BY_OPERATOR: Mapping[str, Callable[[Value, Value], Truth]] = {
    "in": _is_in_list,
    ">": partial(_compare_order, operator.gt),
    "<": partial(_compare_order, operator.lt),
    ">=": partial(_compare_order, operator.ge),
    "<=": partial(_compare_order, operator.le),
    "==": are_equal,
    "===": _are_identical,
    "!=": partial(_negate_equality, are_equal),
    "!==": partial(_negate_equality, _are_identical),
}


def read_number(value: Value) -> int | Decimal | None:
    """The number that a value is or, as a text, spells; None for any other value, booleans too."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Decimal):
        return value
    amount = parse_amount(value) if isinstance(value, str) else None
    return amount.number if amount else None


def _name_type_of(value: ContextValue) -> str:
    return next(word for kind, word in _KIND_WORDS.items() if isinstance(value, kind))


def _name_type_for_error(value: ContextValue) -> str:
    """The type of a value for an error message; never the value, since errors may be logged."""
    return f"{'an' if isinstance(value, dict) else 'a'} {_name_type_of(value)}"
