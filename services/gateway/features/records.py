"""``/tenants/{tenant}/record``: operators read, replace, restore and withdraw their tenant's record."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest

import httpx
from starlette.responses import JSONResponse, Response

from services.gateway.edge.errors import GatewayRefusal, InvalidField, Unavailable
from services.gateway.edge.fields import short_text_at, whole_number_at
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from services.gateway.features.identity.model import Caller
from shared.contracts.policy import EvaluateRequest, Policy, Verdict
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import (
    BadRecord,
    FieldProblem,
    TenantVersion,
    parse_readable_policies,
    parse_record_of_tenant,
)
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.outgoing import AllowedAddresses, why_url_refused
from shared.infra.tenant_records import RedisTenantRecords, VersionConflict
from shared.infra.tls import load_client_tls_context

_TIMEOUT = httpx.Timeout(5.0, connect=2.0)


async def find_policy_problems(url: str, policies: Sequence[Policy]) -> tuple[FieldProblem, ...]:
    """The errors in the policies' rules. ``url``: the policy service's; if empty, rules are not checked.

    An unchecked invalid rule blocks the tasks to which it is applied. Raises ``Unavailable``.
    """
    if not policies or not url:
        return ()
    request = EvaluateRequest(policies=tuple(policies), text="")
    headers = {"content-type": "application/json"}
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT, trust_env=False, verify=load_client_tls_context()) as client:
            answer = await client.post(f"{url.rstrip('/')}/v1/evaluate", content=request.to_json(), headers=headers)
    except httpx.HTTPError as error:
        raise Unavailable(f"the policy service does not answer ({type(error).__name__})") from error
    return _read_rule_problems(policies, answer)


def _read_rule_problems(policies: Sequence[Policy], answer: httpx.Response) -> tuple[FieldProblem, ...]:
    if answer.status_code in (400, 413, 422):
        return (FieldProblem("policies", f"the policy service takes none of them: {answer.text[:300]}"),)
    try:
        verdict = Verdict.from_json(answer.content) if answer.status_code == 200 else None
    except ValueError:
        verdict = None
    if verdict is None:
        raise Unavailable(f"the policy service answered HTTP {answer.status_code} and no verdict")
    places = {policy.id: index for index, policy in enumerate(policies)}
    return tuple(
        FieldProblem(f"policies.{places.get(problem.policy_id, problem.policy_id)}.{problem.rule_id}", problem.message)
        for problem in verdict.problems
    )


PolicyCheck = Callable[[Sequence[Policy]], Awaitable[tuple[FieldProblem, ...]]]  # may raise ``Unavailable``
_LONGEST_COMMENT = 500


class NoTenantRecord(GatewayRefusal):
    status = 404


class MissingBaseVersion(GatewayRefusal):
    status = 428


class TenantRecordService:
    """Reads and changes tenants' records. Each change is stored as a new version.

    The addresses that a record may name: ``server_addresses``: of tool servers and their tokens, ``notice_addresses``:
    of notices.
    """

    def __init__(
        self,
        records: RedisTenantRecords,
        check_policies: PolicyCheck,
        server_addresses: AllowedAddresses,
        notice_addresses: AllowedAddresses,
        clock: Callable[[], datetime],
    ) -> None:
        self._records = records
        self._check_policies = check_policies
        self._clock = clock
        self._server_addresses, self._notice_addresses = server_addresses, notice_addresses

    async def get_version(self, tenant: str, number: int | None) -> TenantVersion:
        """The version of that number, or the latest; raises ``NoTenantRecord``, also if it cannot be read."""
        wanted_number = await self._records.get_latest_number(tenant) if number is None else number
        try:
            version = await self._records.get_version(tenant, wanted_number) if wanted_number else None
        except BadRecord as error:
            raise NoTenantRecord(f"the record of tenant {tenant!r} cannot be read: {error}") from error
        if version is None or version.withdrawn:
            detail = "; without one, that of TENANT_FILE holds" if number is None else f" of version {number}"
            raise NoTenantRecord(f"tenant {tenant!r} has no stored record{detail}")
        return version

    async def list_versions(self, tenant: str) -> Sequence[TenantVersion]:
        return await self._records.list_versions(tenant)

    async def store_record(
        self, tenant: str, document: JsonObject, base: int, comment: str, caller: Caller, restored: int | None = None
    ) -> TenantVersion:
        """Store a document in place of version ``base``, and return its version.

        ``restored``: the earlier one that it repeats. Raises ``BadRecord``, ``VersionConflict`` and ``Unavailable``.
        """
        number = base + 1
        document = {"id": tenant, **document, "version": str(number)}
        if problems := await self._find_field_and_rule_problems(document, tenant):
            raise BadRecord(problems)
        version = self._build_version(number, comment, caller, document)
        return await self._store_version(tenant, version.model_copy(update={"restored": restored}))

    def _find_refused_addresses(self, record: TenantRecord) -> Iterator[FieldProblem]:
        """Yields a problem for each address that is not permitted; executors check again when they connect."""
        for index, connection in enumerate(record.connections):
            token_url = connection.credential.token_url if connection.credential else ""
            for name, url in (("url", connection.url), ("credential.token_url", token_url)):
                if url and (problem := why_url_refused(url, self._server_addresses)):
                    yield FieldProblem(f"connections.{index}.{name}", problem)
        for index, target in enumerate(record.notices):
            if not target.url.startswith("env:") and (problem := why_url_refused(target.url, self._notice_addresses)):
                yield FieldProblem(f"notices.{index}.url", problem)

    async def _find_field_and_rule_problems(self, document: JsonObject, tenant: str) -> tuple[FieldProblem, ...]:
        """The errors in the record's fields and rules. Raises ``Unavailable`` if the rules alone cannot be checked."""
        try:
            fields = tuple(self._find_refused_addresses(parse_record_of_tenant(document, tenant)))
        except BadRecord as error:
            fields = error.problems
        try:
            return (*fields, *await self._check_policies(parse_readable_policies(document)))
        except Unavailable:
            if fields:
                return fields
            raise

    async def restore_version(
        self, tenant: str, number: int, base: int | None, comment: str, caller: Caller
    ) -> TenantVersion:
        """Store an earlier version as a new one; it is validated again, since rules may have become stricter.

        ``base``: the version that it replaces, the latest if None. Raises ``NoTenantRecord`` if version ``number`` is
        missing or withdrawn, and what ``put`` raises.
        """
        earlier = await self.get_version(tenant, number)
        base = await self._records.get_latest_number(tenant) if base is None else base
        return await self.store_record(tenant, earlier.document, base, comment, caller, number)

    async def withdraw_record(self, tenant: str, base: int | None, comment: str, caller: Caller) -> TenantVersion:
        """Withdraw the tenant's stored record, as a new version without document.

        ``base``: the version that it replaces, the latest if None. Raises ``NoTenantRecord`` and ``VersionConflict``.
        """
        latest = await self.get_version(tenant, None)
        version = self._build_version((latest.version if base is None else base) + 1, comment, caller, {})
        return await self._store_version(tenant, version.model_copy(update={"withdrawn": True}))

    def _build_version(self, number: int, comment: str, caller: Caller, document: JsonObject) -> TenantVersion:
        by, document_json = caller.principal.id, dumps(document)
        return TenantVersion(version=number, at=self._clock(), by=by, comment=comment, document_json=document_json)

    async def _store_version(self, tenant: str, version: TenantVersion) -> TenantVersion:
        await self._records.add_version(tenant, version)
        return version


