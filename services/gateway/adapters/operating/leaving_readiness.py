"""Readiness of a replica that may have been told to stop."""

from services.gateway.core.leaving import Leaving
from services.gateway.ports.tasks import Readiness


class LeavingReadiness(Readiness):
    def __init__(self, readiness: Readiness, leaving: Leaving) -> None:
        self._readiness, self._leaving = readiness, leaving

    async def problems(self) -> tuple[str, ...]:
        if self._leaving.announced:
            return ("draining: this replica was told to stop, and finishes what it has begun",)
        return await self._readiness.problems()
