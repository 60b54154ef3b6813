"""Automatic worlds run on while nobody asks them anything."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.simulator.core.hosted_world import WorldRegistry

TICK_SECONDS = 0.05
_IDLE_SECONDS = 0.25  # while no world is automatic


@asynccontextmanager
async def run_automatic_time(registry: WorldRegistry) -> AsyncIterator[None]:
    """Let every automatic world's time flow from here to the end of the context."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_tick(registry))
        try:
            yield
        finally:
            task.cancel()


async def _tick(registry: WorldRegistry) -> None:
    while True:
        automatic = [hosted.world for hosted in registry if hosted.world.clock.auto]
        for world in automatic:
            world.catch_up()
        await asyncio.sleep(TICK_SECONDS if automatic else _IDLE_SECONDS)
