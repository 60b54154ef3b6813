"""``/simulator/time``: reading and moving simulated time."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter
from pydantic import AwareDatetime, BaseModel, Field

from services.simulator.core import time_control
from services.simulator.core.events import EventStatus, WorldEvent
from services.simulator.core.time_control import TimeMove
from services.simulator.core.world import SimulatorWorld
from services.simulator.entrypoints.request_context import RequestContext, require_permission

router = APIRouter(prefix="/simulator/time", tags=["time"])
Scale = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]


class TimeResponse(BaseModel):
    current_time: datetime
    time_scale: float
    is_paused: bool
    auto_advance: bool
    mode: str

    @classmethod
    def from_world(cls, world: SimulatorWorld) -> Self:
        clock = world.clock
        return cls(
            current_time=clock.current,
            time_scale=clock.scale,
            is_paused=clock.paused,
            auto_advance=clock.auto,
            mode=clock.mode,
        )


class Advance(BaseModel):
    seconds: float = Field(gt=0, allow_inf_nan=False)


class ExecutedEvent(BaseModel):
    event_id: str
    modality: str
    status: str
    error: str | None

    @classmethod
    def from_event(cls, event: WorldEvent) -> Self:
        return cls(event_id=event.event_id, modality=event.modality, status=event.status, error=event.error_message)


class AdvanceResponse(BaseModel):
    """The answer to an advance of time. ``events_executed`` counts every event that ran, failed ones too."""

    previous_time: datetime
    current_time: datetime
    time_advanced: str
    events_executed: int
    events_failed: int
    execution_details: list[ExecutedEvent]

    @classmethod
    def from_move(cls, moved: TimeMove) -> Self:
        return cls(
            previous_time=moved.previous,
            current_time=moved.current,
            time_advanced=str(moved.current - moved.previous),
            events_executed=len(moved.events),
            events_failed=sum(event.status is EventStatus.FAILED for event in moved.events),
            execution_details=[ExecutedEvent.from_event(event) for event in moved.events],
        )


class SetTime(BaseModel):
    target_time: AwareDatetime


class SetTimeResponse(BaseModel):
    current_time: datetime
    previous_time: datetime
    skipped_events: int
    executed_events: int
    rolled_back_events: int
    reset_skipped_events: int


class SkipResponse(BaseModel):
    previous_time: datetime
    current_time: datetime
    events_executed: int
    next_event_time: datetime | None


class PauseResponse(BaseModel):
    message: str
    current_time: datetime
    is_paused: bool


class SetScale(BaseModel):
    scale: Scale


@router.get("")
async def read(context: Annotated[RequestContext, require_permission("time:read")]) -> TimeResponse:
    return TimeResponse.from_world(context.world)


@router.post("/advance")
async def advance(
    body: Advance, context: Annotated[RequestContext, require_permission("time:advance")]
) -> AdvanceResponse:
    return AdvanceResponse.from_move(time_control.advance(context.world, body.seconds))


@router.post("/set")
async def set_time(
    body: SetTime, context: Annotated[RequestContext, require_permission("time:set")]
) -> SetTimeResponse:
    setting = time_control.set_time(context.world, body.target_time)
    return SetTimeResponse(
        current_time=setting.current,
        previous_time=setting.previous,
        skipped_events=setting.skipped,
        executed_events=0,
        rolled_back_events=setting.rolled_back,
        reset_skipped_events=setting.revived,
    )


@router.post("/skip-to-next")
async def skip_to_next(context: Annotated[RequestContext, require_permission("time:skip")]) -> SkipResponse:
    moved = time_control.skip_to_next(context.world)
    following = context.world.queue.next_pending()
    return SkipResponse(
        previous_time=moved.previous,
        current_time=moved.current,
        events_executed=len(moved.events),
        next_event_time=following.scheduled_time if following else None,
    )


@router.post("/pause")
async def pause(context: Annotated[RequestContext, require_permission("time:pause")]) -> PauseResponse:
    time_control.set_paused(context.world, True)
    return PauseResponse(message="Time paused", current_time=context.world.now, is_paused=True)


@router.post("/resume")
async def resume(context: Annotated[RequestContext, require_permission("time:resume")]) -> PauseResponse:
    time_control.set_paused(context.world, False)
    return PauseResponse(message="Time resumed", current_time=context.world.now, is_paused=False)


@router.post("/set-scale")
async def set_scale(
    body: SetScale, context: Annotated[RequestContext, require_permission("time:scale")]
) -> TimeResponse:
    time_control.set_scale(context.world, body.scale)
    return TimeResponse.from_world(context.world)
