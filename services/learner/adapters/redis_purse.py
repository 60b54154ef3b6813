"""What finding facts costs, in the tenant's day on Redis: the same day and caps as those of its tasks."""

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import structlog
from redis.asyncio import Redis
from typing_extensions import override

from services.learner.ports.memory import Cost, FactTodo, Purse
from shared.contracts.tenant import TenantRecord
from shared.domain.model_price import NANO
from shared.infra import keys
from shared.infra.lua import Scripts
from shared.ports.tenant_records import TenantRecords

_ANY = -1  # no cap

log = structlog.get_logger()


class RedisPurse(Purse):
    """A tenant without a stored record has days of UTC and no cap that is known here; what it spends counts as well."""

    def __init__(self, redis: Redis, records: TenantRecords) -> None:
        self._scripts = Scripts(redis)
        self._records = records
        self._days: dict[str, str] = {}  # of what is set aside, the key of its day

    @override
    async def reserve(self, todo: FactTodo, most: Cost, now: datetime) -> bool:
        try:
            record = await self._record(todo.tenant)
        except ValueError as error:  # whoever cannot read a tenant's caps spends nothing
            log.error("tenant_record_unreadable", tenant=todo.tenant, error=str(error))
            return False
        tokens, money = (record.tokens_per_day, record.dollars_per_day) if record else (None, None)
        caps = (_ANY if tokens is None else tokens, _ANY if money is None else int(Decimal(money) * NANO))
        arguments = (keys.SPEND_SECONDS, *caps, _name(todo), _tokens(most), most.nanos)
        day = _day(todo, record, now)
        if await self._scripts.run("spend", [day], arguments) != 1:
            return False
        self._days[todo.event_id] = day
        return True

    @override
    async def settle(self, todo: FactTodo, cost: Cost, now: datetime) -> None:
        """In the day that the reservation was made for."""
        day = self._days.pop(todo.event_id, None) or _day(todo, None, now)
        arguments = (keys.SPEND_SECONDS, _ANY, _ANY, "", 0, 0, _name(todo), _tokens(cost), cost.nanos, 1)
        await self._scripts.run("spend", [day], arguments)

    async def _record(self, tenant: str) -> TenantRecord | None:
        number = await self._records.latest(tenant)
        version = await self._records.version(tenant, number) if number else None
        return None if version is None or version.withdrawn else version.record(tenant)


def _name(todo: FactTodo) -> str:
    return f"facts:{todo.event_id}"


def _tokens(cost: Cost) -> int:
    return cost.input_tokens + cost.output_tokens


def _day(todo: FactTodo, record: TenantRecord | None, now: datetime) -> str:
    zone = ZoneInfo(record.time_zone) if record else UTC
    return keys.spend_key(todo.tenant, now.astimezone(zone).date().isoformat())
