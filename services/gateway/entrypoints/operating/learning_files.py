"""``/learn``: an operator takes what is learned out as files, and brings files in."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.core.errors import InvalidField, NobodyImports, NotAnOperator
from services.gateway.core.fields import object_at
from services.gateway.core.operating.learning_files import FileDesk
from services.gateway.entrypoints.edge.body import read_object
from services.gateway.entrypoints.edge.door import let_in
from services.gateway.entrypoints.edge.refusals import Statuses, kinds, refused
from services.gateway.ports.identity import Caller, Identity
from services.gateway.ports.tasks import StoreUnavailable
from shared.domain.exact_json import JsonObject

_STATUS: Statuses = {
    InvalidField: 400,
    NotAnOperator: 403,
    StoreUnavailable: 503,
    NobodyImports: 503,
}


class LearningFileEndpoints:
    """Each takes a body with ``metadata``; in the embedded profile the principal stands in it."""

    def __init__(self, desk: FileDesk, identity: Identity, max_body: int) -> None:
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
            return refused(fault, _STATUS)
