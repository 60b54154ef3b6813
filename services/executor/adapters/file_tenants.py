"""Tenant records from a file that is read once: the embedded profile, and the default tenant (``Tenants``)."""

from pathlib import Path
from typing import Self

from pydantic import ValidationError

from services.executor.ports.policy import Tenants, UnknownTenant
from shared.contracts.policy_document import sorted_document, strange_fields
from shared.contracts.tenant import Connection, TenantRecord
from shared.domain.exact_json import JsonObject, loads_object


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
            record = TenantRecord.model_validate(_document(path))
        except (OSError, UnicodeError) as error:
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


def _document(path: Path) -> JsonObject:
    """The file with the rules of each policy sorted by their kind; a field that nobody reads is refused."""
    try:
        document = loads_object(path.read_text("utf-8"))
    except ValueError as error:
        raise BadTenantFile(f"TENANT_FILE {path} cannot be used: {error}") from error
    policies = document.get("policies")
    if not isinstance(policies, list):
        return document
    written = [one for one in policies if isinstance(one, dict)]
    if strange := [name for policy in written for name in strange_fields(policy)]:
        raise BadTenantFile(f"TENANT_FILE {path} cannot be used: no policy has a field {', '.join(strange)}")
    return {**document, "policies": [sorted_document(one) if isinstance(one, dict) else one for one in policies]}


def _addressed(connections: tuple[Connection, ...], tool_server: str) -> tuple[Connection, ...]:
    """The connections with an address; without a tool server, one that has none is left out."""
    if tool_server and not connections:
        return (Connection(id="default", url=tool_server),)
    filled = (one if one.url else one.model_copy(update={"url": tool_server}) for one in connections)
    return tuple(one for one in filled if one.url)
