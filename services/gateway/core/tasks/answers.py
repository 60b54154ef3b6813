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
_REFUSAL = re.compile(  # says by itself that there is no answer
    r"\b(?:sorry|apolog\w+|unfortunately|unable to|not able to|cannot|can't|can not|could not|couldn't|won't|will not"
    r"|did not|didn't|failed to|not possible|nothing was|timed out|against (?:the |our )?polic\w+)\b"
    r"|\b(?:request|task|question|access|permission|call|change|write|this|that|it) (?:was|is|has been|were|are)"
    r" (?:\w+ )?(?:refused|rejected|denied|declined|blocked|forbidden|prohibited|not \w+)\b"
    r"|^(?:access|permission|request|task) (?:denied|refused|rejected|declined|failed|blocked)\b"
    r"|^(?:no (?:access|answer|permission|result|data)|not (?:allowed|permitted|authori[sz]ed|available))\b"
    r"|^(?:error|failure|failed|refused|rejected|denied|blocked)\s*[:.!-]",
    re.IGNORECASE,
)
_REFUSING = re.compile(  # may be one of several words of a refusal, or a state of something
    r"\b(?:refus\w+|reject\w+|den(?:y|ied|ies)|declin\w+|forbidden|prohibited|blocked|fail\w*|errors?|unavailable"
    r"|violat\w+|no (?:access|answer|permission|result|data)|not (?:allowed|permitted|authori[sz]ed|available|possible)"
    r"|(?:needed|required|timeout|unanswered))\b",
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
    items = tuple(_ITEM.finditer(text))
    if items and _REFUSAL.search(text[: items[0].start()].replace("’", "'").strip()):
        return (text,)
    return tuple(match["item"] for match in items) or _separated(text)


def _separated(text: str) -> tuple[str, ...]:
    if "\n" in text or _is_refusal(text):
        return (text,)
    return tuple(_BETWEEN.split(text))


def _is_refusal(text: str) -> bool:
    """Whether a text says why there is no answer: such a text is one answer, however many commas it has.

    Of words that may also be states ("Rejected, Approved") most of its parts have to be one.
    """
    plain = text.replace("’", "'").strip()
    parts = [part for part in _BETWEEN.split(plain) if part]
    refusing = sum(_REFUSING.search(part) is not None for part in parts)
    return _REFUSAL.search(parts[0] if parts else "") is not None or 2 * refusing > len(parts)


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
