"""Whether this replica can accept tasks: state Redis answers and forgets nothing, the queue answers."""

import asyncio

from redis.asyncio import Redis
from redis.exceptions import RedisError

from services.gateway.ports import Readiness
from shared.infra.redis import VolatileRedis, check_durable
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
            async with asyncio.timeout(_SECONDS):
                await self._state.ping()
                await check_durable(self._state, allow_volatile=self._allow_volatile)
        except VolatileRedis as error:
            return str(error)
        except (StoreUnavailable, RedisError, OSError, TimeoutError) as error:
            return f"The state store (Redis, REDIS_URL) does not answer: {type(error).__name__}."
        return None

    async def _queue_problem(self) -> str | None:
        try:
            async with asyncio.timeout(_SECONDS):
                await self._queue.ping()
        except (RedisError, OSError, TimeoutError) as error:
            return f"The queue (Redis, QUEUE_REDIS_URL) does not answer: {type(error).__name__}."
        return None
