"""What is told of a tenant to its own callers: its tools, its limits, what the worker has learned and made for it."""

from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.ports.learning import Statistics
from services.gateway.ports.tenants import Workshop
from shared.contracts.made_tool import MadeTool
from shared.contracts.tenant import Connection, TenantRecord
from shared.ports.tenant_records import TenantRecords

_LIMITS = ("max_running", "tokens_per_day", "dollars_per_day", "approval_hours", "unruled_writes", "time_zone")


class TenantFacts(NamedTuple):
    """``limits`` as JSON has them; ``processes``: how many kinds were worked out for this tenant."""

    connections: tuple[Connection, ...]
    limits: dict[str, JsonValue]
    calculators: tuple[MadeTool, ...]
    processes: int


class TenantBook:
    def __init__(self, records: TenantRecords, workshop: Workshop, statistics: Statistics) -> None:
        self._records, self._workshop, self._statistics = records, workshop, statistics

    async def facts(self, tenant: str) -> TenantFacts:
        """As they stand; may raise ``StoreUnavailable``. Without a record of its own a tenant has no limits to tell."""
        record = await self._record(tenant)
        newest = {tool.name: tool for tool in await self._workshop.of(tenant) if tool.removed_at is None}
        learned = await self._statistics.learning(tenant)
        connections = record.connections if record else ()
        limits = record.model_dump(mode="json", include=set(_LIMITS), exclude_none=True) if record else {}
        return TenantFacts(connections, limits, tuple(newest.values()), learned.synthesized)

    async def _record(self, tenant: str) -> TenantRecord | None:
        number = await self._records.latest(tenant)
        version = await self._records.version(tenant, number) if number else None
        if version is None or version.withdrawn:
            return None
        try:
            return version.record(tenant)
        except ValueError:  # its operators are told where they look at it
            return None
