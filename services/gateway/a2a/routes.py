"""Everything that A2A clients reach: JSON-RPC, REST, cards, in all three dialects, as far as it is offered."""

from datetime import UTC, datetime
from typing import NamedTuple

from fastapi import APIRouter
from starlette.responses import Response

from services.gateway.a2a.card import ExtendedCard, TenantBook, agent_card, card_routes
from services.gateway.a2a.jsonrpc import JsonRpcEndpoint
from services.gateway.a2a.legacy import LegacyMethods
from services.gateway.a2a.methods import A2aMethods, A2aParts
from services.gateway.a2a.profile import GatewayProfile
from services.gateway.a2a.rest import A2aRest
from services.gateway.features.identity.model import Identity
from services.gateway.features.streams.routes import RestEndpoints
from services.gateway.features.tasks.listing import TaskListService
from services.gateway.features.tasks.model import Readiness
from services.gateway.features.tasks.service import TaskService
from services.gateway.features.webhooks.service import WebhookService


class Backing(NamedTuple):
    """What the paths stand on."""

    desk: TaskService
    lists: TaskListService
    identity: Identity
    readiness: Readiness
    book: TenantBook


class A2aBindings(NamedTuple):
    routes: APIRouter
    rpc: JsonRpcEndpoint
    methods: A2aMethods


def a2a_bindings(backing: Backing, face: GatewayProfile) -> A2aBindings:
    """Paths that more than one protocol shares stand here once; the first that fits a path answers."""
    desk, identity = backing.desk, backing.identity
    abilities = face.abilities._replace(
        push=face.abilities.push and desk.webhooks is not None, files=desk.files.offered
    )
    push = WebhookService(desk, desk.webhooks if abilities.push else None)
    card = agent_card(face._replace(abilities=abilities))
    extended = ExtendedCard(card, backing.book, face.keys)
    parts = A2aParts(desk, backing.lists, identity, push, extended, face.notice, abilities)
    methods = A2aMethods(parts)
    rest, rpc = A2aRest(methods, face), JsonRpcEndpoint(methods, LegacyMethods(parts), face)
    own = RestEndpoints(desk, identity, backing.readiness, face.notice, rest.task)
    router = APIRouter()
    router.add_api_route("/", rpc.__call__, methods=["POST"], response_class=Response, name="jsonrpc")
    for routes in (card_routes(card, datetime.now(UTC), face.card.usual, face.keys), rest.routes(), own.routes()):
        router.include_router(routes)
    return A2aBindings(router, rpc, methods)
