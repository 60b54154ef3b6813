"""The URL of an assessment's world; a module of its own, so that its users need not import MCP's library."""

from functools import partial
from urllib.parse import quote

from services.gateway.features.identity.middleware import WORLDS_PATH

ASSESSED_WORLD_PATH = WORLDS_PATH + "{tenant}/{session}/{assessment}/mcp"
_quote = partial(quote, safe="")


def world_endpoint(base: str, tenant: str, session_id: str, assessment: str) -> str:
    """The URL of an assessment's world as an MCP server. ``base``: the gateway's URL."""
    path = ASSESSED_WORLD_PATH.format(tenant=_quote(tenant), session=_quote(session_id), assessment=_quote(assessment))
    return base.rstrip("/") + path