def _parse_record_change(body: JsonObject, if_match: str | None) -> tuple[JsonObject, int, str]:
    """Parse ``{"record", "comment"}`` and ``If-Match`` into document, base and comment.

    Raises ``InvalidField`` and ``MissingBaseVersion``.
    """
    document = body.get("record")
    if not isinstance(document, dict):
        raise InvalidField("record", "must be an object: the tenant's record")
    base = _parse_if_match(if_match)
    base = _parse_digits(document.get("version")) if base is None else base
    if base is None:
        raise MissingBaseVersion(
            'say which version this replaces: If-Match: "3", or "version" in the record; "0" where there is none yet'
        )
    return document, base, _read_comment(body)


def _read_comment(body: JsonObject) -> str:
    return short_text_at(body, "comment", _LONGEST_COMMENT)


def _parse_version_number(body: JsonObject) -> int:
    """Parse ``{"version"}``; raises ``InvalidField``."""
    number = whole_number_at(body, "version")
    if not number:
        raise InvalidField("version", "must be the number of a version")
    return number


def _parse_if_match(if_match: str | None) -> int | None:
    """The version in an ``If-Match`` header; None without the header. Raises ``InvalidField``."""
    if if_match is None:
        return None
    number = _parse_digits(if_match.strip().removeprefix("W/").strip('"'))
    if number is None:
        raise InvalidField("If-Match", 'must be the number of a version, such as "3"')
    return number


