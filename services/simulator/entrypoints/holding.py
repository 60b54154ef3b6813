"""``/simulation/hold``, ``/release`` and ``/holds``: a busy client keeps simulated time from moving."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter
from pydantic import BaseModel, Field

from services.simulator.core.holds import LONGEST_HOLD_SECONDS, SimulationHold
from services.simulator.entrypoints.request_context import RequestContext, require_permission
from shared.contracts.base import NullableModel

router = APIRouter(prefix="/simulation", tags=["simulation"])


class HoldAsked(NullableModel):
    reason: str | None = Field(default=None, max_length=1000)
    timeout_seconds: float = Field(default=300, ge=1, le=LONGEST_HOLD_SECONDS, allow_inf_nan=False)
    agent_id: str | None = Field(default=None, max_length=200)


class HoldAcquired(BaseModel):
    hold_id: str
    reason: str | None
    timeout_seconds: float
    acquired_at: datetime
    expires_at: datetime
    active_hold_count: int


class HoldInfo(BaseModel):
    hold_id: str
    reason: str | None
    agent_id: str | None
    timeout_seconds: float
    acquired_at: datetime
    expires_at: datetime

    @classmethod
    def from_hold(cls, hold: SimulationHold) -> Self:
        return cls(
            hold_id=hold.hold_id,
            reason=hold.reason,
            agent_id=hold.agent_id,
            timeout_seconds=hold.timeout_seconds,
            acquired_at=hold.acquired_at,
            expires_at=hold.expires_at,
        )


class HoldList(BaseModel):
    holds: list[HoldInfo]
    active_count: int


class Released(BaseModel):
    released: bool
    hold_id: str
    active_hold_count: int


@router.post("/hold")
async def acquire(
    context: Annotated[RequestContext, require_permission("simulation:hold")], body: HoldAsked | None = None
) -> HoldAcquired:
    request, surroundings = body or HoldAsked(), context.world.surroundings
    hold = SimulationHold(
        hold_id=surroundings.new_id(),
        reason=request.reason,
        agent_id=request.agent_id or context.caller.key_id,
        timeout_seconds=request.timeout_seconds,
        acquired_at=surroundings.now(),
    )
    context.world.holds.acquire(hold)
    return HoldAcquired(
        hold_id=hold.hold_id,
        reason=hold.reason,
        timeout_seconds=hold.timeout_seconds,
        acquired_at=hold.acquired_at,
        expires_at=hold.expires_at,
        active_hold_count=len(context.world.holds.drop_expired_and_list(hold.acquired_at)),
    )


@router.post("/release/{hold_id}")
async def release(
    hold_id: str, context: Annotated[RequestContext, require_permission("simulation:release")]
) -> Released:
    wall = context.world.surroundings.now()
    context.world.holds.release(hold_id, wall)
    return Released(
        released=True, hold_id=hold_id, active_hold_count=len(context.world.holds.drop_expired_and_list(wall))
    )


@router.get("/holds")
async def holds(context: Annotated[RequestContext, require_permission("simulation:holds")]) -> HoldList:
    active = context.world.holds.drop_expired_and_list(context.world.surroundings.now())
    return HoldList(holds=[HoldInfo.from_hold(hold) for hold in active], active_count=len(active))
