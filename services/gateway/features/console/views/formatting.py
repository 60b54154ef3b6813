"""Formats names, numbers, times and JSON for people."""

from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from shared.domain.exact_json import Json, as_object, dumps
from shared.domain.instants import to_utc
from shared.domain.words import TaskState

_DURATION_UNITS = ((timedelta(minutes=1), 1, "s"), (timedelta(hours=1), 60, "min"), (timedelta(days=2), 3600, "h"))
_DAY_SECONDS = 24 * 3600
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


class PageClock(NamedTuple):
    """The time at which a page is rendered, and its reader's time zone."""

    now: datetime
    zone: ZoneInfo


def find_zone(name: str) -> ZoneInfo:
    """The time zone of that name; UTC for an unknown name."""
    try:
        return ZoneInfo(name if len(name) < 64 else "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def format_time(moment: datetime, clock: PageClock) -> str:
    """A time as ``10:01`` if it is today, else ``22 Nov 10:01``, with the year if it is another one."""
    local, today = moment.astimezone(clock.zone), clock.now.astimezone(clock.zone)
    time = f"{local:%H:%M}"
    if local.date() == today.date():
        return time
    day = f"{local.day} {_MONTHS[local.month - 1]}"
    return f"{day} {time}" if local.year == today.year else f"{day} {local.year} {time}"


def format_day(date: str) -> str:
    """A date without the year: ``2026-11-02`` becomes ``2 Nov``."""
    _, month, day = date.split("-")
    return f"{int(day)} {_MONTHS[int(month) - 1]}"


def format_exact_time(moment: datetime, clock: PageClock) -> str:
    local = moment.astimezone(clock.zone)
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}"


def relative_time(moment: datetime, now: datetime) -> str:
    """A time relative to now: ``in 3 h``, ``5 min ago``, ``now``."""
    gap = abs(moment - now)
    words = duration_words(gap)
    if gap < timedelta(seconds=1):
        return "now"
    return f"in {words}" if moment > now else f"{words} ago"


def duration_words(length: timedelta) -> str:
    """A duration in words: ``45 s``, ``12 min``, ``36 h``, ``3 days``."""
    seconds = int(length.total_seconds())
    for limit, unit, word in _DURATION_UNITS:
        if length < limit:
            return f"{seconds // unit} {word}"
    return f"{seconds // _DAY_SECONDS} days"


_STATE_BADGES = {
    TaskState.SUBMITTED: ("Queued", "info"),
    TaskState.WORKING: ("Running", "info"),
    TaskState.INPUT_REQUIRED: ("Waiting for a person", "warn"),
    TaskState.COMPLETED: ("Completed", "good"),
    TaskState.REJECTED: ("Rejected", "bad"),
    TaskState.FAILED: ("Failed", "bad"),
    TaskState.CANCELED: ("Canceled", "mute"),
}
_ABBREVIATIONS = {word.lower(): word for word in ("AR", "HR", "ID", "KYC", "SLA")}
_STRATEGY_TITLES = {"fsm": "State machine", "five_phase": "Five phases", "moa": "Mixture of agents"}


class Badge(NamedTuple):
    """A coloured label. ``tone``: good, warn, bad, info or mute."""

    text: str
    tone: str


def state_badge(state: TaskState) -> Badge:
    return Badge(*_STATE_BADGES[state])


def humanize_name(name: str) -> str:
    """An identifier as people write it: ``sla_breach`` becomes ``SLA breach``."""
    text = " ".join(_ABBREVIATIONS.get(word, word) for word in name.replace("_", " ").replace("-", " ").split())
    return text[:1].upper() + text[1:]


def strategy_title(name: Json) -> str:
    """A strategy's title; empty if ``name`` is not a string."""
    return _STRATEGY_TITLES.get(name, humanize_name(name)) if isinstance(name, str) else ""


def format_json(value: Json) -> str:
    """A JSON value for people: strings without quotes, nested values over several lines, numbers exact."""
    if isinstance(value, str):
        return value
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "\n".join(_format_nested_lines(value)) if isinstance(value, dict | list) else dumps(value)


def _format_nested_lines(value: Json, depth: int = 0) -> list[str]:
    """A nested value as indented lines."""
    pad = "  " * depth
    if isinstance(value, dict):
        rows = [(f"{pad}{name}:", item) for name, item in value.items()]
    elif isinstance(value, list):
        rows = [(f"{pad}-", item) for item in value]
    else:
        return [f"{pad}{format_json(value)}"]
    lines: list[str] = []
    for label, item in rows:
        is_nested = isinstance(item, dict | list) and bool(item)
        text = "none" if item in ({}, []) else format_json(item)
        lines += [label, *_format_nested_lines(item, depth + 1)] if is_nested else [f"{label} {text}"]
    return lines


def count_with_noun(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: ``1 call``, ``2 calls``."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def join_in_prose(words: tuple[str, ...]) -> str:
    """Words as a list in prose: ``anna, ben and casey``."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def text_or_empty(value: object) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def texts_or_empty(value: object) -> tuple[str, ...]:
    """The items of a list as texts; empty for anything else."""
    return tuple(map(str, value)) if isinstance(value, list) else ()


def parse_digits_or_zero(text: str) -> int:
    """The number in a text of at most five digits; 0 for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0


def parse_time_or_none(value: object) -> datetime | None:
    """An ISO 8601 time in UTC; None for any other value."""
    try:
        return to_utc(datetime.fromisoformat(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def field_rows(value: object) -> tuple[tuple[str, str], ...]:
    """The fields of an object as (name, formatted value); empty for any other value."""
    return tuple((name, format_json(inner)) for name, inner in as_object(value).items())
