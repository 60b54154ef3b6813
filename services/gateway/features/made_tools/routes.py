"""``/tools/made``: an operator lists, reads and removes the tools that were made at run time."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import InvalidField, NotAnOperator, UnknownTool
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.made_tools.service import MadeToolService, full_view, short_view
from shared.ports.store import StoreUnavailable

_STATUS: Statuses = {
    InvalidField: 400,
    NotAnOperator: 403,
    UnknownTool: 404,
    StoreUnavailable: 503,
}


class MadeToolEndpoints:
    def __init__(self, desk: MadeToolService, identity: Identity, max_body: int) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/tools/made/list", self.list_all, methods=["POST"], response_class=JSONResponse)
        router.add_api_route("/tools/made/{name}/show", self.show, methods=["POST"], response_class=JSONResponse)
        router.add_api_route("/tools/made/{name}/remove", self.remove, methods=["POST"], response_class=JSONResponse)
        return router

    async def list_all(self, request: Request) -> Response:
        """``{"metadata"}``; 200 with every version of every tool, without code."""

        async def act(caller: Caller) -> Response:
            return JSONResponse({"tools": [short_view(tool) for tool in await self._desk.list_tools(caller)]})

        return await self._answer(request, act)

    async def show(self, name: str, request: Request) -> Response:
        """``{"metadata"}``; 200 with all versions of one tool, with code and cases."""

        async def act(caller: Caller) -> Response:
            return JSONResponse({"versions": [full_view(tool) for tool in await self._desk.show(name, caller)]})

        return await self._answer(request, act)

    async def remove(self, name: str, request: Request) -> Response:
        """``{"metadata"}``; 200 with all versions of the tool, none of which is used any more."""

        async def act(caller: Caller) -> Response:
            return JSONResponse({"versions": [full_view(tool) for tool in await self._desk.remove(name, caller)]})

        return await self._answer(request, act)

    async def _answer(self, request: Request, act: Callable[[Caller], Awaitable[Response]]) -> Response:
        try:
            body = await read_object(request, self._max_body)
            return await act(self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata")))
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)
