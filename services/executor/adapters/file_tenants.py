"""Tenant records from a file that is read once: the embedded profile, and the default tenant (``Tenants``)."""

from pathlib import Path
from typing import Self

from services.executor.ports.policy import Tenants, UnknownTenant
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import read_record, with_addresses
from shared.domain.exact_json import loads_object


class BadTenantFile(ValueError):
    """The file cannot be used; the message names it and what is wrong."""


class FileTenants(Tenants):
    """One tenant. ``tool_server`` becomes its connection ``default`` where the file names none.

    A connection whose ``url`` is empty describes that server too: it may bring a catalogue without knowing the address.
    """

    def __init__(self, record: TenantRecord) -> None:
        self.record = record

    @classmethod
    def read(cls, path: Path, tool_server: str = "") -> Self:
        """Raises ``BadTenantFile``."""
        try:
            record = read_record(loads_object(path.read_text("utf-8")))
        except OSError as error:
            raise BadTenantFile(f"TENANT_FILE cannot be read: {error}") from error
        except ValueError as error:
            raise BadTenantFile(f"TENANT_FILE {path} cannot be used: {error}") from error
        return cls(record.model_copy(update={"connections": with_addresses(record.connections, tool_server)}))

    async def get(self, tenant: str) -> TenantRecord:
        if tenant != self.record.id:
            raise UnknownTenant(f"there is no tenant {tenant!r}")
        return self.record
