"""Making events, and answering invitations to them."""

from datetime import datetime
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, model_validator
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.calendar_book import CalendarBook
from services.simulator.core.modalities.calendar_changes import detach_date
from services.simulator.core.modalities.calendar_records import (
    RESPONSE_NAMES,
    CalendarAttachment,
    CalendarEventRecord,
    Email,
    EventAttendee,
    OccurrenceDay,
    Reminder,
    Response,
    Status,
    Transparency,
    Visibility,
    Zone,
)
from services.simulator.core.modalities.fields import LocalOrAwareTime, Name
from services.simulator.core.modalities.recurrence import Recurrence, to_instant
from services.simulator.core.modality import ActionOutcome, EventMoment
from services.simulator.core.refusals import ActionFailed, MeaninglessRequest


def require_start_before_end(start: datetime | None, end: datetime | None) -> None:
    """Raises ``MeaninglessRequest`` if the end is not after the start; unchecked if only one of them has a time
    zone.
    """
    if start and end and (start.tzinfo is None) == (end.tzinfo is None) and end <= start:
        raise MeaninglessRequest("An event ends after it begins")


def require_unique(attendees: tuple[EventAttendee, ...]) -> tuple[EventAttendee, ...]:
    """The attendees; raises ``ValueError`` if one is named twice."""
    if len({attendee.email for attendee in attendees}) < len(attendees):
        raise ValueError("an attendee stands in it twice")
    return attendees


Attendees = Annotated[tuple[EventAttendee, ...], AfterValidator(require_unique)]


class AddCalendarEvent(Action[CalendarBook]):
    """Adds an event; a calendar of an unknown id is made. Without a time zone the user's counts, for the event and its
    times.
    """

    event_id: Name | None = None
    calendar_id: Name | None = None
    title: Name
    start: LocalOrAwareTime
    end: LocalOrAwareTime
    all_day: bool = False
    timezone: Zone | None = None
    description: str | None = None
    location: str | None = None
    status: Status = "confirmed"
    organizer: Email | None = None
    attendees: Attendees = ()
    recurrence: Recurrence | None = None
    recurrence_exceptions: tuple[OccurrenceDay, ...] = ()
    reminders: tuple[Reminder, ...] | None = None
    color: str | None = None
    visibility: Visibility = "default"
    transparency: Transparency = "opaque"
    attachments: tuple[CalendarAttachment, ...] = ()
    conference_link: str | None = None

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        require_start_before_end(self.start, self.end)
        return self

    @override
    def act(self, tables: CalendarBook, moment: EventMoment) -> ActionOutcome:
        event_id = self.event_id or moment.new_id("calendar event")
        if event_id in tables.events:
            raise ActionFailed(f"There is an event {event_id} already")
        calendar = tables.open_calendar(self.calendar_id or tables.settings.default_calendar_id, moment.now)
        zone = self.timezone or tables.settings.user_timezone
        changes = {name: getattr(self, name) for name in type(self).model_fields}
        changes |= {
            "start": to_instant(self.start, ZoneInfo(zone)),
            "end": to_instant(self.end, ZoneInfo(zone)),
            "event_id": event_id,
            "calendar_id": calendar.calendar_id,
            "timezone": zone,
            "reminders": calendar.default_reminders if self.reminders is None else self.reminders,
        }
        tables.put_event(CalendarEventRecord(**changes, created_at=moment.now, updated_at=moment.now))
        return ActionOutcome(f"Calendar event created (calendar_event_id: {event_id})", (event_id,))


class RespondToEvent(Action[CalendarBook]):
    """An attendee's answer; to one date of a series if ``recurrence_id`` or the id says so."""

    event_id: Name
    attendee_email: Email
    response: Response = Field(validation_alias=RESPONSE_NAMES)
    comment: str | None = None
    recurrence_id: OccurrenceDay | None = None

    @override
    def act(self, tables: CalendarBook, moment: EventMoment) -> ActionOutcome:
        named, day = tables.find_named(self.event_id)
        day = day or self.recurrence_id
        event = detach_date(tables, named, day, moment) if day and named.recurrence else named
        if all(attendee.email != self.attendee_email for attendee in event.attendees):
            raise ActionFailed(f"{self.attendee_email} is not invited to event {self.event_id}")
        answer = {"response": self.response, "comment": self.comment}
        attendees = tuple(
            attendee.model_copy(update=answer) if attendee.email == self.attendee_email else attendee
            for attendee in event.attendees
        )
        tables.put_event(event.model_copy(update={"attendees": attendees, "updated_at": moment.now}))
        return ActionOutcome(f"{self.attendee_email}: {self.response}", (event.event_id,))
