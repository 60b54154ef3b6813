"""Tenants' records that operators have stored. A tenant without a stored record gets the one of TENANT_FILE
(``Tenants``).
"""

import asyncio
from pathlib import Path
from typing import NamedTuple, Self

import structlog
from typing_extensions import override

from services.executor.ports.services import Tenants, UnknownTenant
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import BadRecord, TenantVersion, complete_connections, parse_tenant_record
from shared.domain.exact_json import loads_object
from shared.domain.lru_cache import LruCache
from shared.infra.starting import require_parseable_url
from shared.infra.tenant_records import RedisTenantRecords


class BadTenantFile(ValueError):
    """The tenant file cannot be used; the message names it and what is wrong."""


class FileTenants(Tenants):
    """The tenant of TENANT_FILE; any other is unknown. If the file names no connection, ``tool_server`` becomes its
    connection ``default``.

    A connection with an empty ``url`` also gets the address of ``tool_server``, so a file can hold a catalogue without
    an address.
    """

    def __init__(self, record: TenantRecord) -> None:
        self.record = record

    @classmethod
    def read_file(cls, path: Path, tool_server: str = "") -> Self:
        """Reads the tenant file; raises ``BadTenantFile``."""
        try:
            record = parse_tenant_record(loads_object(path.read_text("utf-8")))
            connections = complete_connections(record.connections, tool_server)
        except OSError as error:
            raise BadTenantFile(f"TENANT_FILE cannot be read: {error}") from error
        except ValueError as error:
            raise BadTenantFile(f"TENANT_FILE {path} cannot be used: {error}") from error
        for connection in connections:
            try:
                require_parseable_url(connection.url)
            except ValueError as error:
                raise BadTenantFile(f"TENANT_FILE {path}: connection {connection.id!r}: {error}") from error
        return cls(record.model_copy(update={"connections": connections}))

    async def get(self, tenant: str) -> TenantRecord:
        if tenant != self.record.id:
            raise UnknownTenant(f"there is no tenant {tenant!r}")
        return self.record


MOST_RECORDS_CACHED = 1024
_FILE_VERSION_PREFIX = "file:"  # before the version of a record that came from the file: the store counts its own

log = structlog.get_logger()


class _CachedRecord(NamedTuple):
    number: int
    record: TenantRecord
    seen_at: float


class StoredTenants(Tenants):
    """Tenants' records from the store, each version read once; for a tenant without a stored record, that of
    TENANT_FILE. The store is asked every ``seconds`` which version is the newest.

    ``tool_server`` fills empty addresses only in the record of the file's own tenant.
    """

    def __init__(
        self, records: RedisTenantRecords, default: FileTenants, tool_server: str = "", seconds: float = 0.0
    ) -> None:
        self._records, self._default = records, default
        self._tool_server, self._seconds = tool_server, seconds
        self._cached = LruCache[str, _CachedRecord](MOST_RECORDS_CACHED)

    async def get(self, tenant: str) -> TenantRecord:
        """The tenant's record; raises ``UnknownTenant`` for an unreadable stored one, even if TENANT_FILE has one."""
        cached_record, now = self._cached.get(tenant), asyncio.get_running_loop().time()
        if cached_record is not None and now < cached_record.seen_at + self._seconds:
            return cached_record.record
        number = await self._records.get_latest_number(tenant)
        if cached_record is None or cached_record.number != number:
            cached_record = _CachedRecord(number, await self._read_version(tenant, number), now)
        return self._cached.put(tenant, cached_record._replace(seen_at=now)).record

    @override
    async def get_at_version(self, tenant: str, version: str) -> TenantRecord:
        record = await self.get(tenant)
        if record.version == version:
            return record
        old_record = await self._read_record_of_version(tenant, version)
        if old_record is None:
            log.warning("tenant_version_not_found", tenant=tenant, version=version, now=record.version)
            return record
        pinned_fields = ("policies", "prose_policies", "enforce_prose", "unruled_writes", "strict_processes", "records")
        return record.model_copy(update={name: getattr(old_record, name) for name in pinned_fields})

    async def _read_record_of_version(self, tenant: str, version: str) -> TenantRecord | None:
        if version.startswith(_FILE_VERSION_PREFIX):
            try:
                record = await self._get_record_of_file(tenant)
            except UnknownTenant:
                return None
            return record if record.version == version else None
        content = await self._fetch_version(tenant, int(version)) if version.isdecimal() else None
        return None if content is None else self._parse_record(tenant, content)

    async def _read_version(self, tenant: str, number: int) -> TenantRecord:
        """The record of that number, or that of the file if it was withdrawn; raises ``UnknownTenant``."""
        if not number:
            return await self._get_record_of_file(tenant)
        content = await self._fetch_version(tenant, number)
        if content is None:
            raise UnknownTenant(f"version {number} of the record of tenant {tenant!r} is not there")
        return await self._get_record_of_file(tenant) if content.withdrawn else self._parse_record(tenant, content)

    async def _get_record_of_file(self, tenant: str) -> TenantRecord:
        record = await self._default.get(tenant)
        return record.model_copy(update={"version": f"{_FILE_VERSION_PREFIX}{record.version}"})

    async def _fetch_version(self, tenant: str, number: int) -> TenantVersion | None:
        """That version; None if it is not kept. Raises ``UnknownTenant`` if this release cannot read it."""
        try:
            return await self._records.get_version(tenant, number)
        except BadRecord as error:
            raise _log_unreadable_record(tenant, number, error) from error

    def _parse_record(self, tenant: str, content: TenantVersion) -> TenantRecord:
        try:
            record = content.parse_record(tenant)
        except ValueError as error:
            raise _log_unreadable_record(tenant, content.version, error) from error
        tool_server = self._tool_server if tenant == self._default.record.id else ""
        return record.model_copy(update={"connections": complete_connections(record.connections, tool_server)})


def _log_unreadable_record(tenant: str, number: int, error: ValueError) -> UnknownTenant:
    """The error to raise for a stored version that this release cannot read."""
    log.error("tenant_record_unreadable", tenant=tenant, version=number, error=str(error))
    return UnknownTenant(f"version {number} of the record of tenant {tenant!r} cannot be read")
