"""Where the bridge shows the world of an assessment, as an MCP server: known without the library of MCP."""

from functools import partial
from urllib.parse import quote

from services.gateway.features.identity.middleware import WORLDS

ASSESSED_WORLD = WORLDS + "{tenant}/{session}/{assessment}/mcp"
_quote = partial(quote, safe="")


def world_endpoint(base: str, tenant: str, session_id: str, assessment: str) -> str:
    """Its URL, where ``base`` is the gateway's."""
    path = ASSESSED_WORLD.format(tenant=_quote(tenant), session=_quote(session_id), assessment=_quote(assessment))
    return base.rstrip("/") + path
