"""Parses and formats times and durations."""

import re
from datetime import UTC, datetime, timedelta

_YEARS = range(2, 9999)  # at the very ends of the calendar an instant has no other zone, and no day before or after


def to_utc(moment: datetime) -> datetime:
    """The time in UTC; one without a zone is taken as UTC.

    Raises ``ValueError`` at the ends of the calendar.
    """
    if moment.year not in _YEARS:
        raise ValueError("the year is none that can be reckoned with")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


_DURATION_PATTERN = re.compile(
    r"P(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_LONGEST_DURATION = timedelta(days=36_500)


def parse_duration(text: str) -> timedelta:
    """Parses an ISO 8601 duration; a year counts as 365 days and a month as 30. Raises ``ValueError``.

    Weeks are refused; ``P`` and ``PT`` are 0.
    """
    match = _DURATION_PATTERN.fullmatch(text)
    if match is None or len(text) > 40:
        raise ValueError(f"{text[:40]!r} is no duration such as PT1H30M")
    parts = {name: float(value) if value else 0.0 for name, value in match.groupdict().items()}
    days = parts["years"] * 365 + parts["months"] * 30 + parts["days"]
    if days + parts["hours"] / 24 + parts["minutes"] / 1440 + parts["seconds"] / 86_400 > _LONGEST_DURATION.days:
        raise ValueError(f"{text!r} is longer than {_LONGEST_DURATION.days} days")
    return timedelta(days=days, hours=parts["hours"], minutes=parts["minutes"], seconds=parts["seconds"])


def format_duration(length: timedelta) -> str:
    """A duration as ISO 8601 in days, hours, minutes and seconds; ``parse_duration`` reads it back."""
    whole_seconds = int(length.total_seconds())
    seconds = f"{whole_seconds % 60 + length.microseconds / 1_000_000:.6f}".rstrip("0").rstrip(".")
    parts = ((whole_seconds // 3600 % 24, "H"), (whole_seconds // 60 % 60, "M"), (seconds, "S"))
    clock = "".join(f"{number}{unit}" for number, unit in parts if str(number) != "0")
    days = f"{whole_seconds // 86_400}D" if whole_seconds >= 86_400 else ""
    if clock:
        return f"P{days}T{clock}"
    return f"P{days}" if days else "PT0S"
