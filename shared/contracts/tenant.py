"""A tenant: one versioned document of policies, connections and switches."""

from decimal import Decimal
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator

from shared.contracts.base import Contract
from shared.contracts.policy import Policy
from shared.domain.words import ToolClass


class CatalogueEntry(Contract):
    """What an operator knows about a tool. Only this can lower a tool's class (I1)."""

    tool_class: ToolClass | None = None
    read_back: str | None = None  # the read tool that proves this write
    idempotency_field: str | None = None  # the argument in which the server honours our key
    errors_change_nothing: bool = False  # whether an answer that is an error means that nothing was written


class Connection(Contract):
    """One tool server of a tenant."""

    id: str
    url: str  # empty in a tenant's file: the server that the executor is started with
    protocol: Literal["auto", "mcp", "rest"] = "auto"
    catalogue: dict[str, CatalogueEntry] = Field(default={})


class ProsePolicy(Contract):
    """A standing policy in plain words. The executor's model translates it into rules, once for each text."""

    id: str
    text: str


class TenantRecord(Contract):
    """A cap that is None does not limit.

    ``unruled_writes``: what a write that no rule speaks about needs (nothing, or an approval).
    """

    id: str
    version: str = "1"
    time_zone: str = "UTC"
    unruled_writes: Literal["allow", "approve"] = "approve"
    approval_hours: int = 24  # how long a decision may take before it means no
    max_running: int | None = Field(default=None, ge=1)  # sessions worked on at once, over all executors
    tokens_per_day: int | None = Field(default=None, ge=0)  # fresh tokens of all tasks, by the tenant's calendar
    dollars_per_day: Decimal | None = Field(default=None, ge=0)  # what the model's calls may cost, in US dollars
    policies: tuple[Policy, ...] = ()
    prose_policies: tuple[ProsePolicy, ...] = ()
    enforce_prose: bool = False  # whether rules translated from prose are enforced; they only advise otherwise
    connections: tuple[Connection, ...] = ()

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{name!r} is no time zone, such as Europe/Paris") from None
        return name
