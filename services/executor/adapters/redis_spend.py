"""What tenants spend by day, on Redis (``DailySpend``)."""

from redis.asyncio import Redis
from typing_extensions import override

from services.executor.ports.spend import Charge, DailySpend, DayCaps
from shared.infra import keys
from shared.infra.lua import Argument, Scripts

_ANY = -1  # no cap


class RedisSpend(DailySpend):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)

    @override
    async def reserve(self, tenant: str, day: str, charge: Charge, caps: DayCaps) -> bool:
        limits = [_ANY if cap is None else cap for cap in (caps.tokens, caps.nanos)]
        arguments: list[Argument] = [charge.name, charge.tokens, charge.nanos, *limits, keys.SPEND_SECONDS]
        return await self._scripts.run("reserve_spend", [keys.spend_key(tenant, day)], arguments) == 1

    @override
    async def settle(self, tenant: str, day: str, charge: Charge, *, reserved: bool) -> None:
        arguments: list[Argument] = [charge.name, charge.tokens, charge.nanos, int(reserved), keys.SPEND_SECONDS]
        await self._scripts.run("settle_spend", [keys.spend_key(tenant, day)], arguments)
