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
from services.simulator.core.modalities.fields import AwareTime
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
    context: Annotated[RequestContext, require_permission("calendar:state")], compact: Compact = False
) -> Response:
    return show_state(context, _NAME, compact=compact)


@router.post("/query")
async def query(
    context: Annotated[RequestContext, require_permission("calendar:query")], body: CalendarQuery
) -> Response:
    return answer_query(context, _NAME, body)


@router.post("/create")
async def create(
    context: Annotated[RequestContext, require_permission("calendar:create")], body: AddCalendarEvent
) -> ActionResponse:
    return carry_out(context, _NAME, "create", body)


@router.post("/update")
async def update(
    context: Annotated[RequestContext, require_permission("calendar:update")], body: ChangeCalendarEvent
) -> ActionResponse:
    return carry_out(context, _NAME, "update", body)


@router.post("/delete")
async def delete(
    context: Annotated[RequestContext, require_permission("calendar:delete")], body: RemoveCalendarEvent
) -> ActionResponse:
    return carry_out(context, _NAME, "delete", body)


@router.post("/respond")
async def respond(
    context: Annotated[RequestContext, require_permission("calendar:respond")], body: RespondToEvent
) -> ActionResponse:
    """Answers an invitation as the user. Another attendee's answer needs the permission ``email:receive``."""
    require_own_address(context, body.attendee_email)
    return carry_out(context, _NAME, "respond", body)


@router.get("/reminders")
async def reminders(
    context: Annotated[RequestContext, require_permission("calendar:state")],
    since: Annotated[
        AwareTime | None, Query(description="Reminders that came up later than this; else of one day.")
    ] = None,
) -> ReminderList:
    now = context.world.now
    due = _calendar_of_world(context).reminders(since or now - timedelta(days=1), now)
    return ReminderList(reminders=[*due], count=len(due))


@router.get("/calendars")
async def all_calendars(
    context: Annotated[RequestContext, require_permission("calendar:calendars:list")],
) -> CalendarList:
    book = _calendar_of_world(context)
    calendars = [book.calendar(key) for key in book.tables.calendars]
    default = book.tables.settings.default_calendar_id
    return CalendarList(calendars=[*calendars], count=len(calendars), default_calendar_id=default)


@router.post("/calendars/create")
async def create_calendar(
    context: Annotated[RequestContext, require_permission("calendar:calendars:create")], body: calendars.CreateCalendar
) -> CalendarChanged:
    if body.calendar_id in _calendar_of_world(context).tables.calendars:
        raise MeaninglessRequest(f"Calendar '{body.calendar_id}' already exists")
    response = carry_out(context, _NAME, "create_calendar", body)
    return CalendarChanged(message=response.message, calendar=_require_calendar(context, str(response.entity_id)))


@router.post("/calendars/update")
async def update_calendar(
    context: Annotated[RequestContext, require_permission("calendar:calendars:update")], body: calendars.UpdateCalendar
) -> CalendarChanged:
    _require_calendar(context, body.calendar_id)
    response = carry_out(context, _NAME, "update_calendar", body)
    return CalendarChanged(message=response.message, calendar=_require_calendar(context, body.calendar_id))


@router.post("/calendars/delete")
async def delete_calendar(
    context: Annotated[RequestContext, require_permission("calendar:calendars:delete")], body: calendars.DeleteCalendar
) -> CalendarChanged:
    calendar = _require_calendar(context, body.calendar_id)
    if body.calendar_id == _calendar_of_world(context).tables.settings.default_calendar_id:
        raise MeaninglessRequest("The default calendar cannot be deleted")
    response = carry_out(context, _NAME, "delete_calendar", body)
    return CalendarChanged(message=response.message, calendar=calendar)


@router.post("/calendars/set-default")
async def set_default(
    context: Annotated[RequestContext, require_permission("calendar:calendars:default")],
    body: calendars.SetDefaultCalendar,
) -> CalendarChanged:
    _require_calendar(context, body.calendar_id)
    response = carry_out(context, _NAME, "set_default_calendar", body)
    return CalendarChanged(message=response.message, calendar=_require_calendar(context, body.calendar_id))


def _calendar_of_world(context: RequestContext) -> CalendarModality:
    modality = context.world.modality(_NAME)
    if not isinstance(modality, CalendarModality):
        raise TypeError(f"{type(modality).__name__} keeps no calendars")
    return modality


def _require_calendar(context: RequestContext, calendar_id: str) -> JsonObject:
    book = _calendar_of_world(context)
    if calendar_id not in book.tables.calendars:
        raise Missing(f"Calendar '{calendar_id}' not found")
    return book.calendar(calendar_id)
