"""Days between dates. A date is a figure here: the number of its day, as ``day_number`` gives it."""

import re
from datetime import date
from decimal import Decimal

from services.executor.core.finance.money import CannotCalculate, Figures, whole
from shared.domain.exact_json import Json

_DATE = re.compile(r"^(\d{4}-\d{2}-\d{2})(?:[T ].*)?$", re.ASCII | re.DOTALL)
_MOST_DAYS = 40_000
_LAST_DAY = date.max.toordinal()


def day_number(value: Json) -> Decimal | None:
    """The number of an ISO 8601 date's day, the time of day left out; None for anything else."""
    match = _DATE.match(value.strip()) if isinstance(value, str) else None
    try:
        return Decimal(date.fromisoformat(match[1]).toordinal()) if match else None
    except ValueError:  # a day that no month has
        return None


def days_between(figures: Figures, _places: int) -> Decimal:
    """to - from in calendar days; negative where it lies before."""
    first, last = figures
    return last - first


def business_days(figures: Figures, _places: int) -> Decimal:
    """Mondays to Fridays from the first day up to but without the last, less the holidays among them."""
    first, last, *free = (whole(figure, "a day", high=_LAST_DAY) for figure in figures)
    holidays = frozenset(free)
    if not 0 <= last - first <= _MOST_DAYS:
        raise CannotCalculate("the second date must not lie before the first, nor a century after it")
    return Decimal(sum((day - 1) % 7 < 5 and day not in holidays for day in range(first, last)))


def aging_bucket(figures: Figures, _places: int) -> Decimal:
    """Where an invoice's age falls: 0 not due, 1 up to 30 days overdue, 2 up to 60, 3 up to 90, 4 beyond."""
    due, today = figures
    overdue = int(today - due)
    return Decimal(min((overdue + 29) // 30, 4)) if overdue > 0 else Decimal(0)
