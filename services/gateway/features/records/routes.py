"""``/tenants/{tenant}/record``: operators read, replace and restore their tenant's record."""

from collections.abc import Awaitable, Mapping

from starlette.responses import JSONResponse, Response

from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, PathRules, api_path
from services.gateway.features.records import service as records
from shared.contracts.tenant_document import BadRecord, TenantVersion
from shared.domain.exact_json import Json, dumps
from shared.ports.tenant_records import VersionConflict


class TenantRecordEndpoints(ApiEndpoints[records.RecordService]):
    rules = PathRules(requires_operator=True)

    @api_path("GET", "/tenants/{tenant}/record")
    async def get_record(self, call: ApiCall) -> Response:
        """Show the tenant's present record, with its version as ``ETag``. It contains references to secrets only."""
        tenant = call.path_value("tenant")
        return _version_reply(tenant, await self._service.get_version(tenant, None))

    @api_path("POST", "/tenants/{tenant}/record/show")
    async def show_record(self, call: ApiCall) -> Response:
        """Show the tenant's record, or an earlier one: ``{"version"}``. A POST, since the body may name the caller."""
        tenant = call.path_value("tenant")
        number = records.parse_version_number(call.body) if call.body.get("version") is not None else None
        return _version_reply(tenant, await self._service.get_version(tenant, number))

    @api_path("PUT", "/tenants/{tenant}/record")
    async def put_record(self, call: ApiCall) -> Response:
        """Replace the tenant's record.

        ``{"record", "comment", "metadata"}`` with ``If-Match``; 200 with the new version, which tasks use from their
        next turn on. 400 names each invalid field, 412 the version that was stored meanwhile.
        """
        tenant = call.path_value("tenant")
        change = records.parse_change(call.body, call.request.headers.get("if-match"))
        return await _answer_change(tenant, self._service.put(tenant, change, call.caller))

    @api_path("POST", "/tenants/{tenant}/record/history")
    async def list_versions(self, call: ApiCall) -> Response:
        """List the versions of the tenant's record, the newest first: who stored each, when, and what changed."""
        tenant = call.path_value("tenant")
        return _answer_json(records.build_history_view(tenant, await self._service.list_versions(tenant)))

    @api_path("POST", "/tenants/{tenant}/record/restore")
    async def restore_version(self, call: ApiCall) -> Response:
        """Restore an earlier version of the tenant's record: ``{"version", "comment"}``; 200 with the new version."""
        tenant, base = call.path_value("tenant"), records.parse_if_match(call.request.headers.get("if-match"))
        number, comment = records.parse_version_number(call.body), records.read_comment(call.body)
        return await _answer_change(tenant, self._service.restore(tenant, number, base, comment, call.caller))

    @api_path("POST", "/tenants/{tenant}/record/withdraw")
    async def withdraw_record(self, call: ApiCall) -> Response:
        """Withdraw the tenant's stored record: executors use that of their TENANT_FILE again."""
        tenant, base = call.path_value("tenant"), records.parse_if_match(call.request.headers.get("if-match"))
        return await _answer_change(
            tenant, self._service.withdraw(tenant, base, records.read_comment(call.body), call.caller)
        )


async def _answer_change(tenant: str, change: Awaitable[TenantVersion]) -> Response:
    """The response to a change: the new version, or an error with the reason."""
    try:
        return _version_reply(tenant, await change)
    except BadRecord as bad_record:
        error = f"the record cannot be used: {bad_record}"
        fields = [{"field": field, "problem": problem} for field, problem in bad_record.problems]
        return JSONResponse({"error": error, "fields": fields}, status_code=400)
    except VersionConflict as conflict:
        error = f"{conflict}: read it again and change that"
        return JSONResponse(
            {"error": error, "version": conflict.current_version}, 412, _build_etag(conflict.current_version)
        )


def _version_reply(tenant: str, version: TenantVersion) -> Response:
    view = {**records.build_version_view(version), "tenant": tenant, "record": version.document}
    return _answer_json(view, _build_etag(version.version))


def _answer_json(value: Json, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response that keeps numbers exact."""
    return Response(dumps(value), media_type="application/json", headers=dict(headers or {}))


def _build_etag(number: int) -> dict[str, str]:
    return {"ETag": f'"{number}"', "Cache-Control": "no-store"}
