"""``/tenants/{tenant}/record``: an operator reads and replaces what the tenant says, version by version."""

from collections.abc import Awaitable, Callable, Mapping

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import InvalidField, NotAnOperator, NoVisibleTenant
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.records.model import PolicyUnchecked
from services.gateway.features.records.service import (
    BaseNeeded,
    NoRecord,
    RecordService,
    history_view,
    problems_view,
    read_base,
    read_change,
    read_comment,
    read_number,
    version_view,
)
from shared.contracts.tenant_document import BadRecord
from shared.contracts.tenant_version import TenantVersion
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.ports.store import StoreUnavailable
from shared.ports.tenant_records import VersionConflict

_STATUS: Statuses = {
    InvalidField: 400,
    NotAnOperator: 403,
    NoVisibleTenant: 404,
    NoRecord: 404,
    BaseNeeded: 428,
    StoreUnavailable: 503,
    PolicyUnchecked: 503,
}
_Act = Callable[[JsonObject, Caller], Awaitable[Response]]


class RecordEndpoints:
    def __init__(self, desk: RecordService, identity: Identity, max_body: int) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body

    def routes(self) -> APIRouter:
        router, path = APIRouter(), "/tenants/{tenant}/record"
        router.add_api_route(path, self.get, methods=["GET"], response_class=JSONResponse)
        router.add_api_route(path, self.put, methods=["PUT"], response_class=JSONResponse)
        router.add_api_route(f"{path}/show", self.show, methods=["POST"], response_class=JSONResponse)
        router.add_api_route(f"{path}/history", self.history, methods=["POST"], response_class=JSONResponse)
        router.add_api_route(f"{path}/restore", self.restore, methods=["POST"], response_class=JSONResponse)
        router.add_api_route(f"{path}/withdraw", self.withdraw, methods=["POST"], response_class=JSONResponse)
        return router

    async def get(self, tenant: str, request: Request) -> Response:
        """The record as it holds, with its version as ``ETag``; it holds references to secrets, and no secret."""

        async def act(_: JsonObject, caller: Caller) -> Response:
            return _version(tenant, await self._desk.show(tenant, None, caller))

        return await self._answer(request, act, reads=False)

    async def show(self, tenant: str, request: Request) -> Response:
        """``{"version", "metadata"}``; the same, or an earlier version. A POST, since the body says who asks."""

        async def act(body: JsonObject, caller: Caller) -> Response:
            number = read_number(body) if body.get("version") is not None else None
            return _version(tenant, await self._desk.show(tenant, number, caller))

        return await self._answer(request, act)

    async def put(self, tenant: str, request: Request) -> Response:
        """``{"record", "comment", "metadata"}`` with ``If-Match``; 200 with the new version, which holds from the next
        turn on. 400 names each field that is wrong, 412 the version that somebody else has stored meanwhile.
        """

        async def act(body: JsonObject, caller: Caller) -> Response:
            change = read_change(body, request.headers.get("if-match"))
            return _version(tenant, await self._desk.put(tenant, change, caller))

        return await self._answer(request, act)

    async def history(self, tenant: str, request: Request) -> Response:
        """``{"metadata"}``; who changed what and when, the newest first."""

        async def act(_: JsonObject, caller: Caller) -> Response:
            return _json(history_view(tenant, await self._desk.history(tenant, caller)))

        return await self._answer(request, act)

    async def restore(self, tenant: str, request: Request) -> Response:
        """``{"version", "comment", "metadata"}``; 200 with a new version that says what that one said."""

        async def act(body: JsonObject, caller: Caller) -> Response:
            base = read_base(request.headers.get("if-match"))
            number, comment = read_number(body), read_comment(body)
            return _version(tenant, await self._desk.restore(tenant, number, base, comment, caller))

        return await self._answer(request, act)

    async def withdraw(self, tenant: str, request: Request) -> Response:
        """``{"comment", "metadata"}``; 200 once the tenant has no stored record: that of TENANT_FILE holds again."""

        async def act(body: JsonObject, caller: Caller) -> Response:
            base = read_base(request.headers.get("if-match"))
            return _version(tenant, await self._desk.withdraw(tenant, base, read_comment(body), caller))

        return await self._answer(request, act)

    async def _answer(self, request: Request, act: _Act, *, reads: bool = True) -> Response:
        try:
            body = await read_object(request, self._max_body) if reads else {}
            caller = self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))
            return await act(body, caller)
        except BadRecord as bad:
            said = f"the record cannot be used: {bad}"
            return JSONResponse({"error": said, "fields": problems_view(bad.problems)}, status_code=400)
        except VersionConflict as conflict:
            said = f"{conflict}: read it again and change that"
            return JSONResponse({"error": said, "version": conflict.now}, 412, _etag(conflict.now))
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)


def _version(tenant: str, version: TenantVersion) -> Response:
    return _json(version_view(tenant, version), _etag(version.version))


def _json(value: Json, headers: Mapping[str, str] | None = None) -> Response:
    """Numbers stay as exact as they were written."""
    return Response(dumps(value), media_type="application/json", headers=dict(headers or {}))


def _etag(number: int) -> dict[str, str]:
    return {"ETag": f'"{number}"', "Cache-Control": "no-store"}
