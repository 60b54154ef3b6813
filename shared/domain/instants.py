"""Instants that others name."""

from datetime import UTC, datetime

_YEARS = range(2, 9999)  # at the very ends of the calendar an instant has no other zone, and no day before or after


def in_utc(moment: datetime) -> datetime:
    """The same instant in UTC; one without a zone is UTC already. Raises ``ValueError`` at the ends of the calendar."""
    if moment.year not in _YEARS:
        raise ValueError("the year is none that can be reckoned with")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
