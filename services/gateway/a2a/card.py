"""The agent card: in the form of protocol 1.0 for clients that ask for it, else by default merged with 0.3's."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cache
from itertools import product

from a2a.types import a2a_pb2 as new
from fastapi import APIRouter, Request
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from services.gateway.a2a.card_keys import JWKS_PATH, CardKeys
from services.gateway.a2a.settings import A2aSettings
from services.gateway.a2a.skills import SKILLS
from services.gateway.a2a.views import FORMAT_0_3, FORMAT_1_0
from services.gateway.edge.replies import add_probe_route
from shared.domain.version import VERSION

_CONDITIONAL_REQUEST_CHECKER = StaticFiles()  # it compares If-None-Match and If-Modified-Since with a response
OUTPUT_MODES = ("text/plain", "application/json")
CARD_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_DESCRIPTION = (
    "Carries out business processes end to end: reads, computes, checks policy, asks for approval where a rule "
    "says so, writes, proves each write and answers."
)
_OFFICE_TYPE = "application/vnd.openxmlformats-officedocument"
_FILE_TYPES = (
    "application/pdf",
    f"{_OFFICE_TYPE}.wordprocessingml.document",
    f"{_OFFICE_TYPE}.spreadsheetml.sheet",
    f"{_OFFICE_TYPE}.presentationml.presentation",
    "image/png",
    "image/jpeg",
)


def build_agent_card(settings: A2aSettings) -> new.AgentCard:
    schemes = _build_security_schemes(settings)
    card = new.AgentCard(
        name="Purple Agent",
        description=f"{_DESCRIPTION} Model: {settings.model_notice}." if settings.model_notice else _DESCRIPTION,
        version=VERSION,
        provider=new.AgentProvider(organization=settings.a2a_provider, url=settings.a2a_provider_url)
        if settings.a2a_provider
        else None,
        documentation_url=settings.a2a_documentation_url or None,
        supported_interfaces=_list_interfaces(settings.card_url),
        capabilities=new.AgentCapabilities(
            streaming=settings.a2a_streaming == "on",
            push_notifications=settings.push_offered,
            extended_agent_card=settings.shows_extended_card,
        ),
        security_schemes=schemes,
        security_requirements=[new.SecurityRequirement(schemes={name: new.StringList()}) for name in schemes],
        default_input_modes=["text/plain", "application/json", *(_FILE_TYPES if settings.archive_url else ())],
        default_output_modes=list(OUTPUT_MODES),
        skills=[
            new.AgentSkill(
                id=skill.id,
                name=skill.name,
                description=skill.description,
                tags=skill.tags.split(),
                examples=[skill.example],
            )
            for skill in SKILLS
            if not settings.a2a_processes or skill.id in settings.a2a_processes
        ],
    )
    return settings.card_keys.sign(card) if settings.card_keys else card


def build_card_routes(card: new.AgentCard, last_modified: datetime, settings: A2aSettings) -> APIRouter:
    """The routes of the card and of the keys that verify it.

    The merged card has the signature of the 1.0 card, since verifiers of 1.0 ignore the fields of 0.3.
    """
    router = APIRouter()
    changed = last_modified.astimezone(UTC).replace(microsecond=0)
    keys = settings.card_keys
    shapes: Mapping[str, Callable[[new.AgentCard, CardKeys | None], Mapping[str, object]]]
    shapes = {"merged": _build_merged_card, "1.0": FORMAT_1_0.show_card, "0.3": FORMAT_0_3.show_card}

    @cache
    def serialize_card(name: str) -> bytes:
        return json.dumps(shapes[name](card, keys), ensure_ascii=False, sort_keys=True).encode()

    async def get_card(request: Request) -> Response:
        """The A2A agent card: the agent's skills, capabilities, URLs and authentication schemes."""
        version = request.headers.get("a2a-version", "")
        fallback = settings.a2a_card if not version or settings.a2a_card == "0.3" else "merged"
        body = serialize_card("1.0" if version.startswith("1") else fallback)
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        headers = {"ETag": etag, "Cache-Control": "public, max-age=300", "Vary": "A2A-Version"}
        headers["Last-Modified"] = format_datetime(changed, usegmt=True)
        if _CONDITIONAL_REQUEST_CHECKER.is_not_modified(Headers(headers), request.headers):
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    async def get_keys() -> JSONResponse:
        """The keys that verify this agent's card, as a JSON Web Key Set."""
        return JSONResponse(
            keys.public_key_set if keys else {"keys": []}, headers={"Cache-Control": "public, max-age=300"}
        )

    add_probe_route(router, JWKS_PATH, get_keys)
    for path in CARD_PATHS:
        add_probe_route(router, path, get_card)
    return router


def _list_interfaces(url: str) -> Iterator[new.AgentInterface]:
    """Yields the agent's interfaces, preferred first. REST clients append paths, so its URLs end without a slash."""
    urls = {"JSONRPC": url, "HTTP+JSON": url.rstrip("/")}
    for version, binding in product(("1.0", "0.3"), urls):
        yield new.AgentInterface(url=urls[binding], protocol_binding=binding, protocol_version=version)


def _build_security_schemes(settings: A2aSettings) -> dict[str, new.SecurityScheme]:
    schemes: dict[str, new.SecurityScheme] = {}
    if "keys" in settings.auth_methods:
        in_header = new.APIKeySecurityScheme(location="header", name="X-API-Key", description="A key of this gateway.")
        schemes["apiKey"] = new.SecurityScheme(api_key_security_scheme=in_header)
    if settings.auth_methods:
        kinds = " or ".join(
            {"keys": "a key of this gateway", "jwt": "a JSON Web Token"}[method] for method in settings.auth_methods
        )
        bearer = new.HTTPAuthSecurityScheme(scheme="Bearer", description=f"Authorization: Bearer, with {kinds}.")
        bearer.bearer_format = "JWT" if settings.auth_methods == ("jwt",) else ""
        schemes["bearer"] = new.SecurityScheme(http_auth_security_scheme=bearer)
    if settings.discovery_url:
        issuer = new.OpenIdConnectSecurityScheme(
            open_id_connect_url=settings.discovery_url, description="Who issues tokens."
        )
        schemes["openId"] = new.SecurityScheme(open_id_connect_security_scheme=issuer)
    return schemes


def _build_merged_card(card: new.AgentCard, _: CardKeys | None) -> Mapping[str, object]:
    from a2a.server.request_handlers.response_helpers import agent_card_to_dict  # it loads all of the SDK's server

    return agent_card_to_dict(card)
