"""Whether a replica should get requests: its Redis servers answer durably, and it does not leave."""

import asyncio

from redis.asyncio import Redis

from services.gateway.edge.leaving import Leaving
from services.gateway.features.tasks.model import Readiness
from shared.infra.lua import answering
from shared.infra.redis import VolatileRedis, check_durable, check_writable
from shared.ports.store import StoreUnavailable

_SECONDS = 3.0


class RedisReadiness(Readiness):
    def __init__(self, state: Redis, queue: Redis, *, allow_volatile: bool) -> None:
        self._state, self._queue, self._allow_volatile = state, queue, allow_volatile

    async def problems(self) -> tuple[str, ...]:
        found = await asyncio.gather(self._state_problem(), self._queue_problem())
        return tuple(problem for problem in found if problem)

    async def _state_problem(self) -> str | None:
        try:
            async with answering(_SECONDS):
                await check_writable(self._state)
                await check_durable(self._state, allow_volatile=self._allow_volatile)
        except VolatileRedis as error:
            return str(error)
        except StoreUnavailable as error:
            return f"The state store (REDIS_URL) cannot be used: {error}"
        return None

    async def _queue_problem(self) -> str | None:
        try:
            async with answering(_SECONDS):
                await self._queue.ping()
        except StoreUnavailable as error:
            return f"The queue (QUEUE_REDIS_URL) cannot be used: {error}"
        return None


class LeavingReadiness(Readiness):
    def __init__(self, readiness: Readiness, leaving: Leaving) -> None:
        self._readiness, self._leaving = readiness, leaving

    async def problems(self) -> tuple[str, ...]:
        if self._leaving.announced:
            return ("draining: this replica was told to stop, and finishes what it has begun",)
        return await self._readiness.problems()
