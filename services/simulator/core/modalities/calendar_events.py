"""Making events, and answering invitations to them."""

from typing import Annotated

from pydantic import AfterValidator, Field
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.calendar_book import CalendarBook
from services.simulator.core.modalities.calendar_changes import own_event
from services.simulator.core.modalities.calendar_records import (
    RESPONSE_NAMES,
    Attendee,
    CalendarAttachment,
    CalendarEvent,
    Email,
    OccurrenceDay,
    Reminder,
    Response,
    Status,
    Transparency,
    Visibility,
    Zone,
)
from services.simulator.core.modalities.fields import Given, Name
from services.simulator.core.modalities.recurrence import Recurrence
from services.simulator.core.modality import Moment, Outcome
from services.simulator.core.refusals import ActionFailed


def each_once(attendees: tuple[Attendee, ...]) -> tuple[Attendee, ...]:
    """Nobody is invited twice; ``ValueError``."""
    if len({one.email for one in attendees}) < len(attendees):
        raise ValueError("an attendee stands in it twice")
    return attendees


Attendees = Annotated[tuple[Attendee, ...], AfterValidator(each_once)]


class Create(Action[CalendarBook]):
    """A calendar of an unknown id is made. Without a time zone it is the user's."""

    event_id: Name | None = None
    calendar_id: Name | None = None
    title: Name
    start: Given
    end: Given
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

    @override
    def act(self, tables: CalendarBook, moment: Moment) -> Outcome:
        event_id = self.event_id or moment.new_id("calendar event")
        if event_id in tables.events:
            raise ActionFailed(f"There is an event {event_id} already")
        calendar = tables.open_calendar(self.calendar_id or tables.settings.default_calendar_id, moment.now)
        given = {name: getattr(self, name) for name in type(self).model_fields}
        given |= {
            "event_id": event_id,
            "calendar_id": calendar.calendar_id,
            "timezone": self.timezone or tables.settings.user_timezone,
            "reminders": calendar.default_reminders if self.reminders is None else self.reminders,
        }
        tables.keep(CalendarEvent(**given, created_at=moment.now, updated_at=moment.now))
        return Outcome(f"Calendar event created (calendar_event_id: {event_id})", (event_id,))


class Respond(Action[CalendarBook]):
    """An attendee's answer; to one date of a series if ``recurrence_id`` or the id says so."""

    event_id: Name
    attendee_email: Email
    response: Response = Field(validation_alias=RESPONSE_NAMES)
    comment: str | None = None
    recurrence_id: OccurrenceDay | None = None

    @override
    def act(self, tables: CalendarBook, moment: Moment) -> Outcome:
        named, day = tables.named(self.event_id)
        day = day or self.recurrence_id
        event = own_event(tables, named, day, moment) if day and named.recurrence else named
        if all(one.email != self.attendee_email for one in event.attendees):
            raise ActionFailed(f"{self.attendee_email} is not invited to event {self.event_id}")
        answer = {"response": self.response, "comment": self.comment}
        attendees = tuple(
            one.model_copy(update=answer) if one.email == self.attendee_email else one for one in event.attendees
        )
        tables.keep(event.model_copy(update={"attendees": attendees, "updated_at": moment.now}))
        return Outcome(f"{self.attendee_email}: {self.response}", (event.event_id,))
