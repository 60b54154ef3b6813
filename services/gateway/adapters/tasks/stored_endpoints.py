"""The tool servers that a tenant's stored record names."""

from typing_extensions import override

from services.gateway.core.tasks.endpoint import OwnEndpoints
from shared.contracts.tenant_document import BadRecord
from shared.ports.tenant_records import TenantRecords


class StoredEndpoints(OwnEndpoints):
    """Asked only about endpoints that nothing else permits."""

    def __init__(self, records: TenantRecords) -> None:
        self._records = records

    @override
    async def names(self, tenant: str, url: str) -> bool:
        number = await self._records.latest(tenant)
        found = await self._records.version(tenant, number) if number else None
        if found is None or found.withdrawn:
            return False
        try:
            connections = found.record(tenant).connections
        except (BadRecord, ValueError):  # written by another version of the gateway: the executor refuses it too
            return False
        return any(one.url and one.url.rstrip("/") == url.rstrip("/") for one in connections)
