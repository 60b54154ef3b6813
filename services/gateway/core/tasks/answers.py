"""The answers in a text: the parser chain of the solver endpoint (seed 001, Structured Output Discipline)."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal, cast

from shared.domain.exact_json import Json, dumps, loads

Format = Literal["list", "single", "json"]

_ITEM = re.compile(r"^[^\S\n]*(?:[-*•‣]|\(?\d{1,3}[.)])\s+(?P<item>\S(?:.*\S)?)", re.MULTILINE)
_BETWEEN = re.compile(r"\s*(?:;|,(?!\d{3}(?!\d)))\s*")  # the comma of 5,000 separates nothing
_ORDER = re.compile(
    r"\bin (?:(?:the|this|that|a) )?(?:(?:a|de)scending|(?:in|de)creasing|\w+ical|numeric|reverse|given|same|original"
    r"|right|correct|date|size|following) order\b"
    r"|\b(?:order|sort|rank)(?:ed)? (?:them )?by\b|\brank(?:ed|ing)?\b|\bchronological(?:ly)?\b"
    r"|\b(?:a|de)scending\b|\bin sequence\b|\bstep[- ]by[- ]step\b"
    r"|\b(?:earliest|latest|oldest|newest|largest|smallest|highest|lowest) first\b",
    re.IGNORECASE,
)
_TRIES = 100  # brackets of a text that are looked at
_DECODER = json.JSONDecoder(parse_float=Decimal)


def asks_for_an_order(task: str) -> bool:
    """Whether the task wants its answers in an order of its own: sorting them would spoil the answer."""
    return _ORDER.search(task) is not None


def answers_in(text: str, wanted: Format, *, in_given_order: bool) -> tuple[str, ...]:
    """The answers, sorted alphabetically unless their order was asked for. Empty for a text without any."""
    found = tuple(filter(None, (item.strip() for item in _found(text.strip(), wanted))))
    return found if in_given_order else tuple(sorted(found, key=lambda item: (item.casefold(), item)))


def _found(text: str, wanted: Format) -> tuple[str, ...]:
    match wanted:
        case "single":
            return _single(text)
        case "json":
            return _whole_json(text) or _listed(text)
        case "list":
            return _listed(text)


def _listed(text: str) -> tuple[str, ...]:
    """A JSON array, else the items of a numbered or bulleted list, else what commas or semicolons separate."""
    array = _array_in(text)
    if array is not None:
        return tuple(map(_as_text, array))
    items = tuple(match["item"] for match in _ITEM.finditer(text))
    return items or _separated(text)


def _separated(text: str) -> tuple[str, ...]:
    return tuple(_BETWEEN.split(text)) if "\n" not in text else (text,)


def _single(text: str) -> tuple[str, ...]:
    array = _parsed(text)
    return (_as_text(array[0]),) if isinstance(array, list) and len(array) == 1 else (text,)


def _whole_json(text: str) -> tuple[str, ...]:
    value = _parsed(text)
    if isinstance(value, list):
        return tuple(map(_as_text, value))
    return (dumps(value),) if isinstance(value, dict) else ()


def _array_in(text: str) -> list[Json] | None:
    """The text as an array, or the first array of texts within it; a bare ``[1]`` in prose is a footnote."""
    whole = _parsed(text)
    if isinstance(whole, list):
        return whole
    return next((array for array in _arrays(text) if any(isinstance(item, str) for item in array)), None)


def _arrays(text: str) -> Iterator[list[Json]]:
    start = text.find("[")
    for _ in range(_TRIES):
        if start < 0:
            return
        array, end = _array_at(text, start)
        if array is not None:
            yield array
        start = text.find("[", end)


def _array_at(text: str, start: int) -> tuple[list[Json] | None, int]:
    try:
        array, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start + 1
    return cast("list[Json]", array), end


def _parsed(text: str) -> Json:
    try:
        return loads(text)
    except ValueError:
        return None


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)
