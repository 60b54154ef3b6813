"""``/keys``: an operator makes a tenant's API keys, lists them, revokes one."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import InvalidField, NotAnOperator, UnknownKey
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.identity.api_keys import KeyService, key_view, read_wish
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Caller, Identity
from shared.domain.exact_json import JsonObject
from shared.ports.store import StoreUnavailable

_STATUS: Statuses = {
    InvalidField: 400,
    NotAnOperator: 403,
    UnknownKey: 404,
    StoreUnavailable: 503,
}
_SECRET = {"Cache-Control": "no-store"}  # the one answer with a key's secret in it


class KeyEndpoints:
    def __init__(self, desk: KeyService, identity: Identity, max_body: int) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/keys/create", self.create, methods=["POST"], response_class=JSONResponse)
        router.add_api_route("/keys/list", self.list_all, methods=["POST"], response_class=JSONResponse)
        router.add_api_route("/keys/{key_id}/revoke", self.revoke, methods=["POST"], response_class=JSONResponse)
        return router

    async def create(self, request: Request) -> Response:
        """``{"key": {"principal", "roles", "levels", "label", "days"}, "metadata"}``; 201 with the key and its token.

        The token is in this answer and nowhere else.
        """

        async def act(body: JsonObject, caller: Caller) -> Response:
            made, now = await self._desk.create(read_wish(object_at(body, "key", "key")), caller)
            return JSONResponse({**key_view(made.key, now), "token": made.token}, 201, _SECRET)

        return await self._answer(request, act)

    async def list_all(self, request: Request) -> Response:
        """``{"metadata"}``; 200 with the tenant's keys, the newest first, without their secrets."""

        async def act(_: JsonObject, caller: Caller) -> Response:
            keys, now = await self._desk.list_keys(caller)
            return JSONResponse({"keys": [key_view(key, now) for key in keys]})

        return await self._answer(request, act)

    async def revoke(self, key_id: str, request: Request) -> Response:
        """``{"metadata"}``; 200 with the key, which lets nobody in any more."""

        async def act(_: JsonObject, caller: Caller) -> Response:
            return JSONResponse(key_view(*await self._desk.revoke(key_id, caller)))

        return await self._answer(request, act)

    async def _answer(self, request: Request, act: Callable[[JsonObject, Caller], Awaitable[Response]]) -> Response:
        try:
            body = await read_object(request, self._max_body)
            caller = self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))
            return await act(body, caller)
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)
