"""What is learned of a tenant, over HTTP."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import InvalidField, NobodyImports, NotAnOperator
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import RETRY_LATER, Statuses, kinds, refusal_reply
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.learning.model import LearningStatistics
from services.gateway.features.learning.service import LearningFileService, history_view, learning_view
from shared.domain.exact_json import JsonObject
from shared.ports.store import StoreUnavailable

_STATUS: Statuses = {
    InvalidField: 400,
    NotAnOperator: 403,
    StoreUnavailable: 503,
    NobodyImports: 503,
}


class LearningFileEndpoints:
    """Each takes a body with ``metadata``; in the embedded profile the principal stands in it."""

    def __init__(self, desk: LearningFileService, identity: Identity, max_body: int) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        for path, act in (("/learn/export", self.export), ("/learn/import", self.bring)):
            router.add_api_route(path, act, methods=["POST"], response_class=JSONResponse)
        return router

    async def export(self, request: Request) -> Response:
        """``{"files": {name: content}}`` of the caller's tenant."""

        async def act(_: JsonObject, caller: Caller) -> JsonValue:
            return {"files": {file.value: content for file, content in (await self._desk.export(caller)).items()}}

        return await self._answer(request, act)

    async def bring(self, request: Request) -> Response:
        """``{"file", "content", "dry_run"}``; with ``problems`` in the answer nothing of the file was taken."""

        async def act(body: JsonObject, caller: Caller) -> JsonValue:
            return (await self._desk.bring(caller, body)).model_dump(mode="json", exclude={"v"})

        return await self._answer(request, act)

    async def _answer(self, request: Request, act: Callable[[JsonObject, Caller], Awaitable[JsonValue]]) -> Response:
        try:
            body = await read_object(request, self._max_body, may_be_empty=True)
            caller = self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))
            return JSONResponse(await act(body, caller))
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)


def rl_status_routes(statistics: LearningStatistics, identity: Identity) -> APIRouter:
    router = APIRouter()

    @router.get("/rl/status", response_class=JSONResponse)
    async def rl_status(request: Request) -> Response:
        async def read_learning(tenant: str) -> JsonValue:
            return learning_view(await statistics.learning(tenant))

        return await _answer_from(request, identity, read_learning)

    @router.get("/rl/history", response_class=JSONResponse)
    async def rl_history(request: Request) -> Response:
        async def read_history(tenant: str) -> JsonValue:
            return history_view(await statistics.history(tenant))

        return await _answer_from(request, identity, read_history)

    return router


async def _answer_from(request: Request, identity: Identity, told: Callable[[str], Awaitable[JsonValue]]) -> Response:
    try:
        return JSONResponse(await told(identity.caller_of(let_in(request), {}).tenant))
    except InvalidField as fault:
        return JSONResponse({"error": str(fault)}, status_code=400)
    except StoreUnavailable as fault:
        return JSONResponse({"error": str(fault)}, 503, RETRY_LATER)
