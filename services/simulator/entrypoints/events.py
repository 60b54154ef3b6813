"""``/events``: the queue of what will happen, and the record of what did."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, Field, JsonValue

from services.simulator.core import scheduling
from services.simulator.core.events import EventStatus, WorldEvent, WorldEventQueue
from services.simulator.core.refusals import MeaninglessRequest, Missing
from services.simulator.core.written_events import action_with_envelope
from services.simulator.entrypoints.request_context import RequestContext, require_permission
from shared.contracts.base import NullableModel

router = APIRouter(prefix="/events", tags=["events"])


class NewEvent(NullableModel):
    """An event to schedule. ``agent_id`` is accepted and ignored: an event belongs to the key that made it."""

    scheduled_time: AwareDatetime
    modality: str
    data: dict[str, JsonValue]
    priority: int = Field(default=50, ge=0, le=100)
    metadata: dict[str, JsonValue] | None = None
    agent_id: str | None = None


class NewImmediateEvent(NullableModel):
    modality: str
    data: dict[str, JsonValue]


class EventResponse(BaseModel):
    event_id: str
    scheduled_time: datetime
    modality: str
    status: str
    priority: int
    created_at: datetime
    data: dict[str, JsonValue] | None = None
    executed_at: datetime | None = None
    error_message: str | None = None
    agent_id: str | None = None
    metadata: dict[str, JsonValue] = {}

    @classmethod
    def from_event(cls, event: WorldEvent, with_data: bool) -> Self:
        return cls(
            event_id=event.event_id,
            scheduled_time=event.scheduled_time,
            modality=event.modality,
            status=event.status,
            priority=event.priority,
            created_at=event.created_at,
            data=action_with_envelope(event) if with_data else None,
            executed_at=event.executed_at,
            error_message=event.error_message,
            agent_id=event.agent_id,
            metadata=event.metadata,
        )


class EventListResponse(BaseModel):
    """A page of events. ``total`` counts those that pass the filter, the other numbers the whole queue."""

    events: list[EventResponse]
    total: int
    pending: int
    executed: int
    failed: int
    skipped: int


class Summary(BaseModel):
    total: int
    pending: int
    executed: int
    failed: int
    skipped: int
    by_modality: dict[str, int]
    next_event_time: datetime | None


class Cancelled(BaseModel):
    cancelled: bool
    event_id: str


@router.get("")
async def show_all(
    context: Annotated[RequestContext, require_permission("events:list")],
    status: str | None = None,
    start_time: AwareDatetime | None = None,
    end_time: AwareDatetime | None = None,
    modality: str | None = None,
    limit: Annotated[int, Query(ge=0, description="0: all of them")] = 0,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> EventListResponse:
    wanted_status, queue = _parse_status(status), context.world.queue
    passing_events = [
        event
        for event in queue.find_between(start_time, end_time)
        if wanted_status in (None, event.status) and modality in (None, event.modality)
    ]
    page = passing_events[offset : offset + limit if limit else None]
    events = [EventResponse.from_event(event, with_data=True) for event in page]
    return EventListResponse(events=events, total=len(passing_events), **_count_by_status(queue))


@router.post("")
async def schedule(
    body: NewEvent, context: Annotated[RequestContext, require_permission("events:create")]
) -> EventResponse:
    draft = scheduling.draft_event(
        context.world,
        context.caller,
        body.modality,
        body.data,
        body.scheduled_time,
        body.priority,
        body.metadata,
    )
    return EventResponse.from_event(context.world.schedule(draft), with_data=False)


@router.post("/immediate")
async def schedule_now(
    body: NewImmediateEvent, context: Annotated[RequestContext, require_permission("events:execute")]
) -> EventResponse:
    draft = scheduling.draft_event(context.world, context.caller, body.modality, body.data)
    return EventResponse.from_event(context.world.schedule(draft), with_data=False)


@router.get("/next")
async def show_next(context: Annotated[RequestContext, require_permission("events:read")]) -> EventResponse:
    event = context.world.queue.next_pending()
    if event is None:
        raise Missing("No pending events")
    return EventResponse.from_event(event, with_data=False)


@router.get("/summary")
async def summary(context: Annotated[RequestContext, require_permission("events:summary")]) -> Summary:
    queue = context.world.queue
    following = queue.next_pending()
    return Summary(
        total=len(queue),
        by_modality={name: count for name, count in queue.by_modality.items() if count},
        next_event_time=following.scheduled_time if following else None,
        **_count_by_status(queue),
    )


@router.get("/{event_id}")
async def show(event_id: str, context: Annotated[RequestContext, require_permission("events:read")]) -> EventResponse:
    return EventResponse.from_event(scheduling.require_event(context.world, event_id), with_data=True)


@router.delete("/{event_id}")
async def cancel(event_id: str, context: Annotated[RequestContext, require_permission("events:delete")]) -> Cancelled:
    return Cancelled(cancelled=True, event_id=scheduling.cancel(context.world, event_id).event_id)


def _parse_status(text: str | None) -> EventStatus | None:
    if text is None:
        return None
    try:
        return EventStatus(text)
    except ValueError:
        raise MeaninglessRequest(f"Invalid status '{text}': it is one of {', '.join(EventStatus)}") from None


def _count_by_status(queue: WorldEventQueue) -> dict[str, int]:
    counted = (EventStatus.PENDING, EventStatus.EXECUTED, EventStatus.FAILED, EventStatus.SKIPPED)
    return {status.value: queue.by_status[status] for status in counted}
