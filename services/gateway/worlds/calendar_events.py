"""The calendar of a simulated world as tools."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from services.gateway.worlds import world as worlds
from shared.contracts.ues.modalities import CalendarEvent, Moment
from shared.domain.exact_json import Json, JsonObject

_UTC = "UTC"


class GetCalendars(worlds.Operation):
    """The user's calendars and time zone."""

    tool, permission = "get_calendars", "calendar:state"

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        state = await world.ues.calendar.get_state()
        calendars: list[Json] = [{"calendar_id": c.calendar_id, "name": c.name} for c in state.calendars.values()]
        zone, default = state.user_timezone, state.default_calendar_id
        return {"default_calendar_id": default, "user_timezone": zone, "calendars": calendars}


class ListCalendarEvents(worlds.Operation):
    """Appointments that touch a span of time or have words in them, in order; every date of those that recur.

    Fields at their usual values are left out: confirmed, takes time, in the user's own calendar.
    """

    tool, permission = "list_calendar_events", "calendar:query"

    start: datetime | None = Field(None, description="only what ends after this moment")
    end: datetime | None = Field(None, description="only what begins before this moment")
    search: str | None = Field(None, description="words in title, description or place")
    limit: int = Field(200, ge=1, le=1000)
    offset: int = Field(0, ge=0)

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        has_span = True if self.start is not None and self.end is not None else None
        filters = self.model_dump(exclude_none=True)
        page = await world.ues.calendar.query(expand_recurring=has_span, **filters)
        return worlds.build_list_page("events", [_build_event_row(event) for event in page.events], page.total_count)


class GetCalendarEvent(worlds.Operation):
    """One appointment, by its event_id."""

    tool, permission = "get_calendar_event", "calendar:state"

    event_id: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        event = await _find_event(world, self.event_id)
        return {**_describe_event(event), "exists": True} if event else {"event_id": self.event_id, "exists": False}


class FindCalendarEvents(worlds.Operation):
    """Appointments with exactly this title, in capitals or not."""

    tool, permission = "find_calendar_events", "calendar:state"

    title: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        title = self.title.strip().casefold()
        events = (await world.ues.calendar.get_state()).events.values()
        matches = [event for event in events if event.title.strip().casefold() == title and not event.deleted_at]
        return worlds.build_list_page("events", [_describe_event(event) for event in matches], len(matches))


class GetInvitationResponse(worlds.Operation):
    """What the user has answered to the invitation to an appointment, by its event_id."""

    tool, permission = "get_invitation_response", "calendar:state"

    event_id: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        event = await _find_event(world, self.event_id)
        user = (await world.user_address()).casefold()
        attendees = event.attendees if event else ()
        own_entry = next((attendee for attendee in attendees if attendee.email.casefold() == user), None)
        return {
            "event_id": self.event_id,
            **(worlds.select_record_fields(own_entry, "email") if own_entry else {"invited": False}),
        }


class _CalendarEventFields(worlds.Operation):
    description: str | None = None
    location: str | None = None
    attendee_emails: tuple[str, ...] | None = Field(None, description="mail addresses of all who are invited")


class CreateCalendarEvent(_CalendarEventFields):
    """Enter an appointment into the user's calendar and invite whom it names."""

    tool = "create_calendar_event"
    permission = "calendar:create"
    read_back = "find_calendar_events"

    title: str = Field(min_length=1)
    start: Moment
    end: Moment

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        user = await world.user_address()
        attendees = [{"email": email} for email in self.attendee_emails or ()]
        fields = self.model_dump(exclude={"attendee_emails"})
        create = world.ues.calendar.create(**fields, organizer=user, attendees=attendees or None)
        return worlds.build_created_ids(await world.carry_out_change(create), "event_id")


class UpdateCalendarEvent(_CalendarEventFields):
    """Change an appointment; what is left out stays as it is. ``attendee_emails`` names all who are invited then."""

    tool = "update_calendar_event"
    permission = "calendar:update"
    read_back = "get_calendar_event"

    event_id: str
    title: str | None = None
    start: Moment | None = None
    end: Moment | None = None
    status: Literal["confirmed", "tentative", "cancelled"] | None = None

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        emails = self.attendee_emails
        attendees = None if emails is None else [{"email": email} for email in emails]
        fields = self.model_dump(exclude={"event_id", "attendee_emails"})
        await world.carry_out_change(world.ues.calendar.update(self.event_id, **fields, attendees=attendees))
        invited: JsonObject = {"invited": _join_addresses(emails)} if emails is not None else {}
        return {"event_id": self.event_id, **invited}


class DeleteCalendarEvent(worlds.Operation):
    """Delete an appointment."""

    tool = "delete_calendar_event"
    permission = "calendar:delete"
    expect = {"exists": False}
    read_back = "get_calendar_event"

    event_id: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        await world.carry_out_change(world.ues.calendar.delete(self.event_id))
        return {"event_id": self.event_id, "exists": False}


class RespondToInvitation(worlds.Operation):
    """Answer the invitation to an appointment in the user's name."""

    tool = "respond_to_invitation"
    permission = "calendar:respond"
    read_back = "get_invitation_response"

    event_id: str
    response: Literal["accepted", "declined", "tentative"]
    comment: str | None = None

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        user = await world.user_address()
        await world.carry_out_change(
            world.ues.calendar.respond_to_event(self.event_id, user, self.response, self.comment)
        )
        return {"event_id": self.event_id, "response": self.response}


def _describe_event(event: CalendarEvent) -> JsonObject:
    return {
        **worlds.select_record_fields(event),
        "invited": _join_addresses(tuple(attendee.email for attendee in event.attendees)),
    }


def _build_event_row(event: CalendarEvent) -> JsonObject:
    """An appointment as a row of a list. Times are in UTC, so the time zone is shown only if it is another one."""
    zone = ("timezone",) if event.timezone == _UTC else ()
    row = worlds.select_row_fields(event, "created_at", "updated_at", *zone)
    guests: list[Json] = [worlds.select_row_fields(guest) for guest in event.attendees]
    return {**row, **({"attendees": guests} if guests else {})}


def _join_addresses(emails: tuple[str, ...]) -> str:
    """The addresses as one text, which a read-back can compare; ``nobody`` if there are none."""
    return ", ".join(sorted(email.casefold() for email in emails)) or "nobody"


async def _find_event(world: worlds.ConnectedWorld, event_id: str) -> CalendarEvent | None:
    event = (await world.ues.calendar.get_state()).events.get(event_id)
    return None if event is None or event.deleted_at else event


CALENDAR_OPERATIONS = (
    GetCalendars, ListCalendarEvents, GetCalendarEvent, FindCalendarEvents, GetInvitationResponse,
    CreateCalendarEvent, UpdateCalendarEvent, DeleteCalendarEvent, RespondToInvitation,
)  # fmt: skip
