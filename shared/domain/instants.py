"""Parses and formats times and durations."""

import re
from datetime import UTC, datetime, timedelta

_YEARS = range(2, 9999)  # at the very ends of the calendar an instant has no other zone, and no day before or after


def in_utc(moment: datetime) -> datetime:
    """The time in UTC; one without a zone is taken as UTC.

    Raises ``ValueError`` at the ends of the calendar.
    """
    if moment.year not in _YEARS:
        raise ValueError("the year is none that can be reckoned with")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


_SHAPE = re.compile(
    r"P(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_MOST = timedelta(days=36_500)


def parse_duration(text: str) -> timedelta:
    """Parses an ISO 8601 duration; a year counts as 365 days and a month as 30. Raises ``ValueError``.

    Weeks are refused; ``P`` and ``PT`` are 0.
    """
    found = _SHAPE.fullmatch(text)
    if found is None or len(text) > 40:
        raise ValueError(f"{text[:40]!r} is no duration such as PT1H30M")
    part = {name: float(value) if value else 0.0 for name, value in found.groupdict().items()}
    days = part["years"] * 365 + part["months"] * 30 + part["days"]
    if days + part["hours"] / 24 + part["minutes"] / 1440 + part["seconds"] / 86_400 > _MOST.days:
        raise ValueError(f"{text!r} is longer than {_MOST.days} days")
    return timedelta(days=days, hours=part["hours"], minutes=part["minutes"], seconds=part["seconds"])


def format_duration(length: timedelta) -> str:
    """A duration as ISO 8601 in days, hours, minutes and seconds; ``parse_duration`` reads it back."""
    whole = int(length.total_seconds())
    seconds = f"{whole % 60 + length.microseconds / 1_000_000:.6f}".rstrip("0").rstrip(".")
    parts = ((whole // 3600 % 24, "H"), (whole // 60 % 60, "M"), (seconds, "S"))
    clock = "".join(f"{number}{unit}" for number, unit in parts if str(number) != "0")
    days = f"{whole // 86_400}D" if whole >= 86_400 else ""
    return f"P{days}T{clock}" if clock else f"P{days}" if days else "PT0S"
