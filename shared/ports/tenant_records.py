"""Tenants' records, each in versions that follow one another."""

from collections.abc import Sequence
from typing import Protocol

from shared.contracts.tenant_document import TenantVersion

VERSIONS_KEPT = 50


class VersionConflict(Exception):
    """The record is no longer of the version that the change was made from. ``now``: which it is; 0 is none."""

    def __init__(self, now: int) -> None:
        super().__init__(f"the record is of version {now} by now" if now else "there is no record yet")
        self.now = now


class TenantRecords(Protocol):
    """All may raise ``StoreUnavailable``."""

    async def put(self, tenant: str, version: TenantVersion) -> None:
        """Let it follow the version before it, if that is the latest; else ``VersionConflict``. May be repeated."""
        ...

    async def latest(self, tenant: str) -> int:
        """The number of the version that holds now; 0 if the tenant has no record."""
        ...

    async def version(self, tenant: str, number: int) -> TenantVersion | None:
        """That version, if it is still kept."""
        ...

    async def history(self, tenant: str) -> Sequence[TenantVersion]:
        """The versions that are kept, the newest first."""
        ...
