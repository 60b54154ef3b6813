"""Wakes that may fail: an accepted task is never lost for want of one, so the client is not bothered."""

import asyncio

import structlog

from services.gateway.ports.tasks import StoreUnavailable, Wakes

log = structlog.get_logger()
_SECONDS = 1.0


class BestEffortWakes(Wakes):
    def __init__(self, wakes: Wakes) -> None:
        self._wakes = wakes

    async def wake(self, tenant: str, session_id: str) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                await self._wakes.wake(tenant, session_id)
        except (StoreUnavailable, TimeoutError) as error:  # the executors' reaper mends a lost wake
            log.warning("wake_lost", session_id=session_id, error=f"{type(error).__name__}: {error}")
