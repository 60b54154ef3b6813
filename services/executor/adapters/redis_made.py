"""Made tools in state Redis, and the switch that an operator sets for a tenant."""

import asyncio
from collections.abc import Awaitable
from typing import cast

import structlog
from pydantic import ValidationError
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.ports.policy import Tenants
from services.executor.ports.sandbox import MadeTools
from shared.contracts.made_tool import MadeTool
from shared.contracts.tenant import TenantRecord
from shared.infra import keys
from shared.infra.lua import Scripts, answering
from shared.ports.store import StoreUnavailable

_SECONDS = 1.0  # a task goes on without made tools rather than wait for them
_MOST_KEPT = 500

log = structlog.get_logger()


class RedisMade(MadeTools):
    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def all(self, tenant: str) -> tuple[MadeTool, ...]:
        async with answering(_SECONDS):
            rows = await cast("Awaitable[list[str]]", self._redis.hvals(keys.learned_keys(tenant).made))
        tools: list[MadeTool] = []
        for row in rows:
            try:
                tools.append(MadeTool.model_validate_json(row))
            except ValidationError as error:  # written by a version that this one cannot read: a tool less
                log.warning("made_tool_unreadable", tenant=tenant, errors=error.error_count())
        return tuple(sorted(tools, key=lambda tool: (tool.name, tool.version)))

    async def keep(self, tenant: str, tool: MadeTool) -> MadeTool:
        """A field is only ever added, so of two that keep at once the later one takes the next version."""
        key = keys.learned_keys(tenant).made
        while True:
            every = await self.all(tenant)
            versions = [one for one in every if one.name == tool.name]
            if versions and versions[-1].code_sha256 == tool.code_sha256 and versions[-1].removed_at is None:
                return versions[-1]
            kept = tool.model_copy(update={"version": versions[-1].version + 1 if versions else 1})
            if len(every) >= _MOST_KEPT:
                return kept
            async with answering(_SECONDS):
                field = keys.made_field(kept.name, kept.version)
                added = await cast("Awaitable[int]", self._redis.hsetnx(key, field, kept.model_dump_json()))
            if added:
                return kept


class SwitchedTenants(Tenants):
    """The records, with the switches that operators have set since. Without Redis nothing is switched on."""

    def __init__(self, tenants: Tenants, redis: Redis) -> None:
        self._tenants, self._scripts = tenants, Scripts(redis, patience=0)

    async def get(self, tenant: str) -> TenantRecord:
        return _with_switch(*await asyncio.gather(self._tenants.get(tenant), self._switch(tenant)))

    @override
    async def get_at_version(self, tenant: str, version: str) -> TenantRecord:
        record = self._tenants.get_at_version(tenant, version)
        return _with_switch(*await asyncio.gather(record, self._switch(tenant)))

    async def _switch(self, tenant: str) -> str | None:
        key = keys.learned_keys(tenant).switches
        try:
            async with answering(_SECONDS):
                said = await self._scripts.command("HGET", key, keys.MADE_TOOLS_SWITCH)
        except StoreUnavailable as error:
            log.warning("switches_unknown", tenant=tenant, error=str(error))
            return "off"
        return None if said is None else str(said)


def _with_switch(record: TenantRecord, switch: str | None) -> TenantRecord:
    return record if switch is None else record.model_copy(update={"made_tools": switch == "on"})
