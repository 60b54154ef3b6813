"""``/calendar``: the user's events and calendars."""

from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, JsonValue

from services.simulator.core.modalities import calendar_calendars as calendars
from services.simulator.core.modalities.calendar import CalendarModality
from services.simulator.core.modalities.calendar_changes import ChangeCalendarEvent, RemoveCalendarEvent
from services.simulator.core.modalities.calendar_events import AddCalendarEvent, RespondToEvent
from services.simulator.core.modalities.calendar_query import CalendarQuery
from services.simulator.core.modalities.fields import Given
from services.simulator.core.modality import Modality
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import MeaninglessRequest, Missing
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.modalities.names import require_own_address
from services.simulator.entrypoints.modalities.views import Compact, answer_query, carry_out, show_state
from services.simulator.entrypoints.request_context import RequestContext, require_permission

router = APIRouter(prefix="/calendar", tags=["calendar"])
_NAME = "calendar"


class CalendarList(BaseModel):
    calendars: list[dict[str, JsonValue]]
    count: int
    default_calendar_id: str


class CalendarChanged(BaseModel):
    status: Literal["success"] = "success"
    message: str
    calendar: dict[str, JsonValue]


class ReminderList(BaseModel):
    reminders: list[dict[str, JsonValue]]
    count: int


@router.get("/state")
async def state(
    place: Annotated[RequestContext, require_permission("calendar:state")], compact: Compact = False
) -> Response:
    return show_state(place, _NAME, compact=compact)


@router.post("/query")
async def query(
    place: Annotated[RequestContext, require_permission("calendar:query")], asked: CalendarQuery
) -> Response:
    return answer_query(place, _NAME, asked)


@router.post("/create")
async def create(
    place: Annotated[RequestContext, require_permission("calendar:create")], body: AddCalendarEvent
) -> ActionResponse:
    return carry_out(place, _NAME, "create", body)


@router.post("/update")
async def update(
    place: Annotated[RequestContext, require_permission("calendar:update")], body: ChangeCalendarEvent
) -> ActionResponse:
    return carry_out(place, _NAME, "update", body)


@router.post("/delete")
async def delete(
    place: Annotated[RequestContext, require_permission("calendar:delete")], body: RemoveCalendarEvent
) -> ActionResponse:
    return carry_out(place, _NAME, "delete", body)


@router.post("/respond")
async def respond(
    place: Annotated[RequestContext, require_permission("calendar:respond")], body: RespondToEvent
) -> ActionResponse:
    """As the user. Only who may let others write may let them answer."""
    require_own_address(place, body.attendee_email)
    return carry_out(place, _NAME, "respond", body)


@router.get("/reminders")
async def reminders(
    place: Annotated[RequestContext, require_permission("calendar:state")],
    since: Annotated[
        Given | None, Query(description="Reminders that came up later than this; else of one day.")
    ] = None,
) -> ReminderList:
    now = place.world.now
    found = _calendar_of_world(place).reminders(since or now - timedelta(days=1), now)
    return ReminderList(reminders=[*found], count=len(found))


@router.get("/calendars")
async def all_calendars(
    place: Annotated[RequestContext, require_permission("calendar:calendars:list")],
) -> CalendarList:
    book = _calendar_of_world(place)
    found = [book.calendar(key) for key in book.tables.calendars]
    default = book.tables.settings.default_calendar_id
    return CalendarList(calendars=[*found], count=len(found), default_calendar_id=default)


@router.post("/calendars/create")
async def create_calendar(
    place: Annotated[RequestContext, require_permission("calendar:calendars:create")], body: calendars.CreateCalendar
) -> CalendarChanged:
    if body.calendar_id in _calendar_of_world(place).tables.calendars:
        raise MeaninglessRequest(f"Calendar '{body.calendar_id}' already exists")
    done = carry_out(place, _NAME, "create_calendar", body)
    return CalendarChanged(message=done.message, calendar=_calendar(place, str(done.entity_id)))


@router.post("/calendars/update")
async def update_calendar(
    place: Annotated[RequestContext, require_permission("calendar:calendars:update")], body: calendars.UpdateCalendar
) -> CalendarChanged:
    _calendar(place, body.calendar_id)
    done = carry_out(place, _NAME, "update_calendar", body)
    return CalendarChanged(message=done.message, calendar=_calendar(place, body.calendar_id))


@router.post("/calendars/delete")
async def delete_calendar(
    place: Annotated[RequestContext, require_permission("calendar:calendars:delete")], body: calendars.DeleteCalendar
) -> CalendarChanged:
    gone = _calendar(place, body.calendar_id)
    if body.calendar_id == _calendar_of_world(place).tables.settings.default_calendar_id:
        raise MeaninglessRequest("The default calendar cannot be deleted")
    done = carry_out(place, _NAME, "delete_calendar", body)
    return CalendarChanged(message=done.message, calendar=gone)


@router.post("/calendars/set-default")
async def set_default(
    place: Annotated[RequestContext, require_permission("calendar:calendars:default")],
    body: calendars.SetDefaultCalendar,
) -> CalendarChanged:
    _calendar(place, body.calendar_id)
    done = carry_out(place, _NAME, "set_default_calendar", body)
    return CalendarChanged(message=done.message, calendar=_calendar(place, body.calendar_id))


def _calendar_of_world(place: RequestContext) -> CalendarModality:
    return _calendar_modality(place.world.modality(_NAME))


def _calendar_modality(modality: Modality) -> CalendarModality:
    if not isinstance(modality, CalendarModality):
        raise TypeError(f"{type(modality).__name__} keeps no calendars")
    return modality


def _calendar(place: RequestContext, calendar_id: str) -> JsonObject:
    book = _calendar_of_world(place)
    if calendar_id not in book.tables.calendars:
        raise Missing(f"Calendar '{calendar_id}' not found")
    return book.calendar(calendar_id)
