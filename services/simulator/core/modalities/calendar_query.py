"""Finding events, and the dates of those that recur."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from typing import Literal
from zoneinfo import ZoneInfo

from services.simulator.core.modalities.calendar_book import CalendarBook, expand_series, overlaps
from services.simulator.core.modalities.calendar_records import CalendarEventRecord, Status
from services.simulator.core.modalities.fields import Name, Shown
from services.simulator.core.modalities.filters import RowTests
from services.simulator.core.modalities.pages import Order, PageQuery
from services.simulator.core.modalities.recurrence import to_instant

_AHEAD = timedelta(days=366)


class CalendarQuery(PageQuery):
    """What takes place between ``start`` and ``end``, even in part; times without a zone are in the user's.

    ``expand_recurring`` brings each date of a series by itself (up to a year ahead, where there is no ``end``).
    """

    calendar_ids: tuple[Name, ...] | None = None
    start: Shown | None = None
    end: Shown | None = None
    search: str | None = None
    status: Status | None = None
    has_attendees: bool | None = None
    recurring: bool | None = None
    expand_recurring: bool = False
    sort_by: Literal["start", "end", "status", "title"] = "start"
    sort_order: Order = "asc"


def find_events(book: CalendarBook, asked: CalendarQuery, now: datetime) -> list[CalendarEventRecord]:
    """Every event that is asked for, in order."""
    asked = _with_zone(asked, ZoneInfo(book.settings.user_timezone))
    tests = tests_of(asked)
    found = [event for event in chain(find_single(book, asked), find_series(book, asked, now)) if tests.passes(event)]
    found.sort(key=lambda event: (event.start, event.end))
    if asked.sort_by != "start":
        found.sort(key=lambda event: getattr(event, asked.sort_by))
    if asked.sort_order == "desc":
        found.reverse()
    return found


def _with_zone(asked: CalendarQuery, zone: ZoneInfo) -> CalendarQuery:
    given = {name: to_instant(time, zone) for name, time in (("start", asked.start), ("end", asked.end)) if time}
    return asked.model_copy(update=given)


def find_single(book: CalendarBook, asked: CalendarQuery) -> Iterator[CalendarEventRecord]:
    """Events that do not recur, from the end of the calendar that has fewer to look at."""
    stretches = (book.by_start.find_between(None, asked.end), book.by_end.find_between(asked.start, None))
    for key in min(stretches, key=len):
        event = book.events[key]
        if event.recurrence is None and overlaps(event, asked.start, asked.end):
            yield event


def find_series(book: CalendarBook, asked: CalendarQuery, now: datetime) -> Iterator[CalendarEventRecord]:
    for key in sorted(book.series["series"], key=book.events.position):
        dates = _occurrences(book.events[key], asked, now)
        if asked.expand_recurring:
            yield from dates
        elif (asked.start is None and asked.end is None) or next(iter(dates), None) is not None:
            yield book.events[key]


def _occurrences(event: CalendarEventRecord, asked: CalendarQuery, now: datetime) -> Iterable[CalendarEventRecord]:
    end = asked.end or (asked.start or max(now, event.start)) + _AHEAD
    return expand_series(event, asked.start or event.start, end)


def tests_of(asked: CalendarQuery) -> RowTests[CalendarEventRecord]:
    """One for each filter. A date of a series recurs, and so does the series."""
    tests = RowTests[CalendarEventRecord]()
    tests.require_equal(asked, "status")
    tests.require(True, lambda event: event.deleted_at is None)
    tests.require(asked.has_attendees, lambda event: bool(event.attendees))
    tests.require(asked.recurring, lambda event: event.recurrence is not None or event.parent_event_id is not None)
    tests.require_text(asked.search, searched_text)
    if wanted := set(asked.calendar_ids or ()):
        tests.require(True, lambda event: event.calendar_id in wanted)
    return tests


def searched_text(event: CalendarEventRecord) -> str:
    return "\n".join(text for text in (event.title, event.description, event.location) if text)
