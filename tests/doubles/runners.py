"""Runners for tests: any tenant may take every free slot, and the leases are kept in the event loop of the test."""

import asyncio
from typing import NoReturn

from typing_extensions import override

from services.executor.core.session.journal import RepairedFaultCounter
from services.executor.core.turn.heartbeat import LeaseKeeper, RunHeartbeat
from services.executor.core.turn.runner import FairShareSlots, Runner
from services.executor.core.turn.session_run import RunnerLimits, SessionRunDependencies
from services.executor.ports.turns import FreeSlotsByTenant, Sessions, SessionWakes, TurnRunner
from shared.ports.meter import Meter, NoMeter


def a_runner(
    sessions: Sessions,
    wakes: SessionWakes,
    worker: TurnRunner,
    limits: RunnerLimits,
    mended: RepairedFaultCounter | None = None,
    slots: FairShareSlots | None = None,
    heartbeat: RunHeartbeat | None = None,
    meter: Meter = NoMeter(),  # noqa: B008  # it has no state
) -> Runner:
    async def keep_leases_here(keeper: LeaseKeeper) -> NoReturn:
        async with asyncio.TaskGroup() as group:
            group.create_task(keeper.keep_recording_liveness())
            await keeper.keep_extending(sessions)

    slots, heartbeat = slots or UncappedSlots(), heartbeat or keep_leases_here
    mended = mended or RepairedFaultCounter()
    return Runner(SessionRunDependencies(sessions, wakes, worker, limits, mended, meter), slots, heartbeat)


class UncappedSlots(FairShareSlots):
    """Slots without shares: any tenant may take every free slot."""

    def __init__(self) -> None:
        """It asks no store."""

    @override
    def count_free_slots(self, free: int) -> FreeSlotsByTenant:
        return FreeSlotsByTenant(free, free, {})

    @override
    async def acquire(self, tenant: str, session_id: str) -> bool:
        return True

    @override
    async def release(self, tenant: str, session_id: str, *, has_run: bool = True) -> None:
        return

    @override
    async def keep_extending(self) -> None:
        await asyncio.Event().wait()
