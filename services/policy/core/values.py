"""What the operators of the condition language mean for two values. docs/policy.md has the same as tables."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Final, Literal, NamedTuple, TypeAlias

from shared.contracts.policy import ContextValue


class UnknownTruth(Enum):
    """The third truth value: a field that decides is missing, or null where a value is needed."""

    UNKNOWN = "unknown"


UNKNOWN: Final[Literal[UnknownTruth.UNKNOWN]] = UnknownTruth.UNKNOWN
Context: TypeAlias = Mapping[str, ContextValue]
Value: TypeAlias = ContextValue | UnknownTruth
Truth: TypeAlias = bool | UnknownTruth


class ConditionError(Exception):
    """A condition that cannot be parsed or evaluated; ``position`` is the character where it shows."""

    def __init__(self, cause: str, position: int) -> None:
        super().__init__(cause)
        self.cause = cause
        self.position = position


class TypeClash(Exception):
    """An operator met values that it cannot take; whoever knows the position turns it into a ``ConditionError``."""


class Amount(NamedTuple):
    """A text that is a number, such as ``5,000`` or ``$7,200.50``."""

    number: Decimal
    currency: str


_AMOUNT = re.compile(r"(-?)([$€£]?)(-?)([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(\.[0-9]+)?")
_LONGEST_AMOUNT = 64


def amount_of(text: str) -> Amount | None:
    """The number a text stands for, or None: an optional sign and currency, digits with or without commas."""
    text = text.strip() if len(text) <= _LONGEST_AMOUNT else ""
    found = _AMOUNT.fullmatch(text)
    if not found or (found[1] and found[3]):
        return None
    sign = found[1] or found[3]
    return Amount(Decimal(sign + found[4].replace(",", "") + (found[5] or "")), found[2])


def kind_of(value: ContextValue) -> str:
    """The type of a value, in the words of an error."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | Decimal():
            return "number"
        case str():
            return "text"
        case list():
            return "list"
        case _:
            return "object"


def truth(value: Value) -> Truth:
    """A value where true or false is needed: booleans as they are, null and missing unknown, all else a clash."""
    if value is True or value is False:
        return value
    if value is None or isinstance(value, UnknownTruth):
        return UNKNOWN
    raise TypeClash(f"expected true or false, found {_kind_in_words(value)}")


def in_order(holds: Callable[..., bool], left: Value, right: Value) -> Truth:
    """``< <= > >=``: two numbers by value, two plain texts by character; else unknown, or a clash."""
    if left is None or right is None or isinstance(left, UnknownTruth) or isinstance(right, UnknownTruth):
        return UNKNOWN
    if isinstance(left, str) and isinstance(right, str):
        return holds(*_ordered_texts(left, right))
    first, second = _number(left), _number(right)
    if first is None or second is None:
        raise TypeClash(f"cannot order {_kind_in_words(left)} against {_kind_in_words(right)}")
    return holds(first, second)


def _ordered_texts(left: str, right: str) -> tuple[Decimal, Decimal] | tuple[str, str]:
    first, second = amount_of(left), amount_of(right)
    if first is None and second is None:
        return left, right
    if first is None or second is None:
        raise TypeClash(
            f"cannot order {_kind_in_words(left)} against {_kind_in_words(right)}: one is a number, the other is not"
        )
    if first.currency and second.currency and first.currency != second.currency:
        raise TypeClash(f"cannot order {_kind_in_words(left)} against {_kind_in_words(right)}: two currencies")
    return first.number, second.number


def equal(left: Value, right: Value) -> Truth:
    """``==``: numbers by value, a text equals a number that it spells, other types are never equal."""
    if isinstance(left, UnknownTruth) or isinstance(right, UnknownTruth):
        return UNKNOWN
    if left is None or right is None:
        return left is right
    _refuse_collections(left, right)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    first, second = _number(left), _number(right)
    return first is not None and first == second


def negate(value: Truth) -> Truth:
    return value if isinstance(value, UnknownTruth) else not value


def identical(left: Value, right: Value) -> Truth:
    """``===``: the same type and the same value; ``3 === 3.0`` holds, for both are numbers."""
    if isinstance(left, UnknownTruth) or isinstance(right, UnknownTruth):
        return UNKNOWN
    if left is None or right is None:
        return left is right
    _refuse_collections(left, right)
    return kind_of(left) == kind_of(right) and left == right


def member(value: Value, choices: Value) -> Truth:
    """``in``: whether the value equals (as ``==`` does) one of a list."""
    if isinstance(value, UnknownTruth) or choices is None or isinstance(choices, UnknownTruth):
        return UNKNOWN
    if not isinstance(choices, list):
        raise TypeClash("the right side of 'in' is no list")
    return any(equal(value, choice) is True for choice in choices)


def _number(value: ContextValue) -> int | Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Decimal):
        return value
    amount = amount_of(value) if isinstance(value, str) else None
    return amount.number if amount else None


def _refuse_collections(left: ContextValue, right: ContextValue) -> None:
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        raise TypeClash(
            f"cannot compare {_kind_in_words(left)} with {_kind_in_words(right)}: a list is asked with 'in'"
        )


def _kind_in_words(value: ContextValue) -> str:
    """The kind alone: an error may travel into logs, the value may not."""
    kind = kind_of(value)
    return f"{'an' if kind == 'object' else 'a'} {kind}"
