"""``/memory``: an operator looks at what tasks have left for later ones, and has something forgotten."""

from fastapi import APIRouter
from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import text_at
from services.gateway.features.identity.own_paths import OwnCall, OwnPath, OwnPaths
from services.gateway.features.memory import service as memory
from shared.contracts.learning_files import ForgetScope
from shared.domain.exact_json import JsonObject


class MemoryEndpoints:
    def __init__(self, service: memory.MemoryService) -> None:
        self._service = service

    def routes(self, own: OwnPaths) -> APIRouter:
        return own.router(
            OwnPath("POST", "/memory/cases", self.cases),
            OwnPath("POST", "/memory/facts", self.facts),
            OwnPath("POST", "/memory/entities", self.entities),
            OwnPath("POST", "/memory/accuracy", self.accuracy),
            OwnPath("POST", "/memory/forget", self.forget),
            OwnPath("POST", "/memory/forget/list", self.requests),
            OwnPath("POST", "/memory/forget/{request_id}/show", self.progress),
            may_be_empty=True,
        )

    async def cases(self, call: OwnCall) -> JsonValue:
        """List the case log, the newest first."""
        return memory.cases_view(await self._service.cases(call.caller))

    async def facts(self, call: OwnCall) -> JsonValue:
        """List the facts, the newest first, also those that a newer one contradicts; and what finding them cost."""
        return memory.facts_view(await self._service.read_memory(call.caller))

    async def entities(self, call: OwnCall) -> JsonValue:
        """List what tasks named, the most often seen first, with what it was named together with."""
        return memory.entities_view(await self._service.read_memory(call.caller))

    async def accuracy(self, call: OwnCall) -> JsonValue:
        """Show how often predicted limits and figures held, by process type and kind."""
        return memory.accuracy_view(await self._service.read_memory(call.caller))

    async def forget(self, call: OwnCall) -> JsonValue:
        """Ask that something be forgotten: ``scope`` is entity, session or tenant, ``subject`` which one."""
        subject = text_at(call.body, "subject", "subject") or ""
        return memory.forget_view(await self._service.forget(call.caller, _scope(call.body), subject))

    async def requests(self, call: OwnCall) -> JsonValue:
        """List the requests to forget, the newest first."""
        return {"requests": [memory.forget_view(one) for one in await self._service.requests(call.caller)]}

    async def progress(self, call: OwnCall) -> JsonValue:
        """Show how far a request to forget is."""
        return memory.forget_view(await self._service.progress(call.caller, call.path_word("request_id")))


def _scope(body: JsonObject) -> ForgetScope:
    try:
        return ForgetScope(text_at(body, "scope", "scope") or "")
    except ValueError:
        raise InvalidField("scope", f"must be one of {', '.join(ForgetScope)}") from None
