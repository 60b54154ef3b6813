"""What a receiver says in ``Retry-After``: for how long it wants to be left alone (RFC 9110, 10.2.3)."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST = 64


def seconds_in(text: str, now: datetime) -> float:
    """From now on; 0 where it says nothing that can be understood, or a time that is over."""
    said = text.strip()
    if said.isascii() and said.isdecimal() and len(said) < 10:
        return float(said)
    try:
        until = parsedate_to_datetime(said) if len(said) <= _LONGEST else now
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds())
