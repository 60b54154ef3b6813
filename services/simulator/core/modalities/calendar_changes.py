"""Changing and deleting events: one date of a series, one and all that follow, or all."""

from datetime import date, timedelta
from typing import Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import AliasChoices, BeforeValidator, Field, JsonValue
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.calendar_book import CalendarBook, occurrence_on_day
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
from services.simulator.core.modalities.recurrence import Recurrence, count_before, to_instant, wall_time
from services.simulator.core.modality import ActionOutcome, EventMoment
from services.simulator.core.records import StoredRow
from services.simulator.core.refusals import ActionFailed


def _parse_scope(word: JsonValue) -> JsonValue:
    return "this_and_future" if word == "future" else word


Scope: TypeAlias = Annotated[Literal["this", "this_and_future", "all"], BeforeValidator(_parse_scope)]


class InvitedAttendee(StoredRow):
    """An attendee of a change: who has answered already keeps the answer."""

    email: Email
    display_name: str | None = None
    optional: bool | None = None
    response: Response | None = Field(None, validation_alias=RESPONSE_NAMES)
    comment: str | None = None


class _EventAction(Action[CalendarBook]):
    """An action on an event, or on a date of a series (``recurrence_id``). Without a scope only that date is meant,
    else all.
    """

    event_id: Name
    recurrence_scope: Scope | None = Field(None, validation_alias=AliasChoices("recurrence_scope", "scope"))
    recurrence_id: OccurrenceDay | None = None

    def resolve_target(self, book: CalendarBook) -> tuple[CalendarEventRecord, date | None, Scope]:
        """The event, the date of the series and the scope that the action means.

        Raises ``ActionFailed`` if there is no such event, or the scope needs a date.
        """
        event, day = book.find_named(self.event_id)
        day = day or self.recurrence_id
        if event.recurrence is None:
            return event, None, "all"
        scope = self.recurrence_scope or ("all" if day is None else "this")
        if scope != "all" and day is None:
            raise ActionFailed(f"recurrence_id is needed to say which date of event {self.event_id} is meant")
        return event, day, scope


class ChangeCalendarEvent(_EventAction):
    """Changes an event; fields that are left out or null stay as they are. A time without a zone is in the event's."""

    calendar_id: Name | None = None
    title: Name | None = None
    start: LocalOrAwareTime | None = None
    end: LocalOrAwareTime | None = None
    all_day: bool | None = None
    timezone: Zone | None = None
    description: str | None = None
    location: str | None = None
    status: Status | None = None
    organizer: Email | None = None
    attendees: tuple[InvitedAttendee, ...] | None = None
    recurrence: Recurrence | None = None
    reminders: tuple[Reminder, ...] | None = None
    color: str | None = None
    visibility: Visibility | None = None
    transparency: Transparency | None = None
    attachments: tuple[CalendarAttachment, ...] | None = None
    conference_link: str | None = None

    @override
    def act(self, tables: CalendarBook, moment: EventMoment) -> ActionOutcome:
        event, day, scope = self.resolve_target(tables)
        if self.calendar_id is not None:
            tables.open_calendar(self.calendar_id, moment.now)
        if day is not None and scope == "this":
            event = detach_date(tables, event, day, moment)
        elif day is not None and scope == "this_and_future":
            event = split_at(tables, event, day, moment)
        changes = self._given_fields(event)
        if event.parent_event_id is not None:
            changes.pop("recurrence", None)  # one date of a series does not recur itself
        changed = event.model_copy(update={**changes, "updated_at": moment.now})
        tables.put_event(changed)
        return ActionOutcome(f"Calendar event updated (calendar_event_id: {changed.event_id})", (changed.event_id,))

    def _given_fields(self, event: CalendarEventRecord) -> dict[str, object]:
        names = set(type(self).model_fields) - {"event_id", "recurrence_id", "recurrence_scope", "attendees"}
        changes = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        zone = ZoneInfo(self.timezone) if self.timezone else event.zone
        changes |= {
            name: to_instant(value, zone) for name, value in (("start", self.start), ("end", self.end)) if value
        }
        if self.attendees is not None:
            changes["attendees"] = _merge_attendees(event, self.attendees)
        return changes


