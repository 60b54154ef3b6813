"""``POST /events/batch``: up to a thousand events in one request."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response, status
from pydantic import BaseModel, JsonValue

from services.simulator.core import batches, scheduling
from services.simulator.core.batches import CheckedItem, ScheduledItem
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import MeaninglessRequest, parse_model
from services.simulator.core.world import EventDraft
from services.simulator.entrypoints.events import NewEvent
from services.simulator.entrypoints.request_context import RequestContext, require_permission
from shared.contracts.base import NullableModel

router = APIRouter(prefix="/events", tags=["events"])
MOST_EVENTS = 1000


class Batch(NullableModel):
    events: list[dict[str, JsonValue]]
    stop_on_first_error: bool = False
    validate_only: bool = False


class BatchItem(BaseModel):
    """The result for one item. After a mere validation ``valid`` says what ``success`` says after scheduling."""

    index: int
    modality: str
    success: bool | None = None
    valid: bool | None = None
    event_id: str | None = None
    scheduled_time: datetime | None = None
    error: str | None = None


class BatchResponse(BaseModel):
    results: list[BatchItem]
    total: int
    successful: int
    failed: int
    validate_only: bool = False


@router.post("/batch", status_code=status.HTTP_201_CREATED, responses={200: {}, 207: {"model": BatchResponse}})
async def schedule(
    body: Batch, response: Response, context: Annotated[RequestContext, require_permission("events:batch")]
) -> BatchResponse:
    _check_size(body)
    judged = batches.check_items(body.events, lambda item: _draft_item(context, item))
    if body.validate_only:
        response.status_code = status.HTTP_200_OK
        return _build_response(body, [_validation_row(body, number, item) for number, item in enumerate(judged)])
    if body.stop_on_first_error:
        _check_all(body, judged)
    items = batches.schedule_items(context.world, judged)
    answer = _build_response(body, [_creation_row(body, number, item) for number, item in enumerate(items)])
    if answer.failed:
        response.status_code = status.HTTP_207_MULTI_STATUS
    return answer


def _draft_item(context: RequestContext, item: JsonObject) -> EventDraft:
    event = parse_model(NewEvent, item)
    return scheduling.draft_event(
        context.world, context.caller, event.modality, event.data, event.scheduled_time, event.priority, event.metadata
    )


def _check_size(body: Batch) -> None:
    if not body.events:
        raise MeaninglessRequest(_build_refusal("A batch holds at least one event", None, 0, 0))
    if len(body.events) > MOST_EVENTS:
        raise MeaninglessRequest(
            _build_refusal(f"A batch holds at most {MOST_EVENTS} events", None, 0, len(body.events))
        )


def _check_all(body: Batch, judged: list[CheckedItem]) -> None:
    for number, item in enumerate(judged):
        if item.error is not None:
            raise MeaninglessRequest(_build_refusal(f"Event {number}: {item.error}", number, number, len(body.events)))


def _build_refusal(message: str, failed: int | None, validated: int, total: int) -> JsonObject:
    return {"detail": message, "failed_index": failed, "events_validated": validated, "total_events": total}


def _validation_row(body: Batch, number: int, item: CheckedItem) -> BatchItem:
    return BatchItem(index=number, modality=_modality_of_item(body, number), valid=item.error is None, error=item.error)


def _creation_row(body: Batch, number: int, item: ScheduledItem) -> BatchItem:
    return BatchItem(
        index=number,
        modality=_modality_of_item(body, number),
        success=item.event is not None,
        event_id=item.event.event_id if item.event else None,
        scheduled_time=item.event.scheduled_time if item.event else None,
        error=item.error,
    )


def _modality_of_item(body: Batch, number: int) -> str:
    return str(body.events[number].get("modality", ""))


def _build_response(body: Batch, items: list[BatchItem]) -> BatchResponse:
    failed = sum(item.error is not None for item in items)
    return BatchResponse(
        results=items,
        total=len(items),
        successful=len(items) - failed,
        failed=failed,
        validate_only=body.validate_only,
    )
