"""Tenant records from a file that is read once: the embedded profile, and the default tenant (``Tenants``)."""

from pathlib import Path
from typing import Self

from pydantic import ValidationError

from services.executor.ports import Tenants, UnknownTenant
from shared.contracts.tenant import Connection, TenantRecord


class BadTenantFile(ValueError):
    """The file cannot be used; the message names it and what is wrong."""


class FileTenants(Tenants):
    """One tenant. ``tool_server`` becomes its connection ``default`` where the file names none."""

    def __init__(self, record: TenantRecord) -> None:
        self.record = record

    @classmethod
    def read(cls, path: Path, tool_server: str = "") -> Self:
        """Raises ``BadTenantFile``."""
        try:
            record = TenantRecord.model_validate_json(path.read_bytes())
        except OSError as error:
            raise BadTenantFile(f"TENANT_FILE cannot be read: {error}") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the document"
            raise BadTenantFile(f"TENANT_FILE {path} cannot be used: {where}: {first['msg']}") from error
        if tool_server and not record.connections:
            record = record.model_copy(update={"connections": (Connection(id="default", url=tool_server),)})
        return cls(record)

    async def get(self, tenant: str) -> TenantRecord:
        if tenant != self.record.id:
            raise UnknownTenant(f"there is no tenant {tenant!r}")
        return self.record
