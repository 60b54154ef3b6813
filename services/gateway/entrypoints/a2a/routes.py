"""Everything that A2A clients reach: JSON-RPC, REST, cards, in all three dialects, as far as it is offered."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from fastapi import APIRouter
from starlette.responses import Response

from services.gateway.core.abilities import Abilities
from services.gateway.core.operating.tenant_facts import TenantBook
from services.gateway.core.push.desk import PushDesk
from services.gateway.core.tasks.desk import TaskDesk
from services.gateway.core.tasks.task_list import TaskListDesk
from services.gateway.entrypoints.a2a.calls import A2aCalls
from services.gateway.entrypoints.a2a.card import agent_card, card_routes
from services.gateway.entrypoints.a2a.extended_card import ExtendedCard
from services.gateway.entrypoints.a2a.jsonrpc import JsonRpcEndpoint, Method
from services.gateway.entrypoints.a2a.not_offered import not_offered
from services.gateway.entrypoints.a2a.push_calls import PushCalls
from services.gateway.entrypoints.a2a.push_rpc import push_methods
from services.gateway.entrypoints.a2a.rest import A2aRest
from services.gateway.entrypoints.a2a.rest_push import A2aRestPush
from services.gateway.entrypoints.a2a.rest_streams import A2aRestStreams
from services.gateway.entrypoints.a2a.rpc import A2aRpc
from services.gateway.entrypoints.a2a.rpc_streams import RpcStreams
from services.gateway.entrypoints.edge.face import Face
from services.gateway.entrypoints.operating.rest import RestEndpoints
from services.gateway.ports.identity import Identity
from services.gateway.ports.tasks import Readiness


class A2aParts(NamedTuple):
    """What A2A stands on."""

    desk: TaskDesk
    lists: TaskListDesk
    identity: Identity
    readiness: Readiness
    book: TenantBook


def a2a_routes(parts: A2aParts, face: Face) -> APIRouter:
    """Paths that more than one protocol shares stand here once; the first that fits a path answers."""
    router = APIRouter()
    abilities = face.abilities._replace(push=face.abilities.push and parts.desk.webhooks is not None)
    calls = A2aCalls(parts.desk, parts.lists, parts.identity, face.notice)
    card = agent_card(face.url, face.notice, abilities)
    extended = ExtendedCard(card, calls, parts.book, offered=abilities.shows_extended_card)
    push = PushCalls(PushDesk(parts.desk, parts.desk.webhooks if abilities.push else None), calls)
    rest = A2aRest(calls, face.max_body)
    methods = {**not_offered(), **A2aRpc(calls).methods(), **_optional(parts, calls, push, extended, face, abilities)}
    rpc = JsonRpcEndpoint(parts.desk, parts.identity, face.notice, face.max_body, methods)
    router.add_api_route("/", rpc.__call__, methods=["POST"], response_class=Response, name="jsonrpc")
    router.include_router(card_routes(card, datetime.now(UTC)))
    router.include_router(extended.routes())
    streams = A2aRestStreams(parts.desk, calls, face.notice, face.max_body, offered=abilities.streaming)
    router.include_router(streams.routes())
    router.include_router(A2aRestPush(push, face.max_body).routes())
    router.include_router(rest.routes())
    own = RestEndpoints(parts.desk, parts.identity, parts.readiness, face.notice, rest.task)
    router.include_router(own.routes())
    return router


def _optional(
    parts: A2aParts, calls: A2aCalls, push: PushCalls, extended: ExtendedCard, face: Face, abilities: Abilities
) -> Mapping[str, Method]:
    """The methods of what is offered; they take the place of those that refuse."""
    found: dict[str, Method] = {}
    if abilities.streaming:
        found |= RpcStreams(parts.desk, calls, face.notice).methods()
    if abilities.push:
        found |= push_methods(push)
    if abilities.shows_extended_card:
        found |= extended.methods()
    return found
