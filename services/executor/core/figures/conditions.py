"""Conditions on records, as they stand in paths and in the arguments of local tools: ``days_overdue > 90``."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TypeAlias

from services.executor.core.figures.dates import DateOrder, has_time, name_the_same_day, read_date, read_moment
from services.executor.core.figures.numbers import figure, read_amount
from services.executor.core.figures.record_tree import is_empty
from services.executor.core.figures.vocabulary import TRUTHS
from shared.domain.exact_json import Json, as_text, dumps

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_UNIT = re.compile(r"\b[A-Z]{3}\b|[$€£¥%]")


def same(shown: Json, claimed: Json) -> bool:
    """Equal, or the same figure in the same unit, the same moment or day, or the same text but for case and space."""
    if shown == claimed:
        return True
    moment = _moment(shown)
    if (moment is not None and moment == _moment(claimed)) or name_the_same_day(shown, claimed):
        return True
    number, other = figure(shown), figure(claimed)
    if number is not None and other is not None:
        return number == other and len({tuple(_UNIT.findall(str(value))) for value in (shown, claimed)} - {()}) < 2
    return (
        isinstance(shown, str) and isinstance(claimed, str) and shown.strip().casefold() == claimed.strip().casefold()
    )


def _moment(value: Json) -> datetime | None:
    """A date with an hour, whichever way it and its zone are written; without a zone it is that of no other one."""
    if not isinstance(value, str) or not _MOMENT.match(value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


Holds: TypeAlias = Callable[[Json], bool]
_SIGNS = r"!=|>=|<=|==|=|>|<|\scontains\b|\sis not empty\b|\sis empty\b"
CONDITION = rf"[^\[\]'=!<>]+?\s*(?:{_SIGNS})\s*(?:'(?:[^']|'')*'|[^\[\]']*)"
_PARTS = re.compile(rf"([^=!<>]+?)\s*({_SIGNS})\s*(.*)", re.DOTALL)
_COMPARISONS: Mapping[str, Callable[[int], bool]] = {
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
}
ORDERINGS = tuple(_COMPARISONS)
CONTAINS, ONE_OF, IS_EMPTY, IS_NOT_EMPTY = "contains", "one of", "is empty", "is not empty"
OVERDUE = "overdue"
SIGNS = ("=", "!=", *ORDERINGS, CONTAINS, ONE_OF, IS_EMPTY, IS_NOT_EMPTY, OVERDUE)


def condition(text: str) -> Holds:
    """Whether a record meets it. Figures count by their value and days by the calendar; ``null`` is nothing there.

    A record without the field meets no comparison; nor does one whose value cannot be compared with the other."""
    field, sign, literal = parse_condition(text)
    return lambda record: _meets(record.get(field) if isinstance(record, dict) else None, sign, literal)


def parse_condition(text: str) -> tuple[str, str, str | None]:
    """The field, the sign and the literal of a written condition; raises ``ValueError``."""
    match = _PARTS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no condition such as amount>100")
    field, sign, said = match[1].strip(), match[2].strip(), match[3].strip()
    if said[:1] in ("'", '"') and said[-1:] == said[:1] and len(said) > 1:
        return field, sign.replace("==", "="), said[1:-1].replace("''", "'")
    return field, sign.replace("==", "="), None if said == "null" else said


def identity(value: Json) -> Decimal | str | None:
    """What values that count as the same have in common: a figure by its value, anything else as it is written."""
    number = figure(value)
    if number is not None:
        return number
    return value if value is None or isinstance(value, str) else dumps(value)


def meets(value: Json, sign: str, against: Json, order: DateOrder = "") -> bool:
    """Whether a value stands in a relation to another; what cannot be compared stands in none but ``!=``."""
    if sign == IS_EMPTY:
        return is_empty(value)
    if sign == IS_NOT_EMPTY:
        return not is_empty(value)
    if sign == CONTAINS:
        return _contains(value, against)
    if sign == ONE_OF:
        return any(are_same(value, one.strip(), order) for one in _text(against).split(","))
    if sign in ("=", "!="):
        return are_same(value, against, order) is (sign == "=")
    compared = compare(value, against, order)
    return compared is not None and _COMPARISONS[sign](compared)


def find_meeting(values: Sequence[Json], sign: str, against: Sequence[Json], order: DateOrder = "") -> list[bool]:
    """Which values of a list stand in the relation. Words in another case are the same only where none is in this."""
    pairs = list(zip(values, against, strict=True))
    if sign not in ("=", "!="):
        return [meets(value, sign, other, order) for value, other in pairs]
    same = [_are_exactly_same(value, other, order) for value, other in pairs]
    if not any(same):
        same = [are_same(value, other, order) for value, other in pairs]
    return [one is (sign == "=") for one in same]


def _are_exactly_same(value: Json, other: Json, order: DateOrder) -> bool:
    if is_empty(value) or is_empty(other):
        return False
    compared = compare(value, other, order)
    return compared == 0 if compared is not None else identity(value) == identity(other)


def are_same(value: Json, other: Json, order: DateOrder = "") -> bool:
    """Whether two values are equal as numbers, as dates, as truths or as words in any case."""
    if is_empty(value) or is_empty(other):
        return is_empty(value) and is_empty(other)
    compared = compare(value, other, order)
    if compared is not None:
        return compared == 0
    return _as_word(value) == _as_word(other)


def compare(value: Json, other: Json, order: DateOrder = "") -> int | None:
    """Less, the same or more, as -1, 0 or 1, of two numbers or two dates; None if they cannot be compared."""
    one, two = read_amount(value), read_amount(other)
    if one is not None and two is not None:
        return (one.number > two.number) - (one.number < two.number)
    read = read_moment if has_time(value) and has_time(other) else read_date
    day, another = read(value, order), read(other, order)
    if day is not None and another is not None:
        return (day > another) - (day < another)
    return None


def _as_word(value: Json) -> bool | str:
    text = as_text(value).strip().casefold()
    return TRUTHS.get(text, text)


def _contains(value: Json, part: Json) -> bool:
    if isinstance(value, list):
        return any(are_same(item, part) for item in value)
    return _text(part).casefold() in _text(value).casefold()


def _text(value: Json) -> str:
    return "" if value is None else as_text(value)


def _meets(value: Json, sign: str, literal: str | None) -> bool:
    """In a path words are compared as they are written, case and all."""
    if sign in ("=", "!="):
        return (identity(value) == identity(literal)) is (sign == "=")
    return meets(value, sign, literal)
