"""Tenants in state Redis: the versions of their records, and the row that stops a tenant, copied to each partition.

The row is written first; accepting, claiming and running turns read the copies. Copying again changes nothing, so any
process may finish what another began.
"""

from collections.abc import Sequence
from typing import cast

from pydantic import ValidationError
from redis.asyncio import Redis

from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import BadRecord, FieldProblem, TenantVersion
from shared.domain.partition import PARTITIONS
from shared.infra import keys
from shared.infra.lua import Argument, ScriptedStore, Scripts, parse_readable_rows

VERSIONS_KEPT = 50
_LATEST_FIELD = "latest"


class VersionConflict(Exception):
    """The record has another version than the change was based on. ``current_version``: that one; 0 for none."""

    def __init__(self, current_version: int) -> None:
        super().__init__(
            f"the record is of version {current_version} by now" if current_version else "there is no record yet"
        )
        self.current_version = current_version


class RedisTenantRecords(ScriptedStore):
    """The versions of tenants' records. Every method may raise ``StoreUnavailable``."""

    async def add_version(self, tenant: str, version: TenantVersion) -> None:
        """Adds a version if its predecessor is the newest; else raises ``VersionConflict``. May be repeated."""
        arguments = (version.version, version.model_dump_json(), VERSIONS_KEPT)
        newest = cast(int, await self._scripts.run("put_tenant_record", [keys.tenant_record_key(tenant)], arguments))
        if newest != version.version:
            raise VersionConflict(abs(newest))

    async def get_latest_number(self, tenant: str) -> int:
        """The number of the tenant's current version; 0 if the tenant has no record."""
        return int(cast("str | None", await self._read_record_field(tenant, _LATEST_FIELD)) or 0)

    async def get_version(self, tenant: str, number: int) -> TenantVersion | None:
        """The version with that number; None if it is not kept. Raises ``BadRecord`` if this release cannot read it."""
        text = await self._read_record_field(tenant, str(number))
        try:
            return None if text is None else TenantVersion.model_validate_json(cast(str, text))
        except ValidationError as error:
            raise BadRecord((FieldProblem(f"version {number}", f"it cannot be read: {error}"),)) from error

    async def get_current_record(self, tenant: str) -> TenantRecord | None:
        """The current record; None if none is stored. Raises ``BadRecord`` if this release cannot read it."""
        number = await self.get_latest_number(tenant)
        version = await self.get_version(tenant, number) if number else None
        return None if version is None or version.withdrawn else version.parse_record(tenant)

    async def list_versions(self, tenant: str) -> Sequence[TenantVersion]:
        """The versions that are kept, the newest first."""
        rows = cast("dict[str, str]", await self._scripts.execute("HGETALL", keys.tenant_record_key(tenant)))
        texts = (text for field, text in rows.items() if field != _LATEST_FIELD)
        versions = parse_readable_rows(TenantVersion.model_validate_json, texts)
        return sorted(versions, key=lambda version: version.version, reverse=True)

    async def _read_record_field(self, tenant: str, name: str) -> object:
        return await self._scripts.execute("HGET", keys.tenant_record_key(tenant), name)


class TenantStops:
    """Stops tenants, whose messages are then refused, and lets them continue. Every method may raise
    ``StoreUnavailable`` and may be repeated.
    """

    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)
        self._copied_rows: dict[str, str] = {}  # what this process has told every partition

    async def stop(self, tenant: str, reason: str) -> None:
        """Refuses the tenant's new messages, and makes its running turns stop before their next call."""
        await self._set_stop(tenant, " ".join(reason.split()) or "stopped by an operator")

    async def resume(self, tenant: str) -> None:
        """Lets the tenant's tasks continue."""
        await self._set_stop(tenant, "")

    async def get_reason(self, tenant: str) -> str | None:
        """Why the tenant is stopped; None if it is not."""
        row = await self._scripts.execute("HGET", keys.TENANT_STOPS_KEY, tenant)
        return None if row is None else str(row).partition("\n")[2] or None

    async def copy_missing_stops(self) -> int:
        """Copies the stops that this process has not copied yet to all partitions; returns the number of tenants."""
        rows = cast("dict[str, str]", await self._scripts.execute("HGETALL", keys.TENANT_STOPS_KEY))
        news = {tenant: row for tenant, row in rows.items() if self._copied_rows.get(tenant) != row}
        for tenant, row in news.items():
            await self._copy_stop(tenant, row)
        return len(news)

    async def _set_stop(self, tenant: str, reason: str) -> None:
        row = await self._scripts.run("set_stop", [keys.TENANT_STOPS_KEY], [tenant, reason])
        await self._copy_stop(tenant, str(row))

    async def _copy_stop(self, tenant: str, row: str) -> None:
        arguments: list[Argument] = [row, keys.tenant_member_prefix(tenant), keys.LIFTED_STOP_SECONDS]
        stop_keys = (keys.tenant_stop_key_in(number, tenant) for number in range(PARTITIONS))
        pairs = zip(stop_keys, keys.all_partitions(), strict=True)
        calls = [([stop_key, partition.waiting], arguments) for stop_key, partition in pairs]
        await self._scripts.run_many("spread_stop", calls)
        self._copied_rows[tenant] = row
