"""The user's calendars."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar
from zoneinfo import ZoneInfo

from pydantic import JsonValue, TypeAdapter, model_validator
from typing_extensions import override

from services.simulator.core.modalities import calendar_calendars as calendars
from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.cached_state import CachedStateModality
from services.simulator.core.modalities.calendar_book import CalendarBook
from services.simulator.core.modalities.calendar_changes import ChangeCalendarEvent, RemoveCalendarEvent
from services.simulator.core.modalities.calendar_events import AddCalendarEvent, RespondToEvent
from services.simulator.core.modalities.calendar_query import CalendarQuery, find_events
from services.simulator.core.modalities.calendar_records import (
    PRIMARY,
    CalendarEventRecord,
    CalendarRecord,
    CalendarSettings,
    Zone,
)
from services.simulator.core.modalities.calendar_reminders import due_reminders
from services.simulator.core.modalities.fields import format_time
from services.simulator.core.modalities.loading import Exported, require_same_keys
from services.simulator.core.modalities.recurrence import to_instant
from services.simulator.core.modalities.rendered import RenderedRows, row_as_json
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import ActionFailed, MeaninglessRequest, parse_model

OPERATIONS: Mapping[str, type[Action[CalendarBook]]] = {
    "create": AddCalendarEvent,
    "update": ChangeCalendarEvent,
    "delete": RemoveCalendarEvent,
    "respond": RespondToEvent,
    "create_calendar": calendars.CreateCalendar,
    "update_calendar": calendars.UpdateCalendar,
    "delete_calendar": calendars.DeleteCalendar,
    "set_default_calendar": calendars.SetDefaultCalendar,
}
_MOMENT = TypeAdapter(datetime)
_BRIEF = ("event_id", "calendar_id", "title", "start", "end", "all_day", "status", "location")


class ExportedCalendar(Exported):
    """An exported calendar state. Which events a calendar has is derived from the events.

    An event without a time zone gets the user's, and a time without one gets its event's.
    """

    default_calendar_id: str = PRIMARY
    user_timezone: Zone = "UTC"
    calendars: dict[str, CalendarRecord] = {}
    events: dict[str, CalendarEventRecord] = {}

    @model_validator(mode="before")
    @classmethod
    def _add_zones(cls, data: JsonValue) -> JsonValue:
        if not isinstance(data, dict) or not isinstance(events := data.get("events"), dict):
            return data
        zone = data.get("user_timezone") or CalendarSettings().user_timezone
        return {**data, "events": {key: _add_zone(event, zone) for key, event in events.items()}}


def _add_zone(event: JsonValue, user_zone: JsonValue) -> JsonValue:
    """The event with its own or the user's time zone on its times; values of a wrong shape stay for later checks."""
    if not isinstance(event, dict):
        return event
    zone = event.get("timezone") or user_zone
    return {**event, "timezone": zone, **{name: _time_with_zone(event.get(name), zone) for name in ("start", "end")}}


def _time_with_zone(written: JsonValue, zone: JsonValue) -> JsonValue:
    try:
        return to_instant(_MOMENT.validate_python(written), ZoneInfo(str(zone))).isoformat()
    except (ValueError, KeyError, OSError, OverflowError):
        return written


class CalendarModality(CachedStateModality[CalendarBook]):
    name: ClassVar[str] = "calendar"
    operations = OPERATIONS

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self.tables = CalendarBook(self.store)
        self._events = RenderedRows(self.tables.events, row_as_json)
        self.clear(now)

    @override
    def put_initial_rows(self, now: datetime) -> None:
        self.tables.set_up(CalendarSettings())
        self._add_primary_calendar(now)

    @override
    def state_header(self, now: datetime) -> JsonObject:
        return {"modality_type": self.name}

    @override
    def body(self) -> JsonObject:
        return self._state_fields() | {"calendars": self.calendars(), "events": self._events.rows_by_key()}

    @override
    def compact_body(self) -> JsonObject:
        brief: JsonObject = {
            key: {name: value for name, value in self._events.row(key).items() if name in _BRIEF}
            for key in self.tables.events
        }
        return self._state_fields() | {"calendars": self.calendars(), "events": brief}

    @override
    def query(self, fields: JsonObject, now: datetime) -> JsonObject:
        query = parse_model(CalendarQuery, fields)
        results = find_events(self.tables, query, now)
        page = [row_as_json(event) for event in query.slice(results)]
        answer: JsonObject = {"modality_type": self.name, "events": [*page], "query": query.as_json()}
        return answer | {"count": len(page), "total_count": len(results)}

    @override
    def export(self) -> JsonObject:
        return {"modality_type": self.name, **self.body()}

    @override
    def load(self, state: JsonObject) -> None:
        read = parse_model(ExportedCalendar, state)
        require_same_keys("calendars", read.calendars, "calendar_id")
        require_same_keys("events", read.events, "event_id")
        self.store.clear()
        self.set_head(read.head)
        settings = CalendarSettings(default_calendar_id=read.default_calendar_id, user_timezone=read.user_timezone)
        self.tables.set_up(settings)
        for calendar in read.calendars.values():
            self.tables.put_calendar(calendar)
        self._add_primary_calendar(read.last_updated)
        for event in read.events.values():
            self._load_event(event)

    def calendars(self) -> JsonObject:
        """Calendars by id, each with the ids of its events."""
        return {key: self.calendar(key) for key in self.tables.calendars}

    def calendar(self, calendar_id: str) -> JsonObject:
        """The calendar of that id, with the ids of its events. Raises ``KeyError``."""
        events = sorted(self.tables.in_calendar[calendar_id], key=self.tables.events.position)
        return row_as_json(self.tables.calendars[calendar_id]) | {"event_ids": [*events], "event_count": len(events)}

    def reminders(self, after: datetime, until: datetime) -> list[JsonObject]:
        """The reminders that came up later than ``after`` and up to ``until``."""
        return [reminder.view() for reminder in due_reminders(self.tables, after, until)]

    def _state_fields(self) -> JsonObject:
        return {
            "last_updated": format_time(self.head.last_updated),
            "update_count": self.head.update_count,
            "default_calendar_id": self.tables.settings.default_calendar_id,
            "user_timezone": self.tables.settings.user_timezone,
            "calendar_count": len(self.tables.calendars),
            "event_count": len(self.tables.events),
        }

    def _add_primary_calendar(self, now: datetime) -> None:
        """Adds the default calendar, unless there is one."""
        default = self.tables.settings.default_calendar_id
        if default not in self.tables.calendars:
            name = "Personal" if default == PRIMARY else default
            self.tables.put_calendar(CalendarRecord(calendar_id=default, name=name, created_at=now, updated_at=now))

    def _load_event(self, event: CalendarEventRecord) -> None:
        self.tables.open_calendar(event.calendar_id, event.created_at)
        try:
            self.tables.put_event(event)
        except ActionFailed as problem:
            raise MeaninglessRequest(f"event {event.event_id}: {problem}") from None