def _parse_digits(value: Json) -> int | None:
    """A whole number of at most nine digits, also one written as a text; None for any other value."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= 9 else None


def _build_history_view(tenant: str, versions: Sequence[TenantVersion]) -> dict[str, Json]:
    """The versions as JSON, newest first. ``changed``: the fields that differ from the version before."""
    rows: list[Json] = [
        {
            **_build_version_view(version),
            "changed": _list_changed_fields(earlier.document, version.document) if earlier else None,
        }
        for version, earlier in zip_longest(versions, versions[1:])
    ]
    return {"tenant": tenant, "versions": rows}


def _build_version_view(version: TenantVersion) -> dict[str, Json]:
    """A version as JSON, without its document."""
    return {
        "version": version.version,
        "at": version.at.isoformat(),
        "by": version.by,
        "comment": version.comment,
        "restored": version.restored,
        "withdrawn": version.withdrawn,
    }


def _list_changed_fields(earlier: JsonObject, later: JsonObject) -> list[Json]:
    names = sorted({*earlier, *later} - {"version"})
    return [name for name in names if earlier.get(name) != later.get(name)]


class TenantRecordEndpoints(ApiEndpoints[TenantRecordService]):
    requires_operator = True

    @api_path("GET", "/tenants/{tenant}/record")
    async def get_record(self, call: ApiCall) -> Response:
        """Show the tenant's present record, with its version as ``ETag``. It contains references to secrets only.

        404 if none is stored: then that of TENANT_FILE holds.
        """
        tenant = call.path_value("tenant")
        return _build_version_reply(tenant, await self._service.get_version(tenant, None))

    @api_path("POST", "/tenants/{tenant}/record/show")
    async def show_record(self, call: ApiCall) -> Response:
        """Show the tenant's record, or an earlier one: ``{"version"}``. A POST, since the body may name the caller.

        404 if no record, or none of that version, is stored.
        """
        tenant = call.path_value("tenant")
        number = _parse_version_number(call.body) if call.body.get("version") is not None else None
        return _build_version_reply(tenant, await self._service.get_version(tenant, number))

    @api_path("PUT", "/tenants/{tenant}/record")
    async def put_record(self, call: ApiCall) -> Response:
        """Replace the tenant's record.

        ``{"record", "comment", "metadata"}`` with the version that it replaces in ``If-Match``, or as the record's
        ``version``; 200 with the new version, which tasks use from their next turn on. 400 names each invalid field,
        412 the version that was stored meanwhile; 428 if no version is named.
        """
        tenant = call.path_value("tenant")
        change = _parse_record_change(call.body, call.request.headers.get("if-match"))
        return await _answer_change(tenant, self._service.store_record(tenant, *change, call.caller))

    @api_path("POST", "/tenants/{tenant}/record/history")
    async def list_versions(self, call: ApiCall) -> Response:
        """List the versions of the tenant's record, the newest first: who stored each, when, and what changed."""
        tenant = call.path_value("tenant")
        return _build_exact_json_response(_build_history_view(tenant, await self._service.list_versions(tenant)))

    @api_path("POST", "/tenants/{tenant}/record/restore")
    async def restore_version(self, call: ApiCall) -> Response:
        """Restore an earlier version of the tenant's record: ``{"version", "comment"}``; 200 with the new version.

        ``If-Match`` may name the version that it replaces. 404 if there is no such version, 400 if it is no longer
        valid, 412 if another version was stored meanwhile.
        """
        tenant = call.path_value("tenant")
        base = _parse_if_match(call.request.headers.get("if-match"))
        number, comment = _parse_version_number(call.body), _read_comment(call.body)
        return await _answer_change(tenant, self._service.restore_version(tenant, number, base, comment, call.caller))

    @api_path("POST", "/tenants/{tenant}/record/withdraw")
    async def withdraw_record(self, call: ApiCall) -> Response:
        """Withdraw the tenant's stored record: executors use that of their TENANT_FILE again.

        ``If-Match`` may name the version that is withdrawn. 404 if no record is stored, 412 if another version was
        stored meanwhile.
        """
        tenant = call.path_value("tenant")
        base = _parse_if_match(call.request.headers.get("if-match"))
        return await _answer_change(
            tenant, self._service.withdraw_record(tenant, base, _read_comment(call.body), call.caller)
        )


async def _answer_change(tenant: str, change: Awaitable[TenantVersion]) -> Response:
    """The response to a change: the new version, or an error with the reason."""
    try:
        return _build_version_reply(tenant, await change)
    except BadRecord as bad_record:
        error = f"the record cannot be used: {bad_record}"
        fields = [{"field": field, "problem": problem} for field, problem in bad_record.problems]
        return JSONResponse({"error": error, "fields": fields}, status_code=400)
    except VersionConflict as conflict:
        error = f"{conflict}: read it again and change that"
        return JSONResponse(
            {"error": error, "version": conflict.current_version}, 412, _build_etag(conflict.current_version)
        )


def _build_version_reply(tenant: str, version: TenantVersion) -> Response:
    view = {**_build_version_view(version), "tenant": tenant, "record": version.document}
    return _build_exact_json_response(view, _build_etag(version.version))


def _build_exact_json_response(value: Json, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response that keeps numbers exact."""
    return Response(dumps(value), media_type="application/json", headers=dict(headers or {}))


def _build_etag(number: int) -> dict[str, str]:
    return {"ETag": f'"{number}"', "Cache-Control": "no-store"}
