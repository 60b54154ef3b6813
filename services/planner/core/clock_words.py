"""How often and until when: the words of a text that speak of the hours of a day."""

import re
from datetime import datetime, time, timedelta

_NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
_COUNT = r"\d{1,2}|" + "|".join(_NUMBERS)
_EVERY_PATTERN = re.compile(
    rf"\b(?:every|each)\s+(?:(?P<half>half(?: an)?)|(?P<n>\d{{1,3}}|{'|'.join(_NUMBERS)})(?: or \w+)?)?\s*"
    r"(?P<unit>minute|hour)s?\b|\b(?P<hourly>hourly)\b",
    re.I,
)
_HOUR = rf"(?P<h>{_COUNT})(?:[:.](?P<m>\d\d))?\s*(?P<half_day>[ap]\.?m\.?)?"
_CLOCK = rf"(?P<half>half past\s+)?(?:{_HOUR}|(?P<noon>noon|midday))"
_UNTIL_PATTERN = re.compile(rf"\b(?:until|till|up to)\s+(?:about\s+|around\s+)?{_CLOCK}\b", re.I)
SENTENCE_END = re.compile(r"\n+|(?<=[.!?])\s+")
_OF_USER = re.compile(r"(?:today |tomorrow )?(?:i|we|my|our)\b", re.I)
_FROM_HERE_ON = re.compile(
    r"\b(?:keep (?:an eye|watch\w*)|watch|look after|every(?! (?:\w+ )?(?:that|which|whose|who)\b)|until|till"
    r"|wait(?:s|ing)?|as (?:they|it) comes?|later"
    r"|(?:this|in the) (?:morning|afternoon|evening)|at the end|will (?:write|answer|reply|come)"
    r"|when (?:all|everybody|everyone|they|he|she|nothing)|once|after|tonight|today|tomorrow|remind)\b",
    re.I,
)
_WORKING_DAY = 8  # an hour below that, without am or pm, is one of the afternoon


def find_interval(text: str) -> timedelta | None:
    """``every hour or so``, ``every 30 minutes``, ``every half hour``; None where nothing is said."""
    match = _EVERY_PATTERN.search(text)
    if match is None:
        return None
    if match["hourly"]:
        return timedelta(hours=1)
    count = _parse_count(match["n"]) if match["n"] else 1
    unit = timedelta(hours=1) if match["unit"].lower() == "hour" else timedelta(minutes=1)
    return unit / 2 if match["half"] else unit * count


def find_end_time(text: str, now: datetime) -> datetime | None:
    """The latest time of the present day until which something is to be done; None where none is named.

    Until when the user is somewhere says nothing of that: ``I am in a meeting until noon``.
    """
    wishes = [part for part in SENTENCE_END.split(text) if not _OF_USER.match(part.strip())]
    named = [
        at for part in wishes for match in _UNTIL_PATTERN.finditer(part) if (at := _parse_clock(match)) is not None
    ]
    return datetime.combine(now.date(), max(named), now.tzinfo) if named else None


def speaks_of_later(text: str) -> bool:
    """Whether a text speaks of anything that comes later."""
    return _FROM_HERE_ON.search(text) is not None


def _parse_clock(match: re.Match[str]) -> time | None:
    if match["noon"]:
        return time(12)
    hour, minute = _parse_count(match["h"]), int(match["m"] or 0)
    half_day = (match["half_day"] or "").lower()[:1]
    if half_day == "p" and hour < 12:
        hour += 12
    if not half_day and not match["m"] and hour < _WORKING_DAY:
        hour += 12
    minute = 30 if match["half"] else minute
    return time(hour, minute) if hour < 24 and minute < 60 else None


def _parse_count(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS.index(word.lower()) + 1
