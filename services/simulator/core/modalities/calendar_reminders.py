"""Reminders that have come up: they follow from the events and the time, so undo has nothing to take back."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from services.simulator.core.modalities.calendar_book import CalendarBook, expand_series
from services.simulator.core.modalities.calendar_records import CalendarEventRecord, Reminder
from services.simulator.core.modalities.fields import format_time_with_z
from services.simulator.core.records import JsonObject


class DueReminder(NamedTuple):
    at: datetime
    event: CalendarEventRecord
    reminder: Reminder

    def view(self) -> JsonObject:
        return {
            "event_id": self.event.event_id,
            "calendar_id": self.event.calendar_id,
            "title": self.event.title,
            "start": format_time_with_z(self.event.start),
            "minutes_before": self.reminder.minutes_before,
            "type": self.reminder.type,
            "due_at": format_time_with_z(self.at),
        }


def due_reminders(book: CalendarBook, after: datetime, until: datetime) -> list[DueReminder]:
    """The reminders that came due after ``after``, up to ``until``, in order; none of a cancelled event."""
    reminders = [
        reminder
        for event in book.events.values()
        if _has_reminders(event)
        for reminder in _reminders_of(event, after, until)
    ]
    return sorted(reminders, key=lambda reminder: (reminder.at, reminder.event.event_id))


def _has_reminders(event: CalendarEventRecord) -> bool:
    return bool(event.reminders) and event.status != "cancelled" and event.deleted_at is None


def _reminders_of(event: CalendarEventRecord, after: datetime, until: datetime) -> Iterator[DueReminder]:
    longest = max(timedelta(minutes=reminder.minutes_before) for reminder in event.reminders)
    dates = expand_series(event, after, until + longest + timedelta(microseconds=1)) if event.recurrence else (event,)
    for occurrence in dates:
        for reminder in event.reminders:
            at = occurrence.start - timedelta(minutes=reminder.minutes_before)
            if after < at <= until:
                yield DueReminder(at, occurrence, reminder)
