"""The agent card: pure 1.0 for clients that say so, else merged with the fields that older clients need."""

import hashlib
import json

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from fastapi import APIRouter, Request
from starlette.responses import Response

from shared.domain.version import VERSION

PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_DESCRIPTION = (
    "Carries out business processes end to end: reads, computes, checks policy, asks for approval where a rule "
    "says so, writes, proves each write and answers."
)


def agent_card(url: str, notice: str) -> AgentCard:
    """``url`` is where clients reach the gateway from outside; ``notice`` says what kind of model serves."""
    return AgentCard(
        name="Purple Agent",
        description=f"{_DESCRIPTION} Model: {notice}." if notice else _DESCRIPTION,
        version=VERSION,
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="0.3"),
        ],
        capabilities=AgentCapabilities(streaming=False, push_notifications=False, extended_agent_card=False),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain", "application/json"],
        skills=[_skill()],
    )


def card_routes(card: AgentCard) -> APIRouter:
    router = APIRouter()
    merged, pure = _encoded(agent_card_to_dict(card)), _encoded(_pure_card(card))

    async def get_card(request: Request) -> Response:
        body = pure if request.headers.get("a2a-version", "").startswith("1") else merged
        etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
        headers = {"ETag": etag, "Cache-Control": "public, max-age=300", "Vary": "A2A-Version"}
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    for path in PATHS:
        router.add_api_route(path, get_card, methods=["GET"], response_class=Response)
    return router


def _pure_card(card: AgentCard) -> dict[str, object]:
    """The card in 1.0 fields alone: the SDK merges the older ones in where an interface of 0.3 is named."""
    newest = AgentCard()
    newest.CopyFrom(card)
    del newest.supported_interfaces[1:]
    interfaces = agent_card_to_dict(card)["supportedInterfaces"]
    return {**agent_card_to_dict(newest), "supportedInterfaces": interfaces}


def _skill() -> AgentSkill:
    return AgentSkill(
        id="business-process",
        name="Business processes",
        description="Expenses, procurement, orders, reconciliation, onboarding and more, over your own tools.",
        tags=["business", "approvals", "policy"],
        examples=["Process the expense claim for EMP-447, $2,340 for team offsite"],
    )


def _encoded(card: dict[str, object]) -> bytes:
    return json.dumps(card, ensure_ascii=False, sort_keys=True).encode()
