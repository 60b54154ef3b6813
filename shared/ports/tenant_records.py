"""The port to tenants' records, each kept in numbered versions."""

from collections.abc import Sequence
from typing import Protocol

from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import TenantVersion

VERSIONS_KEPT = 50


class VersionConflict(Exception):
    """The record has another version than the change was based on. ``current_version``: that one; 0 for none."""

    def __init__(self, current_version: int) -> None:
        super().__init__(
            f"the record is of version {current_version} by now" if current_version else "there is no record yet"
        )
        self.current_version = current_version


class TenantRecords(Protocol):
    """The versions of tenants' records. Every method may raise ``StoreUnavailable``."""

    async def add_version(self, tenant: str, version: TenantVersion) -> None:
        """Adds a version if its predecessor is the newest; else raises ``VersionConflict``. May be repeated."""

    async def get_latest_number(self, tenant: str) -> int:
        """The number of the tenant's current version; 0 if the tenant has no record."""

    async def get_version(self, tenant: str, number: int) -> TenantVersion | None:
        """The version with that number; None if it is not kept."""

    async def get_current_record(self, tenant: str) -> TenantRecord | None:
        """The current record; None if none is stored. Raises ``BadRecord`` if this release cannot read it."""
        number = await self.get_latest_number(tenant)
        version = await self.get_version(tenant, number) if number else None
        return None if version is None or version.withdrawn else version.parse_record(tenant)

    async def list_versions(self, tenant: str) -> Sequence[TenantVersion]:
        """The versions that are kept, the newest first."""
