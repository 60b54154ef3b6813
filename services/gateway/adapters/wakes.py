"""Wakes that may fail: an accepted task is never lost for want of one, so the client is not bothered."""

import structlog

from services.gateway.ports import StoreUnavailable, Wakes

log = structlog.get_logger()


class BestEffortWakes(Wakes):
    def __init__(self, wakes: Wakes) -> None:
        self._wakes = wakes

    async def wake(self, tenant: str, session_id: str) -> None:
        try:
            await self._wakes.wake(tenant, session_id)
        except StoreUnavailable as error:
            log.warning("wake_lost", session_id=session_id, error=str(error))  # the executors' reaper mends it
