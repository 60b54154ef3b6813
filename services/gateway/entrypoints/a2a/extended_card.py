"""The extended card: what this worker can do for the tenant of whoever asks, beside what everybody may know."""

from collections.abc import Iterator, Mapping

from a2a.compat.v0_3.conversions import to_compat_agent_card
from a2a.types.a2a_pb2 import AgentCard, AgentExtension, AgentSkill
from fastapi import APIRouter
from google.protobuf.json_format import MessageToDict
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from services.gateway.core.errors import NoExtendedCard, Unsupported
from services.gateway.core.operating.tenant_facts import TenantBook, TenantFacts
from services.gateway.entrypoints.a2a.calls import A2aCalls
from services.gateway.entrypoints.a2a.jsonrpc import Method
from services.gateway.entrypoints.a2a.not_offered import NO_EXTENDED_CARD
from services.gateway.entrypoints.a2a.rest import REST_0_3, REST_1_0, answered
from services.gateway.entrypoints.a2a.rpc import result
from services.gateway.entrypoints.a2a.versions import MEDIA_TYPE
from services.gateway.entrypoints.a2a.wire import Shown
from services.gateway.entrypoints.edge.body import Call
from services.gateway.entrypoints.edge.door import let_in
from services.gateway.ports.identity import Caller
from shared.contracts.made_tool import MadeTool
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject
from shared.domain.words import Dialect, Role

LIMITS = "urn:purple-agent:tenant-limits:1"
_PRIVATE = {"Cache-Control": "private, no-store"}


class ExtendedCard:
    def __init__(self, card: AgentCard, calls: A2aCalls, book: TenantBook, *, offered: bool) -> None:
        self._card, self._calls, self._book, self._offered = card, calls, book, offered

    def methods(self) -> Mapping[str, Method]:
        return {
            "GetExtendedAgentCard": Method(Dialect.A2A_1_0, self._get),
            "agent/getAuthenticatedExtendedCard": Method(Dialect.A2A_0_3, self._get_0_3),
        }

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/extendedAgentCard", self.get, methods=["GET"], response_class=JSONResponse)
        router.add_api_route("/v1/card", self.get_0_3, methods=["GET"], response_class=JSONResponse)
        return router

    async def get(self, request: Request) -> Response:
        """GetExtendedAgentCard of protocol 1.0: the card for the caller's own tenant."""

        async def act() -> Response:
            return JSONResponse(_new(await self._of({}, request)), headers=_PRIVATE, media_type=MEDIA_TYPE)

        return await answered(REST_1_0, request, act)

    async def get_0_3(self, request: Request) -> Response:
        """agent/getAuthenticatedExtendedCard of protocol 0.3."""

        async def act() -> Response:
            return JSONResponse(_old(await self._of({}, request)), headers=_PRIVATE)

        return await answered(REST_0_3, request, act)

    async def _get(self, call: Call, request: Request) -> Response:
        return result(call, _new(await self._of(call.params, request)))

    async def _get_0_3(self, call: Call, request: Request) -> Response:
        return result(call, _old(await self._of(call.params, request)))

    async def _of(self, params: JsonObject, request: Request) -> AgentCard:
        if not self._offered:
            raise Unsupported(NO_EXTENDED_CARD)
        caller = self._calls.caller(params, let_in(request))
        if not caller.principal.verified:
            raise NoExtendedCard("the extended card is for callers who have shown who they are")
        facts = await self._book.facts(caller.tenant)
        card = AgentCard()
        card.CopyFrom(self._card)
        card.description = f"{card.description} For tenant {caller.tenant}."
        card.skills.extend(_skills(facts, caller))
        if facts.limits:
            limits = AgentExtension(uri=LIMITS, description="What holds for this tenant, of each task and each day.")
            limits.params.update(facts.limits)
            card.capabilities.extensions.append(limits)
        return card


def _skills(facts: TenantFacts, caller: Caller) -> Iterator[AgentSkill]:
    """What the tenant has beside the processes that come with the worker, and what the caller may do itself."""
    yield from map(_connected, facts.connections)
    yield from map(_calculator, facts.calculators)
    if facts.processes:
        yield _learned(facts.processes)
    if Role.APPROVER in caller.principal.roles:
        yield _deciding(caller)


def _new(card: AgentCard) -> Shown:
    return dict(MessageToDict(card))


def _old(card: AgentCard) -> Shown:
    return dict(to_compat_agent_card(card).model_dump(mode="json", by_alias=True, exclude_none=True))


def _connected(connection: Connection) -> AgentSkill:
    tools = ", ".join(sorted(connection.catalogue)) or "what it offers is asked of it when a task begins"
    return AgentSkill(
        id=f"connection.{connection.id}",
        name=connection.id,
        description=f"Works with this tenant's own tools at {connection.id}: {tools}.",
        tags=["tools"],
    )


def _calculator(tool: MadeTool) -> AgentSkill:
    return AgentSkill(
        id=f"calculator.{tool.name}",
        name=tool.name,
        description=f"A calculator made for this tenant: {tool.purpose}",
        tags=["calculator"],
    )


def _learned(count: int) -> AgentSkill:
    return AgentSkill(
        id="own-processes",
        name="Processes of this tenant",
        description=f"{count} kinds of process that the worker has worked out for this tenant.",
        tags=["processes"],
    )


def _deciding(caller: Caller) -> AgentSkill:
    levels = ", ".join(caller.principal.levels) or "no level"
    return AgentSkill(
        id="approvals",
        name="Approvals",
        description=f"Decides approvals that wait ({levels}), by message to their task or at /approvals.",
        tags=["approvals"],
        examples=["approve", "reject: over budget"],
    )
