"""A tenant: one versioned document of policies, connections and switches."""

import re
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, JsonValue, field_validator, model_validator

from shared.contracts.approval import MOST_APPROVAL_HOURS, LadderRung, NoticeTarget, are_levels_rising
from shared.contracts.base import Contract
from shared.contracts.credential import Credential
from shared.contracts.policy import Policy
from shared.domain.exact_json import digest
from shared.domain.words import ToolClass


class CatalogueEntry(Contract):
    """What an operator states about a tool. Nothing else can lower a tool's class (I1).

    ``read_back``: the read tool that proves this write; None: the worker chooses one; false: no read shows what it
    writes.
    """

    tool_class: ToolClass | None = None
    read_back: str | Literal[False] | None = None
    expect: dict[str, JsonValue] = Field(default={})  # what that read shows once it took hold, whatever was sent
    idempotency_field: str | None = None  # the argument in which the server honours our key
    compensated_by: str | None = None  # the tool that takes this write back, where a later one of its part fails
    errors_change_nothing: bool = False  # whether an answer that is an error means that nothing was written


DEFAULT_TENANT = "default"  # to whom everybody belongs where tenants are not told apart
_TENANT_SESSION_PATTERN = re.compile(r"tenant-[0-9a-f]{32}")


class Connection(Contract):
    """One tool server of a tenant.

    ``author_tenant``: the tenant whose operators wrote this connection, set by whoever reads the record; empty if the
    installation's operator did. It limits which secrets the credential may refer to.
    """

    id: str
    url: str  # empty: the server that the executor is started with
    protocol: Literal["auto", "mcp", "rest", "a2a"] = "auto"
    credential: Credential | None = None
    traceparent: bool = False  # whether the server is told which trace a call belongs to (W3C Trace Context)
    catalogue: dict[str, CatalogueEntry] = Field(default={})
    author_tenant: str = Field(default="", exclude=True)
    from_request: bool = Field(default=False, exclude=True)  # named by a request: called under guard

    @property
    def server_key(self) -> str:
        """The key under which calls may share a client of the server: its URL, and a credential with who wrote it."""
        if self.credential is None:
            return self.url
        return f"{self.url} {self.author_tenant} {self.credential.model_dump_json()}"

    @property
    def session_key(self) -> str:
        """The key under which calls may share an MCP session, in which a server may keep state: ``server_key``, and the
        tenant whose connection it is.
        """
        return f"{self.author_tenant} {self.server_key}"

    def session_id_for(self, tenant: str, session_id: str) -> str:
        """The id by which the server knows a tenant's session.

        For the default tenant, and for a server that a request named, it is the session's own id, under which a client
        may have prepared the session there. Otherwise it is an id that no other tenant's session can have.
        """
        is_of_a_tenant = _TENANT_SESSION_PATTERN.fullmatch(session_id) is not None
        if self.from_request or (tenant == DEFAULT_TENANT and not is_of_a_tenant):
            return session_id
        return f"tenant-{digest(['session', self.server_key, tenant, session_id])[:32]}"


class RecordKind(Contract):
    """How to recognise records of one kind if names do not show it.

    ``keys``: fields and arguments that hold such a record's key, or lists of those that hold the same one under several
    names. ``reads``: read tools that show one such record by its key.
    """

    keys: tuple[str | tuple[str, ...], ...] = Field(min_length=1)
    reads: tuple[str, ...] = ()

    @property
    def keys_by_name(self) -> dict[str, str]:
        """Each name of a key with the key's first name, both in normal form."""
        groups = ((entry,) if isinstance(entry, str) else entry for entry in self.keys)
        return {normalized_key_name(name): normalized_key_name(group[0]) for group in groups for name in group}

    @field_validator("keys", "reads")
    @classmethod
    def _check_names(cls, entries: tuple[str | tuple[str, ...], ...]) -> tuple[str | tuple[str, ...], ...]:
        groups = [(entry,) if isinstance(entry, str) else entry or ("",) for entry in entries]
        names = [name for group in groups for name in group]
        if not all(map(normalized_key_name, names)):
            raise ValueError("a name is empty")
        if bare := _KEYS_OF_EVERY_RECORD.intersection(map(normalized_key_name, names)):
            raise ValueError(f"every kind of record has an {min(bare)!r}: name a field that only this kind's key has")
        return entries


_KEYS_OF_EVERY_RECORD = frozenset({"id", "uuid", "guid"})


@lru_cache(maxsize=4_096)  # the same few names of fields, over and over
def normalized_key_name(name: str) -> str:
    """The name of a key in its normal form, in which ``assetTag``, ``asset_tag`` and ``ASSET TAGS`` are equal."""
    return "".join(filter(str.isalnum, name.casefold())).removesuffix("s")


