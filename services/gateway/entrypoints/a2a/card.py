"""The agent card: pure 1.0 for clients that say so, else merged with the fields that older clients need."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentProvider,
    AgentSkill,
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from fastapi import APIRouter, Request
from starlette.responses import Response

from services.gateway.core.abilities import Abilities
from services.gateway.core.skills import SKILLS, Skill
from services.gateway.core.tasks.options import OUTPUT_MODES
from services.gateway.entrypoints.a2a.wire import NEW, OLD
from services.gateway.entrypoints.edge.face import Face
from shared.domain.version import VERSION

PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_DESCRIPTION = (
    "Carries out business processes end to end: reads, computes, checks policy, asks for approval where a rule "
    "says so, writes, proves each write and answers."
)
_BINDINGS = ("JSONRPC", "HTTP+JSON")
_SPOKEN = ("1.0", "0.3")


def agent_card(face: Face) -> AgentCard:
    abilities, facts = face.abilities, face.card
    schemes = _schemes(abilities)
    return AgentCard(
        name="Purple Agent",
        description=f"{_DESCRIPTION} Model: {face.notice}." if face.notice else _DESCRIPTION,
        version=VERSION,
        provider=AgentProvider(organization=facts.provider, url=facts.provider_url) if facts.provider else None,
        documentation_url=facts.documentation_url or None,
        supported_interfaces=_interfaces(face.url),
        capabilities=AgentCapabilities(
            streaming=abilities.streaming,
            push_notifications=abilities.push,
            extended_agent_card=abilities.shows_extended_card,
        ),
        security_schemes=schemes,
        security_requirements=[SecurityRequirement(schemes={name: StringList()}) for name in schemes],
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=list(OUTPUT_MODES),
        skills=[_skill(one) for one in SKILLS if not facts.processes or one.id in facts.processes],
    )


def card_routes(card: AgentCard, since: datetime, usual: str = "merged") -> APIRouter:
    """``since``: from when on this card has been served, by the second. ``usual``: the one for who names no version."""
    router, changed = APIRouter(), since.astimezone(UTC).replace(microsecond=0)
    shapes = {"merged": agent_card_to_dict, "1.0": NEW.card, "0.3": OLD.card}
    bodies = {name: _encoded(shape(card)) for name, shape in shapes.items()}

    async def get_card(request: Request) -> Response:
        """Who this agent is, what it can do and how it is reached."""
        said = request.headers.get("a2a-version", "")
        body = bodies["1.0" if said.startswith("1") else usual if not said or usual == "0.3" else "merged"]
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        headers = {"ETag": etag, "Cache-Control": "public, max-age=300", "Vary": "A2A-Version"}
        headers["Last-Modified"] = format_datetime(changed, usegmt=True)
        if _is_known(request, etag, changed):
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    for path in PATHS:
        router.add_api_route(path, get_card, methods=["GET"], response_class=Response)
    return router


def _skill(skill: Skill) -> AgentSkill:
    tags, examples = skill.tags.split(), [skill.example]
    return AgentSkill(id=skill.id, name=skill.name, description=skill.description, tags=tags, examples=examples)


def _interfaces(url: str) -> Iterator[AgentInterface]:
    """The preferred first. Over REST, paths follow the URL, so it ends without a slash."""
    for version in _SPOKEN:
        for binding in _BINDINGS:
            at = url.rstrip("/") if binding == "HTTP+JSON" else url
            yield AgentInterface(url=at, protocol_binding=binding, protocol_version=version)


def _schemes(abilities: Abilities) -> dict[str, SecurityScheme]:
    schemes: dict[str, SecurityScheme] = {}
    if "keys" in abilities.ways:
        in_header = APIKeySecurityScheme(location="header", name="X-API-Key", description="A key of this gateway.")
        schemes["apiKey"] = SecurityScheme(api_key_security_scheme=in_header)
    if abilities.ways:
        kinds = " or ".join({"keys": "a key of this gateway", "jwt": "a JSON Web Token"}[way] for way in abilities.ways)
        bearer = HTTPAuthSecurityScheme(scheme="Bearer", description=f"Authorization: Bearer, with {kinds}.")
        bearer.bearer_format = "JWT" if abilities.ways == ("jwt",) else ""
        schemes["bearer"] = SecurityScheme(http_auth_security_scheme=bearer)
    if abilities.discovery:
        issuer = OpenIdConnectSecurityScheme(open_id_connect_url=abilities.discovery, description="Who issues tokens.")
        schemes["openId"] = SecurityScheme(open_id_connect_security_scheme=issuer)
    return schemes


def _is_known(request: Request, etag: str, changed: datetime) -> bool:
    """Whether the client has this very card: by its tag, or, where it sends none, by its time."""
    tags = request.headers.get("if-none-match")
    if tags is not None:
        return any(tag.strip().removeprefix("W/") in (etag, "*") for tag in tags.split(","))
    try:
        since = parsedate_to_datetime(request.headers.get("if-modified-since", ""))
    except (ValueError, OverflowError):
        return False
    return changed <= (since if since.tzinfo else since.replace(tzinfo=UTC))


def _encoded(card: Mapping[str, object]) -> bytes:
    return json.dumps(card, ensure_ascii=False, sort_keys=True).encode()
