"""Budgets for finding facts, on Redis: they count in the same day and under the same caps as the tenant's tasks."""

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import structlog
from redis.asyncio import Redis

from services.learner.ports.memory import BudgetDay, FactCost, FactTodo, TenantBudgets
from shared.domain.model_price import NANO
from shared.infra import keys
from shared.infra.lua import Argument, Scripts
from shared.ports.tenant_records import TenantRecords

_ANY = -1  # no cap

log = structlog.get_logger()


class RedisTenantBudgets(TenantBudgets):
    """Counts what finding facts costs. A tenant without a stored record has UTC days and no known cap."""

    def __init__(self, redis: Redis, records: TenantRecords) -> None:
        self._scripts = Scripts(redis)
        self._records = records

    async def read_day(self, tenant: str, now: datetime) -> BudgetDay | None:
        try:
            record = await self._records.get_current_record(tenant)
        except ValueError as error:  # whoever cannot read a tenant's caps spends nothing
            log.error("tenant_record_unreadable", tenant=tenant, error=str(error))
            return None
        if record is None:
            return BudgetDay(now.astimezone(UTC).date())
        today, money = now.astimezone(ZoneInfo(record.time_zone)).date(), record.dollars_per_day
        return BudgetDay(today, record.tokens_per_day, None if money is None else int(Decimal(money) * NANO))

    async def reserve(self, todo: FactTodo, most: FactCost, day: BudgetDay) -> bool:
        if not _is_capped(day):
            return True
        caps = [_ANY if cap is None else cap for cap in (day.tokens, day.nanos)]
        arguments: list[Argument] = [keys.SPEND_SECONDS, *caps, _reservation_name(todo), _sum_tokens(most), most.nanos]
        return await self._scripts.run("spend", [_spend_key(todo, day)], arguments) == 1

    async def settle(self, todo: FactTodo, cost: FactCost, day: BudgetDay) -> None:
        arguments = (keys.SPEND_SECONDS, _ANY, _ANY, "", 0, 0, _reservation_name(todo), _sum_tokens(cost), cost.nanos)
        await self._scripts.run("spend", [_spend_key(todo, day)], [*arguments, int(_is_capped(day))])


def _is_capped(day: BudgetDay) -> bool:
    """Whether the day has a limit; otherwise nothing has to be reserved."""
    return day.tokens is not None or day.nanos is not None


def _reservation_name(todo: FactTodo) -> str:
    return f"facts:{todo.event_id}"


def _sum_tokens(cost: FactCost) -> int:
    return cost.input_tokens + cost.output_tokens


def _spend_key(todo: FactTodo, day: BudgetDay) -> str:
    return keys.spend_key(todo.tenant, day.date.isoformat())