class RemoveCalendarEvent(_EventAction):
    @override
    def act(self, tables: CalendarBook, moment: EventMoment) -> ActionOutcome:
        event, day, scope = self.resolve_target(tables)
        if day is None or scope == "all":
            tables.drop_event(event)
        elif scope == "this":
            tables.drop_event(detach_date(tables, event, day, moment))
        else:
            tables.drop_event(split_at(tables, event, day, moment))
        return ActionOutcome("Calendar event deleted", (event.event_id,))


def detach_date(book: CalendarBook, series: CalendarEventRecord, day: date, moment: EventMoment) -> CalendarEventRecord:
    """The event of one date of the series; creates it, as an exception to the series, unless there is one already.

    Raises ``ActionFailed``.
    """
    if (own := book.find_exception(series, day)) is not None:
        return own
    own = occurrence_on_day(series, day).model_copy(
        update={"event_id": moment.new_id(f"own {day}"), "created_at": moment.now, "updated_at": moment.now}
    )
    exceptions = (*series.recurrence_exceptions, day)
    book.put_event(series.model_copy(update={"recurrence_exceptions": exceptions, "updated_at": moment.now}))
    book.put_event(own)
    return own


def split_at(book: CalendarBook, series: CalendarEventRecord, day: date, moment: EventMoment) -> CalendarEventRecord:
    """The series from that date on, as a series of its own: the first part ends the day before."""
    rule, first = series.recurrence, wall_time(series.start, series.zone)
    if book.find_exception(series, day) is None:
        occurrence_on_day(series, day)  # there is none on other days
    passed = 0 if rule is None else count_before(rule, first, day)
    if rule is None or passed == 0:
        return series
    ended = rule.model_copy(update={"end_type": "until", "end_date": day - timedelta(days=1), "count": None})
    going_on = rule if rule.count is None else rule.model_copy(update={"count": rule.count - passed})
    earlier, later = _split_dates_at(series.recurrence_exceptions, day)
    later_series = occurrence_on_day(series.model_copy(update={"recurrence_exceptions": ()}), day).model_copy(
        update={
            "event_id": moment.new_id(f"from {day}"),
            "recurrence": going_on,
            "recurrence_exceptions": later,
            "recurrence_id": None,
            "parent_event_id": None,
            "created_at": moment.now,
            "updated_at": moment.now,
        }
    )
    first_part = {"recurrence": ended, "recurrence_exceptions": earlier, "updated_at": moment.now}
    book.put_event(series.model_copy(update=first_part))
    book.put_event(later_series)
    _move_exceptions(book, series, later_series, day)
    return later_series


def _split_dates_at(days: tuple[date, ...], day: date) -> tuple[tuple[date, ...], tuple[date, ...]]:
    return tuple(other for other in days if other < day), tuple(other for other in days if other >= day)


def _move_exceptions(
    book: CalendarBook, series: CalendarEventRecord, later_series: CalendarEventRecord, day: date
) -> None:
    """Moves detached dates from ``day`` on to the second part of a series that was split."""
    for key in sorted(book.children[series.event_id], key=book.events.position):
        child = book.events[key]
        if child.recurrence_id is not None and child.recurrence_id >= day:
            book.put_event(child.model_copy(update={"parent_event_id": later_series.event_id}))


def _merge_attendees(event: CalendarEventRecord, invited: tuple[InvitedAttendee, ...]) -> tuple[EventAttendee, ...]:
    before = {attendee.email: attendee.model_dump() for attendee in event.attendees}
    merged = (before.get(attendee.email, {}) | attendee.model_dump(exclude_none=True) for attendee in invited)
    return tuple(EventAttendee.model_validate(attendee) for attendee in merged)
