"""What an audit export asks of the archive."""

import pytest
from typing_extensions import override

from services.gateway.features.audit.store import ArchivedAudit
from shared.ports.archive import Archive


class CountedArchive(Archive):
    """``listings``: of which tenants it was asked for all names."""

    def __init__(self) -> None:
        self.listings: list[str] = []

    @override
    async def put(self, tenant: str, task_id: str, content: bytes) -> None:
        raise NotImplementedError

    @override
    async def get(self, tenant: str, task_id: str) -> bytes | None:
        return None

    @override
    async def list(self, tenant: str) -> tuple[str, ...]:
        self.listings.append(tenant)
        return (f"{tenant}-1", f"{tenant}-2")

    @override
    async def delete(self, tenant: str, task_id: str) -> bool:
        raise NotImplementedError


@pytest.mark.promise("audit.one_listing")
async def test_the_pages_of_an_export_share_one_listing_of_their_tenant() -> None:
    archive = CountedArchive()
    audit = ArchivedAudit(archive)
    named = [list(await audit.names(tenant)) for tenant in ("acme", "acme", "globex", "acme")]
    assert archive.listings == ["acme", "globex"]
    assert named == [["acme-1", "acme-2"], ["acme-1", "acme-2"], ["globex-1", "globex-2"], ["acme-1", "acme-2"]]
