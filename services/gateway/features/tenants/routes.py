"""``/tenants/{tenant}``: an operator stops a tenant, lets it go on, and sees how it stands."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import InvalidField, NotAnOperator, NoVisibleTenant
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.tenants.model import TenantState
from services.gateway.features.tenants.service import TenantService, read_reason, read_switch, state_view
from shared.domain.exact_json import JsonObject
from shared.ports.store import StoreUnavailable

_STATUS: Statuses = {InvalidField: 400, NotAnOperator: 403, NoVisibleTenant: 404, StoreUnavailable: 503}


class TenantEndpoints:
    def __init__(self, desk: TenantService, identity: Identity, max_body: int) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/tenants/{tenant}/stop", self.stop, methods=["POST"], response_class=JSONResponse)
        router.add_api_route("/tenants/{tenant}/resume", self.resume, methods=["POST"], response_class=JSONResponse)
        router.add_api_route("/tenants/{tenant}/show", self.show, methods=["POST"], response_class=JSONResponse)
        path = "/tenants/{tenant}/made-tools"
        router.add_api_route(path, self.made_tools, methods=["POST"], response_class=JSONResponse)
        return router

    async def stop(self, tenant: str, request: Request) -> Response:
        """``{"reason", "metadata"}``; 200 with the tenant as it stands then."""

        async def act(body: JsonObject, caller: Caller) -> TenantState:
            return await self._desk.stop(tenant, read_reason(body), caller)

        return await self._answer(tenant, request, act)

    async def resume(self, tenant: str, request: Request) -> Response:
        """``{"metadata"}``; 200 with the tenant as it stands then."""

        async def act(_: JsonObject, caller: Caller) -> TenantState:
            return await self._desk.resume(tenant, caller)

        return await self._answer(tenant, request, act)

    async def made_tools(self, tenant: str, request: Request) -> Response:
        """``{"on", "metadata"}``; 200 with the tenant as it stands then."""

        async def act(body: JsonObject, caller: Caller) -> TenantState:
            return await self._desk.switch_made_tools(tenant, read_switch(body), caller)

        return await self._answer(tenant, request, act)

    async def show(self, tenant: str, request: Request) -> Response:
        """``{"metadata"}``; 200 with the tenant as it stands. A POST, since the body says who asks."""

        async def act(_: JsonObject, caller: Caller) -> TenantState:
            return await self._desk.show(tenant, caller)

        return await self._answer(tenant, request, act)

    async def _answer(
        self, tenant: str, request: Request, act: Callable[[JsonObject, Caller], Awaitable[TenantState]]
    ) -> Response:
        try:
            body = await read_object(request, self._max_body)
            caller = self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))
            return JSONResponse(state_view(tenant, await act(body, caller)))
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)
