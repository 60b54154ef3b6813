"""``/memory``: an operator looks at what tasks have left for later ones, and has something forgotten."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import InvalidField, NoSuchRequest, NotAnOperator
from services.gateway.edge.fields import object_at, text_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.memory.model import TenantMemory
from services.gateway.features.memory.service import (
    MemoryService,
    accuracy_view,
    cases_view,
    entities_view,
    facts_view,
    forget_view,
)
from shared.contracts.forget import ForgetScope
from shared.domain.exact_json import JsonObject
from shared.ports.store import StoreUnavailable

_STATUS: Statuses = {
    InvalidField: 400,
    NotAnOperator: 403,
    NoSuchRequest: 404,
    StoreUnavailable: 503,
}


class MemoryEndpoints:
    """Each takes a body, ``{"metadata"}``; in the embedded profile the principal stands in it."""

    def __init__(self, desk: MemoryService, identity: Identity, max_body: int) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        for path, act in (
            ("/memory/cases", self.cases),
            ("/memory/facts", self.facts),
            ("/memory/entities", self.entities),
            ("/memory/accuracy", self.accuracy),
            ("/memory/forget", self.forget),
            ("/memory/forget/list", self.requests),
            ("/memory/forget/{request_id}/show", self.progress),
        ):
            router.add_api_route(path, act, methods=["POST"], response_class=JSONResponse)
        return router

    async def cases(self, request: Request) -> Response:
        """The case log, the newest first."""

        async def act(_: JsonObject, caller: Caller) -> JsonValue:
            return cases_view(await self._desk.cases(caller))

        return await self._answer(request, act)

    async def facts(self, request: Request) -> Response:
        """The facts, the newest first, also those that a newer one contradicts; and what finding them cost."""
        return await self._answer_with(request, facts_view)

    async def entities(self, request: Request) -> Response:
        """What tasks named, the most often seen first, with what it was named together with."""
        return await self._answer_with(request, entities_view)

    async def accuracy(self, request: Request) -> Response:
        """How often predicted limits and figures held, by process type and kind."""
        return await self._answer_with(request, accuracy_view)

    async def forget(self, request: Request) -> Response:
        """Ask that something be forgotten: ``scope`` is entity, session or tenant, ``subject`` which one."""

        async def act(body: JsonObject, caller: Caller) -> JsonValue:
            subject = text_at(body, "subject", "subject") or ""
            return forget_view(await self._desk.forget(caller, _scope(body), subject))

        return await self._answer(request, act)

    async def requests(self, request: Request) -> Response:
        """The requests to forget, the newest first."""

        async def act(_: JsonObject, caller: Caller) -> JsonValue:
            return {"requests": [forget_view(one) for one in await self._desk.requests(caller)]}

        return await self._answer(request, act)

    async def progress(self, request_id: str, request: Request) -> Response:
        """How far a request to forget is."""

        async def act(_: JsonObject, caller: Caller) -> JsonValue:
            return forget_view(await self._desk.progress(caller, request_id))

        return await self._answer(request, act)

    async def _answer_with(self, request: Request, view: Callable[[TenantMemory], JsonValue]) -> Response:
        async def act(_: JsonObject, caller: Caller) -> JsonValue:
            return view(await self._desk.read_memory(caller))

        return await self._answer(request, act)

    async def _answer(self, request: Request, act: Callable[[JsonObject, Caller], Awaitable[JsonValue]]) -> Response:
        try:
            body = await read_object(request, self._max_body, may_be_empty=True)
            caller = self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))
            return JSONResponse(await act(body, caller))
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)


def _scope(body: JsonObject) -> ForgetScope:
    try:
        return ForgetScope(text_at(body, "scope", "scope") or "")
    except ValueError:
        raise InvalidField("scope", f"must be one of {', '.join(ForgetScope)}") from None
