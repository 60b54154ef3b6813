"""Appointments as a simulator shows them."""

from collections.abc import Mapping

from pydantic import AliasChoices, Field

from shared.contracts.ues.base import Answer, JsonObject, Moment


class Attendee(Answer):
    """``response``: accepted, declined, tentative or needs-action, whichever way the server spells it."""

    email: str
    display_name: str | None = None
    optional: bool = False
    response: str = Field(default="needs-action", validation_alias=AliasChoices("response", "response_status"))
    comment: str | None = None


class CalendarEvent(Answer):
    event_id: str
    calendar_id: str = "primary"
    title: str
    start: Moment
    end: Moment
    all_day: bool = False
    timezone: str | None = None
    description: str | None = None
    location: str | None = None
    status: str = "confirmed"
    organizer: str | None = None
    attendees: tuple[Attendee, ...] = ()
    recurrence: JsonObject | None = None
    recurrence_id: str | None = None
    parent_event_id: str | None = None
    reminders: tuple[JsonObject, ...] = ()
    visibility: str = "default"
    transparency: str = "opaque"
    conference_link: str | None = None
    created_at: Moment | None = None
    updated_at: Moment | None = None
    deleted_at: Moment | None = None


class Calendar(Answer):
    calendar_id: str
    name: str = ""
    event_ids: tuple[str, ...] = ()


class CalendarState(Answer):
    """It tells no time of its own."""

    default_calendar_id: str | None = None
    user_timezone: str | None = None
    calendars: Mapping[str, Calendar] = {}
    events: Mapping[str, CalendarEvent] = {}
    calendar_count: int = 0
    event_count: int = 0


class EventsFound(Answer):
    events: tuple[CalendarEvent, ...] = ()
    count: int = 0
    total_count: int = 0
