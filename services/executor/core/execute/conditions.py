"""Conditions on records, as they stand in paths and in the arguments of local tools: ``days_overdue > 90``."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TypeAlias

from services.executor.core.finance.figures import figure
from shared.domain.exact_json import Json, dumps

Holds: TypeAlias = Callable[[Json], bool]

CONDITION = r"[^\[\]'=!<>]+?\s*(?:!=|>=|<=|=|>|<)\s*(?:'(?:[^']|'')*'|[^\[\]']*)"
_PARTS = re.compile(r"([^=!<>]+?)\s*(!=|>=|<=|=|>|<)\s*(.*)", re.DOTALL)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_COMPARISONS: Mapping[str, Callable[[int], bool]] = {
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
}
OPERATORS = ("=", "!=", *_COMPARISONS)


def condition(text: str) -> Holds:
    """Whether a record meets it. Figures count by their value and days by the calendar; ``null`` is nothing there.

    A record without the field meets no comparison; nor does one whose value cannot be compared with the other.
    """
    match = _PARTS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no condition such as amount>100")
    field, sign, said = match.groups()
    literal = (
        said[1:-1].replace("''", "'") if said.startswith("'") else None if said.strip() == "null" else said.strip()
    )
    return lambda record: _meets(record.get(field.strip()) if isinstance(record, dict) else None, sign, literal)


def written(field: str, sign: str, value: Json) -> str:
    """A condition as paths have it."""
    if value is None:
        return f"{field}{sign}null"
    text = value if isinstance(value, str) else dumps(value)
    return f"{field}{sign}" + "'" + text.replace("'", "''") + "'"


def identity(value: Json) -> Decimal | str | None:
    """What values that count as the same have in common: a figure by its value, anything else as it is written."""
    number = figure(value)
    if number is not None:
        return number
    return value if value is None or isinstance(value, str) else dumps(value)


def _meets(value: Json, sign: str, literal: str | None) -> bool:
    if sign in ("=", "!="):
        return _is_same(value, literal) is (sign == "=")
    order = _order(value, literal)
    return order is not None and _COMPARISONS[sign](order)


def _is_same(value: Json, literal: str | None) -> bool:
    if value is None or literal is None:
        return value is None and literal is None
    return identity(value) == identity(literal)


def _order(value: Json, literal: str | None) -> int | None:
    """Less, the same or more, as -1, 0 or 1; None if they cannot be compared."""
    number, other = figure(value), figure(literal)
    if number is not None and other is not None:
        return (number > other) - (number < other)
    if isinstance(value, str) and literal is not None and _DAY.match(value) and _DAY.match(literal):
        return (value > literal) - (value < literal)
    return None
