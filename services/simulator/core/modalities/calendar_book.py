"""The tables of the calendar, and what is in them on a day."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import NamedTuple

from services.simulator.core.modalities.calendar_records import (
    BLUE,
    CalendarEventRecord,
    CalendarRecord,
    CalendarSettings,
)
from services.simulator.core.modalities.indexes import GroupIndex, TimeIndex
from services.simulator.core.modalities.recurrence import dates_between, instant_of_wall_time, occurrence_on, wall_time
from services.simulator.core.records import TableStore
from services.simulator.core.refusals import ActionFailed

LONGEST = timedelta(days=3_660)
_OCCURRENCE_PATTERN = re.compile(r"(?P<series>.+)_(?P<day>\d{4}-\d{2}-\d{2})")


class NamedEvent(NamedTuple):
    """The event that an id names. ``day``: the date of the series that the id names; None for the whole event."""

    event: CalendarEventRecord
    day: date | None


class CalendarBook:
    def __init__(self, store: TableStore) -> None:
        self.calendars = store.table("calendars", CalendarRecord)
        self.events = store.table("events", CalendarEventRecord)
        self.settings_rows = store.table("settings", CalendarSettings)
        self.in_calendar = GroupIndex(self.events, lambda event: (event.calendar_id,))
        self.series = GroupIndex(self.events, lambda event: ("series",) if event.recurrence else ())
        self.children = GroupIndex(self.events, lambda event: (event.parent_event_id,) if event.parent_event_id else ())
        self.by_start = TimeIndex(self.events, lambda event: event.start)
        self.by_end = TimeIndex(self.events, lambda event: event.end)

    @property
    def settings(self) -> CalendarSettings:
        return self.settings_rows["settings"]

    def set_up(self, settings: CalendarSettings) -> None:
        self.settings_rows.put("settings", settings)

    def put_calendar(self, calendar: CalendarRecord) -> None:
        self.calendars.put(calendar.calendar_id, calendar)

    def open_calendar(self, calendar_id: str, now: datetime) -> CalendarRecord:
        """The calendar; a new one if there is none of that id."""
        if calendar_id not in self.calendars:
            calendar = CalendarRecord(
                calendar_id=calendar_id, name=calendar_id, color=BLUE, created_at=now, updated_at=now
            )
            self.put_calendar(calendar)
        return self.calendars[calendar_id]

    def put_event(self, event: CalendarEventRecord) -> None:
        """Adds or replaces an event. Raises ``ActionFailed`` for one that ends before it begins, or years later."""
        if event.end <= event.start:
            raise ActionFailed("An event ends after it begins")
        if event.end - event.start > LONGEST:
            raise ActionFailed("An event lasts for ten years at most")
        self.events.put(event.event_id, event)

    def drop_event(self, event: CalendarEventRecord) -> None:
        """Removes an event, and the dates of it that were changed one by one."""
        for child in list(self.children[event.event_id]):
            self.events.remove(child)
        self.events.remove(event.event_id)

    def find_named(self, event_id: str) -> NamedEvent:
        """The event of that id; ``<id of a series>_<date>`` names one date of a series. Raises ``ActionFailed``."""
        if event_id in self.events:
            return NamedEvent(self.events[event_id], None)
        match = _OCCURRENCE_PATTERN.fullmatch(event_id)
        if match is not None and match["series"] in self.events:
            with suppress(ValueError):  # the thirtieth of February
                return NamedEvent(self.events[match["series"]], date.fromisoformat(match["day"]))
        raise ActionFailed(f"There is no event {event_id}")

    def find_exception(self, series: CalendarEventRecord, day: date) -> CalendarEventRecord | None:
        """The event that replaces this date of the series; None if the date is as the series has it."""
        children = (self.events[key] for key in self.children[series.event_id])
        return next((child for child in children if child.recurrence_id == day), None)


def occurrence_on_day(series: CalendarEventRecord, day: date) -> CalendarEventRecord:
    """The date of a series as an event of its own; raises ``ActionFailed`` if there is none on that day."""
    if series.recurrence is None:
        raise ActionFailed(f"Event {series.event_id} does not recur")
    wall_start = occurrence_on(series.recurrence, wall_time(series.start, series.zone), day)
    if wall_start is None or day in series.recurrence_exceptions:
        raise ActionFailed(f"Event {series.event_id} does not take place on {day}")
    return occurrence_at(series, wall_start)


def occurrence_at(series: CalendarEventRecord, wall_start: datetime) -> CalendarEventRecord:
    """The date of a series that begins at that time on the wall clock of its zone."""
    length = wall_time(series.end, series.zone) - wall_time(series.start, series.zone)
    update = {
        "event_id": f"{series.event_id}_{wall_start.date()}",
        "parent_event_id": series.event_id,
        "recurrence_id": wall_start.date(),
        "recurrence": None,
        "recurrence_exceptions": (),
        "start": instant_of_wall_time(wall_start, series.zone),
        "end": instant_of_wall_time(wall_start + length, series.zone),
    }
    return series.model_copy(update=update)


def expand_series(series: CalendarEventRecord, start: datetime, end: datetime) -> Iterator[CalendarEventRecord]:
    """Yields the dates of a series that overlap the time from ``start`` to ``end``."""
    if series.recurrence is None:
        return
    first = wall_time(series.start, series.zone)
    length = wall_time(series.end, series.zone) - first
    hour = timedelta(hours=1)  # clock changes: what is too much is left out below
    after = wall_time(start, series.zone) - length - hour
    before = wall_time(end, series.zone) + hour
    for wall_start in dates_between(series.recurrence, first, after, before):
        event = occurrence_at(series, wall_start)
        if wall_start.date() not in series.recurrence_exceptions and overlaps(event, start, end):
            yield event


def overlaps(event: CalendarEventRecord, start: datetime | None, end: datetime | None) -> bool:
    """Whether an event overlaps the time from ``start`` to ``end``; touching one of them is not enough."""
    return (end is None or event.start < end) and (start is None or event.end > start)
