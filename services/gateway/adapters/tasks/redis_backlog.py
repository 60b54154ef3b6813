"""How much work waits, on state Redis (``Backlog``)."""

import time

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.adapters.tasks.shedding_tasks import Backlog
from shared.infra import keys
from shared.infra.lua import answering

_SECONDS = 1.0
_AHEAD_MS = 5000  # clocks differ; who was put off is so for longer


class RedisBacklog(Backlog):
    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    @override
    async def waiting(self) -> int:
        """Without those that were put off: they wait for a seat of their own tenant, and not for an executor."""
        now = int(time.time() * 1000)
        async with answering(_SECONDS), self._redis.pipeline(transaction=False) as pipe:
            for partition in keys.all_partitions():
                pipe.zcount(partition.waiting, "-inf", now + _AHEAD_MS)
            return sum(map(int, await pipe.execute()))
