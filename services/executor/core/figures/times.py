"""Finds times of day in a text: ``9 am``, ``14h30``, ``half past nine``, ``halb zehn``, ``noon``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import time
from typing import NamedTuple

from services.executor.core.figures.vocabulary import SpelledNumber, WrittenToken

_HALF_DAY = 12


class TimeMention(NamedTuple):
    """A time of day with its place in a text; both times are in ``times`` if morning or afternoon is not said."""

    start: int
    end: int
    times: tuple[time, ...]


_DIGITS = re.compile(
    r"(?<![\w.,:/])(?<![A-LN-Za-ln-z]-)(?<!\d-\d\d-)(?:"
    r"(?<![T:]\d\d-)(?P<h1>[01]?\d|2[0-4])[:.](?P<m1>[0-5]\d)(?::(?P<s1>[0-5]\d))?(?:\s?(?P<p1>[ap]\.?m\b\.?|uhr\b|h\b))?"
    r"|(?P<h2>0?[1-9]|1[0-2])\s?(?P<p2>[ap]\.?m\b\.?)"
    r"|(?P<h3>[01]?\d|2[0-4])\s?h\s?(?P<m3>[0-5]\d)"
    r"|(?P<h4>[01]?\d|2[0-4])\s?uhr(?:\s(?P<m4>[0-5]\d))?"
    r"|(?P<h5>0?[1-9]|1[0-2])\s?o['’]clock"
    r"|(?<=à )(?P<h6>[01]?\d|2[0-4])\s?(?:h|heures?)"
    r"|(?:(?<=\bat )|(?<=\bum ))(?P<h7>[01]?\d|2[0-4])(?=\s*(?:[.,;?!]|$|\bon\b|\btomorrow\b|\btoday\b))"
    r")(?![\w%]|[.,:/]\d|-\d\d-)",
    re.I,
)
_NAMED = {
    "noon": time(12), "midday": time(12), "mittag": time(12), "mittags": time(12), "midi": time(12),
    "midnight": time(0), "mitternacht": time(0), "minuit": time(0),
}  # fmt: skip
_AT = frozenset("at um by gegen vers".split())
_OCLOCK = frozenset("clock o uhr heure heures".split())
_PAST, _TO = frozenset({"past", "nach"}), frozenset({"to", "vor"})
_QUARTERS: Mapping[str, int] = {"half": 30, "quarter": 15, "viertel": 15}
_FRENCH_PARTS: Mapping[tuple[str, ...], int] = {
    ("et", "demie"): 30,
    ("et", "demi"): 30,
    ("et", "quart"): 15,
    ("moins", "le", "quart"): -15,
}
_HOURS = re.compile(
    r"(?<![\w.,:/-])(\d{1,2})(?:\s?[-–]\s?|\s+(?:to|until|till|bis|à)\s+)(?=(\d{1,2})\s?([ap])\.?m\b)", re.I
)


def _first_hours(text: str) -> Iterator[TimeMention]:
    """Yields the first hour of ranges such as ``9-11 am``."""
    for match in _HOURS.finditer(text):
        first, last = int(match[1]), int(match[2])
        if 0 < first <= _HALF_DAY and 0 < last <= _HALF_DAY:
            is_afternoon = match[3].lower() == "p" and first % _HALF_DAY <= last % _HALF_DAY
            hour = first % _HALF_DAY + (_HALF_DAY if is_afternoon else 0)
            yield TimeMention(*match.span(1), (time(hour),))


def find_times(text: str, tokens: Sequence[WrittenToken], spelled: Sequence[SpelledNumber]) -> Iterator[TimeMention]:
    """Yields the times in digits and in words."""
    yield from _first_hours(text)
    for match in _DIGITS.finditer(text):
        if (found := _read_digits(match)) is not None:
            yield found
    numbers = {
        one.first: (int(one.value), one.after) for one in spelled if one.value == int(one.value) and not one.is_ordinal
    }
    numbers |= {place: (int(token.written), place + 1) for place, token in enumerate(tokens) if _is_hour(token.written)}
    for place, token in enumerate(tokens):
        if (named := _NAMED.get(token.folded)) is not None:
            yield TimeMention(token.start, token.end, (named,))
        elif (read := _read_words(tokens, numbers, place)) is not None:
            minutes, after = read
            yield TimeMention(token.start, tokens[after - 1].end, _both_halves(minutes))


def _is_hour(written: str) -> bool:
    return len(written) <= 2 and written.isascii() and written.isdecimal() and int(written) <= 2 * _HALF_DAY


def _read_digits(match: re.Match[str]) -> TimeMention | None:
    named = {key[0]: value for key, value in match.groupdict().items() if value}
    if "." in match[0] and ":" not in match[0] and "p" not in named:
        return None  # 9.30 is an amount unless something says that it is a time
    hour, minute, second = (int(named.get(key, 0)) for key in "hms")
    half = named.get("p", "")[:1].lower()
    if half in ("a", "p") and hour <= _HALF_DAY:
        return _mention(match, [hour % _HALF_DAY + (_HALF_DAY if half == "p" else 0)], minute, second)
    is_said = half or "m" in named or match.lastgroup in ("h4", "h6")
    return _mention(
        match, [hour % 24] if is_said or hour > _HALF_DAY else [hour, (hour + _HALF_DAY) % 24], minute, second
    )


def _mention(match: re.Match[str], hours: Sequence[int], minute: int, second: int) -> TimeMention:
    return TimeMention(*match.span(), tuple(time(hour, minute, second) for hour in hours))


def _read_words(
    tokens: Sequence[WrittenToken], numbers: Mapping[int, tuple[int, int]], place: int
) -> tuple[int, int] | None:
    """The minutes since midnight of a time in words, and the place after it: ``half past nine``, ``neuf heures et
    demie``, ``at ten``.
    """
    word, after = tokens[place].folded, place + 1
    following = tokens[after].folded if after < len(tokens) else ""
    if word == "halb" and after in numbers:
        return numbers[after][0] * 60 - 30, numbers[after][1]
    minutes = _QUARTERS.get(word) or numbers.get(place, (0, 0))[0]
    if minutes and place + 2 in numbers and following in _PAST | _TO and minutes < 60:
        hour, end = numbers[place + 2]
        return (hour * 60 + (minutes if following in _PAST else -minutes), end) if hour <= 24 else None
    if place in numbers and not tokens[place].written.isdecimal():
        return _read_spelled_hour(tokens, numbers[place], place)
    return None


def _read_spelled_hour(tokens: Sequence[WrittenToken], number: tuple[int, int], place: int) -> tuple[int, int] | None:
    hour, after = number
    if hour > 24:
        return None
    is_said = False
    while after < len(tokens) and tokens[after].folded in _OCLOCK:
        is_said, after = True, after + 1
    for words, minutes in _FRENCH_PARTS.items():
        if is_said and tuple(token.folded for token in tokens[after : after + len(words)]) == words:
            return hour * 60 + minutes, after + len(words)
    before = tokens[place - 1].folded if place else ""
    return (hour * 60, after) if is_said or (before in _AT and _ends(tokens, after)) else None


def _ends(tokens: Sequence[WrittenToken], after: int) -> bool:
    """Whether no noun follows the hour: "at ten" and "at ten on Friday", not "at ten euros"."""
    return after >= len(tokens) or tokens[after].folded in frozenset("on and tomorrow today in am morgen und".split())


def _both_halves(minutes: int) -> tuple[time, ...]:
    hour, minute = divmod(minutes % (24 * 60), 60)
    hours = [hour] if hour > _HALF_DAY else [hour, (hour + _HALF_DAY) % 24]
    return tuple(time(one, minute) for one in hours)
