"""Automatic worlds run on while nobody asks them anything."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.simulator.core.hosted_world import WorldRegistry

TICK_SECONDS = 0.05
_IDLE_SECONDS = 0.25  # while no world is automatic


@asynccontextmanager
async def ticking(rooms: WorldRegistry) -> AsyncIterator[None]:
    """Let every automatic world's time flow from here to the end of the context."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_tick(rooms))
        try:
            yield
        finally:
            task.cancel()


async def _tick(rooms: WorldRegistry) -> None:
    while True:
        automatic = [room.world for room in rooms if room.world.clock.auto]
        for world in automatic:
            world.catch_up()
        await asyncio.sleep(TICK_SECONDS if automatic else _IDLE_SECONDS)
