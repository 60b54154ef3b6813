"""Days and hours that a text gives by a clock: "tomorrow at ten" is a date that no record shows."""

import re
from datetime import date, datetime, timedelta

from shared.domain.exact_json import Json

_BEFORE, _AFTER = timedelta(days=31), timedelta(days=92)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_IN_PROSE = re.compile(
    r"(?:[01]?\d|2[0-3])[:.][0-5]\d(?:[ap]m)?|(?:[1-9]|1[0-2])[ap]m|(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
)


def is_of_clock(token: str, part: Json, now: datetime) -> bool:
    """Whether a token is a date or a moment near that time; in running text also a day, an hour or the year.

    A figure that is an argument by itself never is: what is paid or counted is not told from a clock.
    """
    if isinstance(part, str) and (match := _MOMENT.fullmatch(part.strip())):
        return _is_near(match[1], now)
    if match := _MOMENT.fullmatch(token):
        return _is_near(match[1], now)
    if not isinstance(part, str) or " " not in part.strip():
        return False
    return _IN_PROSE.fullmatch(token.lower()) is not None or token == str(now.year)


def _is_near(text: str, now: datetime) -> bool:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return False
    return now.date() - _BEFORE <= day <= now.date() + _AFTER
