"""``/simulation``: start, stop, reset, clear, undo and redo."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter
from pydantic import AwareDatetime, BaseModel, Field, TypeAdapter, ValidationError

from services.simulator.core import lifecycle, taking_back
from services.simulator.core.events import EventStatus
from services.simulator.core.refusals import MeaninglessRequest, bad_input
from services.simulator.core.undo import UndoEntry
from services.simulator.core.world import SimulatorWorld
from services.simulator.entrypoints.request_context import RequestContext, require_permission
from services.simulator.entrypoints.time import Scale
from shared.contracts.base import NullableModel

router = APIRouter(prefix="/simulation", tags=["simulation"])
_moment = TypeAdapter(datetime)
_aware = TypeAdapter(AwareDatetime)


class Start(NullableModel):
    auto_advance: bool = False
    time_scale: Scale = 1.0


class StartResponse(BaseModel):
    simulation_id: str
    status: str = "running"
    current_time: str
    auto_advance: bool
    time_scale: float | None


class StopResponse(BaseModel):
    """The answer to a stop: time and number of events at the end, or ``null`` if no simulation ran."""

    simulation_id: str
    status: str = "stopped"
    final_time: str | None = None
    total_events: int | None = None
    events_executed: int | None = None
    events_failed: int | None = None


class StatusResponse(BaseModel):
    is_running: bool
    current_time: str
    is_paused: bool
    auto_advance: bool
    time_scale: float
    pending_events: int
    executed_events: int
    failed_events: int
    next_event_time: str | None

    @classmethod
    def from_world(cls, world: SimulatorWorld) -> Self:
        following, counts = world.queue.next_pending(), world.queue.by_status
        return cls(
            is_running=world.running,
            current_time=world.now.isoformat(),
            is_paused=world.clock.paused,
            auto_advance=world.clock.auto,
            time_scale=world.clock.scale,
            pending_events=counts[EventStatus.PENDING],
            executed_events=counts[EventStatus.EXECUTED],
            failed_events=counts[EventStatus.FAILED],
            next_event_time=following.scheduled_time.isoformat() if following else None,
        )


class ResetDone(BaseModel):
    status: str = "reset"
    message: str
    cleared_events: int
    events_undone: int
    undo_errors: list[str] = []


class Clear(NullableModel):
    reset_time_to: str | None = None


class Cleared(BaseModel):
    status: str = "cleared"
    events_removed: int
    modalities_cleared: int
    time_reset: str | None
    current_time: str


class StepCount(NullableModel):
    count: int = Field(default=1, ge=1, le=100)


class HistoryStep(BaseModel):
    event_id: str
    modality: str
    action: str

    @classmethod
    def from_entry(cls, entry: UndoEntry) -> Self:
        return cls(event_id=entry.event_id, modality=entry.modality, action=entry.action)


class _Possible(BaseModel):
    can_undo: bool
    can_redo: bool
    message: str


class Undone(_Possible):
    undone_count: int
    undone_events: list[HistoryStep]


class Redone(_Possible):
    redone_count: int
    redone_events: list[HistoryStep]


@router.post("/start")
async def start(
    body: Start, context: Annotated[RequestContext, require_permission("simulation:start")]
) -> StartResponse:
    simulation_id = lifecycle.start(context.world, body.auto_advance, body.time_scale)
    return StartResponse(
        simulation_id=simulation_id,
        current_time=context.world.now.isoformat(),
        auto_advance=body.auto_advance,
        time_scale=body.time_scale if body.auto_advance else None,
    )


@router.post("/stop")
async def stop(context: Annotated[RequestContext, require_permission("simulation:stop")]) -> StopResponse:
    stopped, queue = lifecycle.stop(context.world), context.world.queue
    if not stopped.was_running:
        return StopResponse(simulation_id=stopped.simulation_id)
    return StopResponse(
        simulation_id=stopped.simulation_id,
        final_time=stopped.final_time.isoformat(),
        total_events=len(queue),
        events_executed=queue.by_status[EventStatus.EXECUTED],
        events_failed=queue.by_status[EventStatus.FAILED],
    )


@router.get("/status")
async def status(context: Annotated[RequestContext, require_permission("simulation:status")]) -> StatusResponse:
    return StatusResponse.from_world(context.world)


@router.post("/reset")
async def reset(context: Annotated[RequestContext, require_permission("simulation:reset")]) -> ResetDone:
    summary = lifecycle.reset(context.world)
    message = f"{summary.undone} actions taken back, {summary.waiting} events wait again"
    return ResetDone(message=message, cleared_events=summary.waiting, events_undone=summary.undone)


@router.post("/clear")
async def clear(
    context: Annotated[RequestContext, require_permission("simulation:clear")], body: Clear | None = None
) -> Cleared:
    time = _parse_reset_time(body.reset_time_to) if body and body.reset_time_to is not None else None
    removed = lifecycle.clear(context.world, time)
    return Cleared(
        events_removed=removed,
        modalities_cleared=len(context.world.modalities),
        time_reset=time.isoformat() if time else None,
        current_time=context.world.now.isoformat(),
    )


@router.post("/undo")
async def undo(
    context: Annotated[RequestContext, require_permission("simulation:undo")], body: StepCount | None = None
) -> Undone:
    steps = [HistoryStep.from_entry(entry) for entry in taking_back.undo(context.world, (body or StepCount()).count)]
    done_count, undone = context.world.history.counts()
    return Undone(
        undone_count=len(steps),
        undone_events=steps,
        can_undo=done_count > 0,
        can_redo=undone > 0,
        message=f"{len(steps)} actions undone" if steps else "Nothing to undo",
    )


@router.post("/redo")
async def redo(
    context: Annotated[RequestContext, require_permission("simulation:redo")], body: StepCount | None = None
) -> Redone:
    steps = [HistoryStep.from_entry(entry) for entry in taking_back.redo(context.world, (body or StepCount()).count)]
    done_count, undone = context.world.history.counts()
    return Redone(
        redone_count=len(steps),
        redone_events=steps,
        can_undo=done_count > 0,
        can_redo=undone > 0,
        message=f"{len(steps)} actions redone" if steps else "Nothing to redo",
    )


def _parse_reset_time(text: str) -> datetime:
    """400 for no time at all, 422 for one without a zone."""
    try:
        _moment.validate_python(text)
    except ValidationError:
        raise MeaninglessRequest(f"reset_time_to is no time: {text!r}") from None
    try:
        return _aware.validate_python(text)
    except ValidationError as error:
        raise bad_input(error, "body", "reset_time_to") from None
