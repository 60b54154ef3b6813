"""Finding events, and the dates of those that recur."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from typing import Literal
from zoneinfo import ZoneInfo

from services.simulator.core.modalities.calendar_book import CalendarBook, expand_series, overlaps
from services.simulator.core.modalities.calendar_records import CalendarEventRecord, Status
from services.simulator.core.modalities.fields import LocalOrAwareTime, Name
from services.simulator.core.modalities.filters import RowTests
from services.simulator.core.modalities.pages import Order, PageQuery
from services.simulator.core.modalities.recurrence import to_instant

_AHEAD = timedelta(days=366)


class CalendarQuery(PageQuery):
    """What takes place between ``start`` and ``end``, even in part; times without a zone are in the user's.

    ``expand_recurring`` brings each date of a series by itself (up to a year ahead, where there is no ``end``).
    """

    calendar_ids: tuple[Name, ...] | None = None
    start: LocalOrAwareTime | None = None
    end: LocalOrAwareTime | None = None
    search: str | None = None
    status: Status | None = None
    has_attendees: bool | None = None
    recurring: bool | None = None
    expand_recurring: bool = False
    sort_by: Literal["start", "end", "status", "title"] = "start"
    sort_order: Order = "asc"


def find_events(book: CalendarBook, query: CalendarQuery, now: datetime) -> list[CalendarEventRecord]:
    """All events that match the query, sorted as it asks; its limit and offset are not applied."""
    query = _with_zone(query, ZoneInfo(book.settings.user_timezone))
    tests = tests_of(query)
    events = [event for event in chain(find_single(book, query), find_series(book, query, now)) if tests.passes(event)]
    events.sort(key=lambda event: (event.start, event.end))
    if query.sort_by != "start":
        events.sort(key=lambda event: getattr(event, query.sort_by))
    if query.sort_order == "desc":
        events.reverse()
    return events


def _with_zone(query: CalendarQuery, zone: ZoneInfo) -> CalendarQuery:
    bounds = {name: to_instant(time, zone) for name, time in (("start", query.start), ("end", query.end)) if time}
    return query.model_copy(update=bounds)


def find_single(book: CalendarBook, query: CalendarQuery) -> Iterator[CalendarEventRecord]:
    """Events that do not recur, from the end of the calendar that has fewer to look at."""
    stretches = (book.by_start.find_between(None, query.end), book.by_end.find_between(query.start, None))
    for key in min(stretches, key=len):
        event = book.events[key]
        if event.recurrence is None and overlaps(event, query.start, query.end):
            yield event


def find_series(book: CalendarBook, query: CalendarQuery, now: datetime) -> Iterator[CalendarEventRecord]:
    for key in sorted(book.series["series"], key=book.events.position):
        dates = _occurrences(book.events[key], query, now)
        if query.expand_recurring:
            yield from dates
        elif (query.start is None and query.end is None) or next(iter(dates), None) is not None:
            yield book.events[key]


def _occurrences(event: CalendarEventRecord, query: CalendarQuery, now: datetime) -> Iterable[CalendarEventRecord]:
    end = query.end or (query.start or max(now, event.start)) + _AHEAD
    return expand_series(event, query.start or event.start, end)


def tests_of(query: CalendarQuery) -> RowTests[CalendarEventRecord]:
    """The tests that a row has to pass to match the query. Both a series and each date of it count as recurring."""
    tests = RowTests[CalendarEventRecord]()
    tests.require_equal(query, "status")
    tests.require(True, lambda event: event.deleted_at is None)
    tests.require(query.has_attendees, lambda event: bool(event.attendees))
    tests.require(query.recurring, lambda event: event.recurrence is not None or event.parent_event_id is not None)
    tests.require_text(query.search, searched_text)
    if wanted_ids := set(query.calendar_ids or ()):
        tests.require(True, lambda event: event.calendar_id in wanted_ids)
    return tests


def searched_text(event: CalendarEventRecord) -> str:
    return "\n".join(text for text in (event.title, event.description, event.location) if text)
