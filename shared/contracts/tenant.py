"""A tenant: one versioned document of policies, connections and switches."""

from typing import Literal

from pydantic import Field

from shared.contracts.base import Contract
from shared.contracts.policy import Policy
from shared.domain.words import ToolClass


class CatalogueEntry(Contract):
    """What an operator knows about a tool. Only this can lower a tool's class (I1)."""

    tool_class: ToolClass | None = None
    read_back: str | None = None  # the read tool that proves this write
    idempotency_field: str | None = None  # the argument in which the server honours our key


class Connection(Contract):
    """One tool server of a tenant."""

    id: str
    url: str
    protocol: Literal["auto", "mcp", "rest"] = "auto"
    catalogue: dict[str, CatalogueEntry] = Field(default={})


class TenantRecord(Contract):
    """``unruled_writes``: what a write that no rule speaks about needs (nothing, or an approval)."""

    id: str
    version: str = "1"
    time_zone: str = "UTC"
    unruled_writes: Literal["allow", "approve"] = "approve"
    approval_hours: int = 24  # how long a decision may take before it means no
    policies: tuple[Policy, ...] = ()
    connections: tuple[Connection, ...] = ()
