"""What is remembered of clients' own task ids, in state Redis."""

from collections.abc import Awaitable
from typing import cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from services.gateway.ports import Thread, Threads
from shared.infra.keys import THREAD_SECONDS, thread_key
from shared.infra.lua import unavailable

_TASK = "task"


class RedisThreads(Threads):
    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def of(self, tenant: str, client_id: str, fingerprint: str) -> Thread:
        names = [_TASK, f"signalled:{fingerprint}", f"answered:{fingerprint}"]
        try:
            stored = await cast(Awaitable[list[str | None]], self._redis.hmget(thread_key(tenant, client_id), names))
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        task_id, signalled, answered = stored
        return Thread(task_id, signalled or "", answered or "")

    async def points_to(self, tenant: str, client_id: str, task_id: str) -> None:
        await self._set(tenant, client_id, _TASK, task_id)

    async def signalled(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None:
        await self._set(tenant, client_id, f"signalled:{fingerprint}", turn_id)

    async def answered(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None:
        await self._set(tenant, client_id, f"answered:{fingerprint}", turn_id)

    async def _set(self, tenant: str, client_id: str, field: str, value: str) -> None:
        key = thread_key(tenant, client_id)
        try:
            async with self._redis.pipeline(transaction=True) as pipe:
                pipe.hset(key, field, value)
                pipe.expire(key, THREAD_SECONDS)
                await pipe.execute()
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
