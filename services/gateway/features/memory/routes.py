"""``/memory``: operators read what was remembered of their tenant's tasks, and ask to have it forgotten."""

from datetime import UTC, datetime
from secrets import token_hex

from pydantic import JsonValue

from services.gateway.edge.errors import NotFound
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, PathRules, api_path
from services.gateway.features.memory import service as memory
from services.gateway.features.memory.store import TenantMemories


class MemoryEndpoints(ApiEndpoints[TenantMemories]):
    rules = PathRules(may_be_empty=True, requires_operator=True)

    @api_path("POST", "/memory/cases")
    async def list_cases(self, call: ApiCall) -> JsonValue:
        """List the case log, the newest first."""
        cases = await self._service.read_cases(call.caller.tenant)
        return {"cases": [case.model_dump(mode="json", exclude={"v"}) for case in cases]}

    @api_path("POST", "/memory/facts")
    async def list_facts(self, call: ApiCall) -> JsonValue:
        """List the facts, the newest first, superseded ones too, and what extracting them cost."""
        return memory.build_facts_view(await self._service.read_memory(call.caller.tenant))

    @api_path("POST", "/memory/entities")
    async def list_entities(self, call: ApiCall) -> JsonValue:
        """List the entities that tasks named, the most frequent first, with those named together with them."""
        return memory.build_entities_view(await self._service.read_memory(call.caller.tenant))

    @api_path("POST", "/memory/accuracy")
    async def show_accuracy(self, call: ApiCall) -> JsonValue:
        """Show how often predicted limits and figures were right, by process type and kind."""
        return memory.build_accuracy_view(await self._service.read_memory(call.caller.tenant))

    @api_path("POST", "/memory/forget")
    async def request_forgetting(self, call: ApiCall) -> JsonValue:
        """Request that memory is deleted: ``scope`` is entity, session or tenant, ``subject`` names which one."""
        request = memory.parse_forget_request(call.body, call.caller, datetime.now(UTC), token_hex(16))
        await self._service.submit_forget_request(request)  # a learner does it soon: ``progress`` tells how far it is
        return memory.build_forget_request_view(request)

    @api_path("POST", "/memory/forget/list")
    async def list_forget_requests(self, call: ApiCall) -> JsonValue:
        """List the requests to forget, the newest first."""
        requests = await self._service.list_forget_requests(call.caller.tenant)
        return {"requests": [memory.build_forget_request_view(request) for request in requests]}

    @api_path("POST", "/memory/forget/{request_id}/show")
    async def show_forget_request(self, call: ApiCall) -> JsonValue:
        """Show the state of a request to forget."""
        request_id = call.path_value("request_id")
        request = await self._service.find_forget_request(call.caller.tenant, request_id)
        if request is None:
            raise NotFound(f"request to forget {request_id!r}")
        return memory.build_forget_request_view(request)
