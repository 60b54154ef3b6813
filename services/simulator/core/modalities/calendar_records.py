"""What the user's calendars are made of."""

from datetime import date
from typing import Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, JsonValue

from services.simulator.core.modalities.fields import Address, StoredTime
from services.simulator.core.modalities.recurrence import Recurrence
from services.simulator.core.records import StoredRow

PRIMARY = "primary"
BLUE = "#4285f4"


def _parse_response(word: JsonValue) -> JsonValue:
    return "needs-action" if word in ("needsAction", "needs_action") else word


def _parse_day(text: JsonValue) -> JsonValue:
    return text[:10] if isinstance(text, str) else text


def _check_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # a folder of zones is no zone either
        raise ValueError(f"{name!r} is not a time zone") from None
    return name


Response: TypeAlias = Annotated[
    Literal["accepted", "declined", "tentative", "needs-action"], BeforeValidator(_parse_response)
]
OccurrenceDay: TypeAlias = Annotated[date, BeforeValidator(_parse_day)]
Zone: TypeAlias = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_check_zone)]
Status: TypeAlias = Literal["confirmed", "tentative", "cancelled"]
Visibility: TypeAlias = Literal["public", "private", "default"]
Transparency: TypeAlias = Literal["opaque", "transparent"]
Email: TypeAlias = Annotated[Address, AfterValidator(str.lower)]
RESPONSE_NAMES = AliasChoices("response", "response_status")


class EventAttendee(StoredRow):
    email: Email
    display_name: str | None = None
    optional: bool = False
    response: Response = Field("needs-action", validation_alias=RESPONSE_NAMES)
    comment: str | None = None


class Reminder(StoredRow):
    minutes_before: int = Field(ge=0, le=60 * 24 * 366)
    type: Literal["notification", "email", "both"] = "notification"


class CalendarAttachment(StoredRow):
    filename: str = Field(min_length=1)
    size: int = Field(ge=0)
    mime_type: str = "application/octet-stream"
    url: str | None = None
    data: str | None = None
    attachment_id: str | None = None


class CalendarEventRecord(StoredRow):
    """An event, a series of events (``recurrence``), or one of a series that goes its own way (``parent_event_id``)."""

    event_id: str
    calendar_id: str = PRIMARY
    title: str
    start: StoredTime
    end: StoredTime
    all_day: bool = False
    timezone: Zone = "UTC"
    description: str | None = None
    location: str | None = None
    status: Status = "confirmed"
    organizer: str | None = None
    attendees: tuple[EventAttendee, ...] = ()
    recurrence: Recurrence | None = None
    recurrence_exceptions: tuple[OccurrenceDay, ...] = ()
    recurrence_id: OccurrenceDay | None = None
    parent_event_id: str | None = None
    reminders: tuple[Reminder, ...] = ()
    color: str | None = None
    visibility: Visibility = "default"
    transparency: Transparency = "opaque"
    attachments: tuple[CalendarAttachment, ...] = ()
    conference_link: str | None = None
    created_at: StoredTime
    updated_at: StoredTime
    deleted_at: StoredTime | None = None

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)


class CalendarRecord(StoredRow):
    calendar_id: str
    name: str
    color: str = BLUE
    visible: bool = True
    created_at: StoredTime
    updated_at: StoredTime
    default_reminders: tuple[Reminder, ...] = ()


class CalendarSettings(StoredRow):
    default_calendar_id: str = PRIMARY
    user_timezone: Zone = "UTC"
