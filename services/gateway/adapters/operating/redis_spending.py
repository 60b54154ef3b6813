"""What a tenant's days have cost, from state Redis in one round trip."""

from collections.abc import Sequence
from typing import cast

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.ports.spending import Spending
from services.gateway.ports.tenants import DaySpent
from shared.infra import keys
from shared.infra.lua import answering

_SECONDS = 2.0
_FIELDS = ("tokens", "nanos", "calls", "reserved_tokens", "reserved_nanos")


class RedisSpending(Spending):
    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    @override
    async def spent(self, tenant: str, dates: Sequence[str]) -> Sequence[DaySpent]:
        async with answering(_SECONDS), self._redis.pipeline(transaction=False) as pipe:
            for day in dates:
                pipe.hmget(keys.spend_key(tenant, day), list(_FIELDS))
            rows = cast("list[list[str | None]]", await pipe.execute())
        return [DaySpent(day, *(int(number or 0) for number in row)) for day, row in zip(dates, rows, strict=True)]
