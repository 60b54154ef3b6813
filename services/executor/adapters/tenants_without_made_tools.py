"""The records of an executor that makes no tools: the part that makes them is not loaded."""

from typing_extensions import override

from services.executor.ports.policy import Tenants
from shared.contracts.tenant import TenantRecord


class TenantsWithoutMadeTools(Tenants):
    """Whatever a record says, made tools are off: no model is asked for a program that nothing here could run."""

    def __init__(self, tenants: Tenants) -> None:
        self._tenants = tenants

    @override
    async def get(self, tenant: str) -> TenantRecord:
        return _switch_off(await self._tenants.get(tenant))

    @override
    async def get_at_version(self, tenant: str, version: str) -> TenantRecord:
        return _switch_off(await self._tenants.get_at_version(tenant, version))


def _switch_off(record: TenantRecord) -> TenantRecord:
    return record.model_copy(update={"made_tools": False})
