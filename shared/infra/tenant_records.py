"""Tenants' records in state Redis: a hash for each tenant, with the number of its latest version, and the versions."""

from collections.abc import Sequence
from typing import cast

from redis.asyncio import Redis

from shared.contracts.tenant_document import TenantVersion
from shared.infra import keys
from shared.infra.lua import Scripts
from shared.ports.tenant_records import VERSIONS_KEPT, TenantRecords, VersionConflict

_LATEST = "latest"


class RedisTenantRecords(TenantRecords):
    def __init__(self, redis: Redis, kept: int = VERSIONS_KEPT) -> None:
        self._scripts, self._kept = Scripts(redis), kept

    async def put(self, tenant: str, version: TenantVersion) -> None:
        arguments = (version.version, version.model_dump_json(), self._kept)
        now = cast(int, await self._scripts.run("put_tenant_record", [keys.tenant_record_key(tenant)], arguments))
        if now != version.version:
            raise VersionConflict(abs(now))

    async def latest(self, tenant: str) -> int:
        return int(cast("str | None", await self._field(tenant, _LATEST)) or 0)

    async def version(self, tenant: str, number: int) -> TenantVersion | None:
        text = await self._field(tenant, str(number))
        return None if text is None else TenantVersion.model_validate_json(cast(str, text))

    async def history(self, tenant: str) -> Sequence[TenantVersion]:
        rows = cast("dict[str, str]", await self._scripts.command("HGETALL", keys.tenant_record_key(tenant)))
        found = [TenantVersion.model_validate_json(text) for field, text in rows.items() if field != _LATEST]
        return sorted(found, key=lambda version: version.version, reverse=True)

    async def _field(self, tenant: str, name: str) -> object:
        return await self._scripts.command("HGET", keys.tenant_record_key(tenant), name)
