"""Tenant records from a file that is read once: the embedded profile, and the default tenant (``Tenants``)."""

from pathlib import Path
from typing import Self

from pydantic import ValidationError

from services.executor.ports import Tenants, UnknownTenant
from shared.contracts.tenant import Connection, TenantRecord


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
            record = TenantRecord.model_validate_json(path.read_bytes())
        except OSError as error:
            raise BadTenantFile(f"TENANT_FILE cannot be read: {error}") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the document"
            raise BadTenantFile(f"TENANT_FILE {path} cannot be used: {where}: {first['msg']}") from error
        return cls(record.model_copy(update={"connections": _addressed(record.connections, tool_server)}))

    async def get(self, tenant: str) -> TenantRecord:
        if tenant != self.record.id:
            raise UnknownTenant(f"there is no tenant {tenant!r}")
        return self.record


def _addressed(connections: tuple[Connection, ...], tool_server: str) -> tuple[Connection, ...]:
    """The connections with an address; without a tool server, one that has none is left out."""
    if tool_server and not connections:
        return (Connection(id="default", url=tool_server),)
    filled = (one if one.url else one.model_copy(update={"url": tool_server}) for one in connections)
    return tuple(one for one in filled if one.url)
