"""Operators' actions on a tenant's record: read, replace, list versions, restore, withdraw."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import NamedTuple

from services.gateway.edge.errors import GatewayRefusal, InvalidField, Unavailable
from services.gateway.edge.fields import count_at, short_text_at
from services.gateway.features.identity.model import Caller
from shared.contracts.policy import Policy
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import (
    BadRecord,
    FieldProblem,
    TenantVersion,
    parse_readable_policies,
    read_owned_record,
)
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.outgoing import AllowedAddresses, why_refused
from shared.ports.tenant_records import TenantRecords

PolicyCheck = Callable[[Sequence[Policy]], Awaitable[tuple[FieldProblem, ...]]]  # may raise ``Unavailable``
_LONGEST_COMMENT = 500


class NoRecord(GatewayRefusal):
    status = 404


class MissingBaseVersion(GatewayRefusal):
    status = 428


class RecordChange(NamedTuple):
    """A document to replace version ``base``. ``restored``: the earlier version that it repeats, if any."""

    document: JsonObject
    base: int
    comment: str = ""
    restored: int | None = None


class RecordService:
    """Reads and changes tenants' records. Each change is stored as a new version.

    The addresses that a record may name: ``server_addresses``: of tool servers and their tokens, ``notice_addresses``:
    of notices.
    """

    def __init__(
        self,
        records: TenantRecords,
        check_policies: PolicyCheck,
        server_addresses: AllowedAddresses,
        notice_addresses: AllowedAddresses,
        clock: Callable[[], datetime],
    ) -> None:
        self._records, self._check_policies, self._clock = records, check_policies, clock
        self._server_addresses, self._notice_addresses = server_addresses, notice_addresses

    async def get_version(self, tenant: str, number: int | None) -> TenantVersion:
        """The version of that number, or the latest; raises ``NoRecord``."""
        wanted_number = await self._records.get_latest_number(tenant) if number is None else number
        version = await self._records.get_version(tenant, wanted_number) if wanted_number else None
        if version is None or version.withdrawn:
            detail = "; without one, that of TENANT_FILE holds" if number is None else f" of version {number}"
            raise NoRecord(f"tenant {tenant!r} has no stored record{detail}")
        return version

    async def list_versions(self, tenant: str) -> Sequence[TenantVersion]:
        return await self._records.list_versions(tenant)

    async def put(self, tenant: str, change: RecordChange, caller: Caller) -> TenantVersion:
        """Store a new version and return it. Raises ``BadRecord``, ``VersionConflict`` and ``Unavailable``."""
        number = change.base + 1
        document = {"id": tenant, **change.document, "version": str(number)}
        if problems := await self._find_field_and_rule_problems(document, tenant):
            raise BadRecord(problems)
        author, now = caller.principal.id, self._clock()
        version = TenantVersion(
            version=number,
            at=now,
            by=author,
            comment=change.comment,
            restored=change.restored,
            document_json=dumps(document),
        )
        await self._records.add_version(tenant, version)
        return version

    def _find_refused_addresses(self, record: TenantRecord) -> Iterator[FieldProblem]:
        """Yields a problem for each address that is not permitted; executors check again when they connect."""
        for index, connection in enumerate(record.connections):
            token_url = connection.credential.token_url if connection.credential else ""
            for name, url in (("url", connection.url), ("credential.token_url", token_url)):
                if url and (problem := why_refused(url, self._server_addresses)):
                    yield FieldProblem(f"connections.{index}.{name}", problem)
        for index, target in enumerate(record.notices):
            if not target.url.startswith("env:") and (problem := why_refused(target.url, self._notice_addresses)):
                yield FieldProblem(f"notices.{index}.url", problem)

    async def _find_field_and_rule_problems(self, document: JsonObject, tenant: str) -> tuple[FieldProblem, ...]:
        """The errors in the record's fields and rules. Raises ``Unavailable`` if the rules alone cannot be checked."""
        try:
            fields = tuple(self._find_refused_addresses(read_owned_record(document, tenant)))
        except BadRecord as error:
            fields = error.problems
        try:
            return (*fields, *await self._check_policies(parse_readable_policies(document)))
        except Unavailable:
            if fields:
                return fields
            raise

    async def restore(self, tenant: str, number: int, base: int | None, comment: str, caller: Caller) -> TenantVersion:
        """Store an earlier version as a new one; it is validated again, since rules may have become stricter."""
        earlier = await self.get_version(tenant, number)
        base = await self._records.get_latest_number(tenant) if base is None else base
        return await self.put(tenant, RecordChange(earlier.document, base, comment, number), caller)

    async def withdraw(self, tenant: str, base: int | None, comment: str, caller: Caller) -> TenantVersion:
        """Withdraw the tenant's stored record, as a new version without document. Raises ``NoRecord``."""
        latest = await self.get_version(tenant, None)
        version = TenantVersion(
            version=(latest.version if base is None else base) + 1,
            at=self._clock(),
            by=caller.principal.id,
            comment=comment,
            withdrawn=True,
            document_json="{}",
        )
        await self._records.add_version(tenant, version)
        return version


def parse_change(body: JsonObject, if_match: str | None) -> RecordChange:
    """Parse ``{"record", "comment"}`` and ``If-Match``; raises ``InvalidField`` and ``MissingBaseVersion``."""
    document = body.get("record")
    if not isinstance(document, dict):
        raise InvalidField("record", "must be an object: the tenant's record")
    base = parse_if_match(if_match)
    base = _parse_number(document.get("version")) if base is None else base
    if base is None:
        raise MissingBaseVersion(
            'say which version this replaces: If-Match: "3", or "version" in the record; "0" where there is none yet'
        )
    return RecordChange(document, base, read_comment(body))


def read_comment(body: JsonObject) -> str:
    return short_text_at(body, "comment", _LONGEST_COMMENT)


def parse_version_number(body: JsonObject) -> int:
    """Parse ``{"version"}``; raises ``InvalidField``."""
    number = count_at(body, "version", "version")
    if not number:
        raise InvalidField("version", "must be the number of a version")
    return number


def parse_if_match(if_match: str | None) -> int | None:
    """The version in an ``If-Match`` header; None without the header. Raises ``InvalidField``."""
    if if_match is None:
        return None
    number = _parse_number(if_match.strip().removeprefix("W/").strip('"'))
    if number is None:
        raise InvalidField("If-Match", 'must be the number of a version, such as "3"')
    return number


def _parse_number(value: Json) -> int | None:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= 9 else None


def build_history_view(tenant: str, versions: Sequence[TenantVersion]) -> dict[str, Json]:
    """The versions as JSON, newest first. ``changed``: the fields that differ from the version before."""
    rows: list[Json] = [
        {
            **build_version_view(version),
            "changed": _changed_fields(earlier.document, version.document) if earlier else None,
        }
        for version, earlier in zip_longest(versions, versions[1:])
    ]
    return {"tenant": tenant, "versions": rows}


def build_version_view(version: TenantVersion) -> dict[str, Json]:
    """A version as JSON, without its document."""
    return {
        "version": version.version,
        "at": version.at.isoformat(),
        "by": version.by,
        "comment": version.comment,
        "restored": version.restored,
        "withdrawn": version.withdrawn,
    }


def _changed_fields(earlier: JsonObject, later: JsonObject) -> list[Json]:
    names = sorted({*earlier, *later} - {"version"})
    return [name for name in names if earlier.get(name) != later.get(name)]
