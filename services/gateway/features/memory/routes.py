"""``/memory``: operators read what was remembered of their tenant's tasks, and ask to have it forgotten."""

from datetime import UTC, datetime
from secrets import token_hex

from fastapi import APIRouter
from pydantic import JsonValue

from services.gateway.edge.errors import NotFound
from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory, PathRules
from services.gateway.features.memory import service as memory
from services.gateway.features.memory.store import ForgetRequests, TenantMemories


class MemoryEndpoints:
    def __init__(self, memories: TenantMemories, forgets: ForgetRequests) -> None:
        self._memories, self._forgets = memories, forgets

    def routes(self, own: ApiRouterFactory) -> APIRouter:
        return own.router(
            ApiPath("POST", "/memory/cases", self.cases),
            ApiPath("POST", "/memory/facts", self.facts),
            ApiPath("POST", "/memory/entities", self.entities),
            ApiPath("POST", "/memory/accuracy", self.accuracy),
            ApiPath("POST", "/memory/forget", self.forget),
            ApiPath("POST", "/memory/forget/list", self.requests),
            ApiPath("POST", "/memory/forget/{request_id}/show", self.progress),
            rules=PathRules(may_be_empty=True, operators=True),
        )

    async def cases(self, call: ApiCall) -> JsonValue:
        """List the case log, the newest first."""
        return memory.cases_view(await self._memories.cases(call.caller.tenant))

    async def facts(self, call: ApiCall) -> JsonValue:
        """List the facts, the newest first, superseded ones too, and what extracting them cost."""
        return memory.facts_view(await self._memories.read_memory(call.caller.tenant))

    async def entities(self, call: ApiCall) -> JsonValue:
        """List the entities that tasks named, the most frequent first, with those named together with them."""
        return memory.entities_view(await self._memories.read_memory(call.caller.tenant))

    async def accuracy(self, call: ApiCall) -> JsonValue:
        """Show how often predicted limits and figures were right, by process type and kind."""
        return memory.accuracy_view(await self._memories.read_memory(call.caller.tenant))

    async def forget(self, call: ApiCall) -> JsonValue:
        """Request that memory is deleted: ``scope`` is entity, session or tenant, ``subject`` names which one."""
        request = memory.parse_forget_request(call.body, call.caller, datetime.now(UTC), token_hex(16))
        await self._forgets.submit(request)  # a learner does it soon: ``progress`` tells how far it is
        return memory.forget_request_view(request)

    async def requests(self, call: ApiCall) -> JsonValue:
        """List the requests to forget, the newest first."""
        return {
            "requests": [memory.forget_request_view(one) for one in await self._forgets.requests_of(call.caller.tenant)]
        }

    async def progress(self, call: ApiCall) -> JsonValue:
        """Show the state of a request to forget."""
        request_id = call.path_value("request_id")
        found = await self._forgets.find(call.caller.tenant, request_id)
        if found is None:
            raise NotFound(f"request to forget {request_id!r}")
        return memory.forget_request_view(found)
