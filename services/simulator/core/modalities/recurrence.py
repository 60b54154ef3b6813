"""When a recurring event takes place: RFC 5545, on the wall clock of its time zone.

A month without the day, or a year without 29 February, has no occurrence. A wall time that a clock change leaves out is
read with the offset before the change.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Literal, Self, TypeAlias
from zoneinfo import ZoneInfo

from dateutil.rrule import DAILY, MO, MONTHLY, WEEKLY, YEARLY, rrule
from pydantic import AliasChoices, Field, model_validator

from services.simulator.core.modalities.fields import Day
from services.simulator.core.records import StoredRow
from services.simulator.core.refusals import MeaninglessRequest

Weekday: TypeAlias = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_FREQUENCIES: Mapping[str, Literal[0, 1, 2, 3]] = {
    "daily": DAILY,
    "weekly": WEEKLY,
    "monthly": MONTHLY,
    "yearly": YEARLY,
}
_DAYS_OF_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MOST_OCCURRENCES = 10_000


class Recurrence(StoredRow):
    frequency: Literal["daily", "weekly", "monthly", "yearly"]
    interval: int = Field(1, ge=1, le=1_000)
    days_of_week: tuple[Weekday, ...] | None = None
    day_of_month: int | None = Field(None, ge=1, le=31)
    month_of_year: int | None = Field(None, ge=1, le=12)
    end_type: Literal["never", "until", "count"] = "never"
    end_date: Day | None = Field(None, validation_alias=AliasChoices("end_date", "until"))
    count: int | None = Field(None, ge=1, le=MOST_OCCURRENCES)

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        """Each field is sound by itself: a rule that says too little means nothing, and is not of a wrong shape."""
        needed = {
            "weekly": ("days_of_week",),
            "monthly": ("day_of_month",),
            "yearly": ("day_of_month", "month_of_year"),
        }
        ends = {"until": ("end_date",), "count": ("count",)}
        for name in (*needed.get(self.frequency, ()), *ends.get(self.end_type, ())):
            if not getattr(self, name):
                raise MeaninglessRequest(f"recurrence: {name} is needed")
        if self.frequency == "yearly" and (self.day_of_month or 0) > _DAYS_OF_MONTHS[(self.month_of_year or 1) - 1]:
            raise MeaninglessRequest("recurrence: that month has no such day")
        return self


def wall_time(moment: datetime, zone: ZoneInfo) -> datetime:
    """The local time of an instant in that zone, as a naive datetime."""
    return moment.astimezone(zone).replace(tzinfo=None)


def instant_of_wall_time(wall_time: datetime, zone: ZoneInfo) -> datetime:
    """The instant, in UTC, of a naive local time in that zone."""
    return wall_time.replace(tzinfo=zone).astimezone(UTC)


def to_instant(moment: datetime, zone: ZoneInfo) -> datetime:
    """The instant in UTC; a time without a zone is a local time in ``zone``."""
    return instant_of_wall_time(moment, zone) if moment.tzinfo is None else moment


def dates_between(rule: Recurrence, first: datetime, after: datetime, before: datetime) -> Iterator[datetime]:
    """Yields the occurrences from ``after`` to ``before``, both included; all arguments and results are naive local
    times.
    """
    if before < first or _falls_on_no_day(rule, first):
        return
    for wall_start in islice(_occurrences_until(rule, first, after, before), MOST_OCCURRENCES):
        if wall_start > before:
            return
        if wall_start >= after:
            yield wall_start


def _falls_on_no_day(rule: Recurrence, first: datetime) -> bool:
    """Whether whole weeks lead from one day to the next, and always to a weekday that is not wanted."""
    days = rule.days_of_week if rule.frequency == "daily" and rule.interval % 7 == 0 else None
    return bool(days) and _WEEKDAYS[first.weekday()] not in (days or ())


def occurrence_on(rule: Recurrence, first: datetime, day: date) -> datetime | None:
    """The local time at which the occurrence of that day begins; None if there is none."""
    start, end = datetime.combine(day, time.min), datetime.combine(day, time.max)
    return next(dates_between(rule, first, start, end), None)


def count_before(rule: Recurrence, first: datetime, day: date) -> int:
    """How many occurrences there are before that day."""
    end = datetime.combine(day, time.min) - timedelta(microseconds=1)
    return sum(1 for _ in dates_between(rule, first, first, end))


def _occurrences_until(rule: Recurrence, first: datetime, after: datetime, before: datetime) -> Iterator[datetime]:
    """Yields the occurrences up to ``before``; skips those long before ``after`` if that needs no counting."""
    counted = rule.end_type == "count"
    last = datetime.combine(rule.end_date, time.max) if rule.end_type == "until" and rule.end_date else before
    return iter(
        rrule(
            _FREQUENCIES[rule.frequency],
            dtstart=first if counted else _skip_intervals(rule, first, after),
            interval=rule.interval,
            wkst=MO,
            until=None if counted else min(last, before),
            count=rule.count if counted else None,
            byweekday=[_WEEKDAYS.index(day) for day in rule.days_of_week or ()] or None,
            bymonthday=rule.day_of_month if rule.frequency in ("monthly", "yearly") else None,
            bymonth=rule.month_of_year if rule.frequency == "yearly" else None,
        )
    )


def _skip_intervals(rule: Recurrence, first: datetime, after: datetime) -> datetime:
    """A later beginning that leaves every occurrence from ``after`` on as it is: whole intervals are passed over."""
    if rule.frequency in ("daily", "weekly"):
        period = timedelta(days=rule.interval * (7 if rule.frequency == "weekly" else 1))
        periods = max((after - first) // period - 1, 0)
        return first + periods * period
    months = rule.interval * (12 if rule.frequency == "yearly" else 1)
    between = (after.year - first.year) * 12 + after.month - first.month
    periods = max(between // months - 1, 0)
    if periods == 0:
        return first
    year, month = divmod(first.year * 12 + first.month - 1 + periods * months, 12)
    return first.replace(year=year, month=month + 1, day=1)
