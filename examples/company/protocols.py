"""Which protocols the tools are served over, and where: the same path means another thing in each."""

from enum import StrEnum

from pydantic_core import from_json
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from examples.company.hang_up import replay_body


class ToolProtocol(StrEnum):
    MCP = "mcp"
    REST = "rest"
    BOTH = "both"


class ProtocolDispatcher:
    """ASGI: a POST whose body is a JSON object with ``tool`` goes over the bridge, everything else is MCP's."""

    def __init__(self, mcp: ASGIApp, rest: ASGIApp) -> None:
        self._mcp = mcp
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self._mcp(scope, receive, send)
        body = await Request(scope, receive).body()
        app = self._rest if _names_a_tool(body) else self._mcp
        return await app(scope, replay_body(body, receive), send)


def _names_a_tool(body: bytes) -> bool:
    try:
        asked = from_json(body)
    except ValueError:
        return False
    return isinstance(asked, dict) and "tool" in asked