class ProsePolicy(Contract):
    """A standing policy in plain words. A model translates it into rules once for each text."""

    id: str
    text: str


class QuietHours(Contract):
    """Daily hours from ``start`` to ``end`` in the tenant's time zone; past midnight if ``end`` is the earlier."""

    start: time
    end: time

    @model_validator(mode="after")
    def _check_hours(self) -> "QuietHours":
        if self.start.tzinfo or self.end.tzinfo:
            raise ValueError("quiet hours are local times, such as 22:00: the tenant's time_zone says where")
        if self.start == self.end:
            raise ValueError("quiet hours begin and end at different times; leave them out where there are none")
        return self

    def find_end(self, now: datetime, zone: ZoneInfo) -> datetime | None:
        """When the quiet hours that ``now`` falls into are over, in UTC; None outside of them."""
        local_now = now.astimezone(zone)
        if not self._contains_time(local_now.time()):
            return None
        possible_ends = (
            datetime.combine(local_now.date() + timedelta(days=days), self.end, zone).replace(fold=fold).astimezone(UTC)
            for days in (0, 1)
            for fold in (0, 1)  # where clocks are put back, the end comes twice
        )
        return min(end for end in possible_ends if end > now and not self._contains_time(end.astimezone(zone).time()))

    def _contains_time(self, local_time: time) -> bool:
        if self.start < self.end:
            return self.start <= local_time < self.end
        return local_time >= self.start or local_time < self.end


class TenantRecord(Contract):
    """A tenant's settings. A cap of None means unlimited.

    ``unruled_writes``: what a write that no rule covers needs: nothing, or an approval. ``practice``: the same for
    tasks in simulated worlds; ``refuse`` forbids such tasks.
    """

    id: str
    version: str = "1"
    time_zone: str = "UTC"
    quiet_hours: QuietHours | None = None  # when processes that heed them tell nobody anything
    unruled_writes: Literal["allow", "approve"] = "approve"
    practice: Literal["allow", "approve", "refuse"] = "allow"
    # How long a decision may take before it means no.
    approval_hours: float = Field(default=24, gt=0, le=MOST_APPROVAL_HOURS)
    approval_ladder: tuple[LadderRung, ...] = ()  # whom an approval goes on to instead, the lowest level first
    notices: tuple[NoticeTarget, ...] = ()  # who is told of approvals
    max_running: int | None = Field(default=None, ge=1)  # sessions worked on at once, over all executors
    tokens_per_day: int | None = Field(default=None, ge=0)  # fresh tokens of all tasks, by the tenant's calendar
    dollars_per_day: Decimal | None = Field(default=None, ge=0)  # what the model's calls may cost, in US dollars
    policies: tuple[Policy, ...] = ()
    prose_policies: tuple[ProsePolicy, ...] = ()
    strict_processes: bool = False  # whether a figure of a process that cannot be had asks a person
    enforce_prose: bool = False  # whether rules translated from prose are enforced; they only advise otherwise
    trusted_texts: tuple[str, ...] = ()  # fields of free text (patterns over "fact path") from which money may be taken
    answer_from_ledger: bool = False  # whether changes that nobody asked an answer about are reported without a model
    made_tools: bool = False  # whether calculators that are missing may be made at run time
    notices_after_proof: bool = False  # whether a notice waits for proof, also where a change was acknowledged
    connections: tuple[Connection, ...] = ()
    records: dict[str, RecordKind] = Field(default={})  # by kind, in one word or more such as ``work_order``

    @field_validator("records")
    @classmethod
    def _check_unique_keys(cls, records: dict[str, RecordKind]) -> dict[str, RecordKind]:
        if nameless := [kind for kind in records if not normalized_key_name(kind)]:
            raise ValueError(f"{nameless[0]!r} is no name of a kind of record")
        kind_by_meaning: dict[str, str] = {}
        for kind, record_kind in records.items():
            keys = [(key, f"keys: {key}") for key in record_kind.keys_by_name]
            for name, meaning in (*keys, *((tool, tool) for tool in record_kind.reads)):
                if (other_kind := kind_by_meaning.setdefault(meaning, kind)) != kind:
                    raise ValueError(f"{kind} and {other_kind} both have {name}: it can mean one of them")
        return records

    @field_validator("approval_ladder")
    @classmethod
    def _check_ladder(cls, ladder: tuple[LadderRung, ...]) -> tuple[LadderRung, ...]:
        if not are_levels_rising(ladder):
            raise ValueError("the levels of an approval ladder stand lowest first, each once")
        return ladder

    @field_validator("time_zone")
    @classmethod
    def _check_time_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{name!r} is no time zone, such as Europe/Paris") from None
        return name
