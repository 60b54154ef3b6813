"""What is remembered of clients' own task ids, in state Redis."""

from collections.abc import Awaitable
from typing import cast

from redis.asyncio import Redis

from services.gateway.ports.tasks import Thread, Threads
from shared.infra.keys import THREAD_SECONDS, thread_key
from shared.infra.lua import answering

_TASK = "task"
MOST = 4096  # notes under one id: a client that uses one id for ever must not fill the store


class RedisThreads(Threads):
    """Every method may raise ``StoreUnavailable``."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def of(self, tenant: str, client_id: str, fingerprint: str) -> Thread:
        names = [_TASK, f"signalled:{fingerprint}", f"answered:{fingerprint}"]
        async with answering():
            asked = self._redis.hmget(thread_key(tenant, client_id), names)
            task_id, signalled, answered = await cast(Awaitable[list[str | None]], asked)
        return Thread(task_id, signalled or "", answered or "")

    async def points_to(self, tenant: str, client_id: str, task_id: str) -> None:
        await self._set(tenant, client_id, _TASK, task_id)

    async def signalled(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None:
        await self._set(tenant, client_id, f"signalled:{fingerprint}", turn_id)

    async def answered(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None:
        await self._set(tenant, client_id, f"answered:{fingerprint}", turn_id)

    async def _set(self, tenant: str, client_id: str, field: str, value: str) -> None:
        key = thread_key(tenant, client_id)
        async with answering(), self._redis.pipeline(transaction=True) as pipe:
            pipe.hset(key, field, value)
            pipe.expire(key, THREAD_SECONDS)
            pipe.hlen(key)
            *_, noted = cast("list[int]", await pipe.execute())
        if noted > MOST:
            await self._forget_some(key, field)

    async def _forget_some(self, key: str, newest: str) -> None:
        """Whichever it hits: one of them matters only to who sends the very same words again."""
        async with answering():
            found = await cast(Awaitable[list[str]], self._redis.hrandfield(key, MOST // 4))
            if some := [name for name in found if name not in (_TASK, newest)]:
                await cast(Awaitable[int], self._redis.hdel(key, *some))
