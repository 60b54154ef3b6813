"""Simulated worlds (UES) as MCP servers, whose writing tools name the read that proves a write.

``/worlds/TENANT/SESSION/ASSESSMENT/mcp`` is the world of a running assessment, with the key from its start message;
``/bridge/mcp`` is any world, named by a request's headers ``X-UES-URL`` and ``X-UES-Key``.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import TypeAlias, cast

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue
from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from services.gateway.worlds.tool_calls import CALL_SECONDS, OPERATIONS, BridgedWorld, WorldCallStatus, WorldToolCaller
from services.gateway.worlds.world import ASSESSED_WORLD_PATH, Operation
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, to_builtins, to_exact
from shared.domain.version import VERSION

ANY_WORLD_PATH = "/bridge/mcp"
PROOF_KEY = "purple-agent/proof"  # in a tool's _meta: the read that proves a write, and what it shows then
_WORLD_HAS_ENDED_TEXT = "no assessment of this world runs any more, so nothing is asked there"
_NO_WORLD_NAMED_TEXT = "name the world: its URL in the header X-UES-URL, the user's key in X-UES-Key"


# The world of an assessment of a tenant's session, at the moment of a call; None if it no longer runs there.
FindWorld: TypeAlias = Callable[[str, str, str], Awaitable[BridgedWorld | None]]


class WorldsEndpoint:
    """The MCP endpoints of worlds. ``routes`` serve requests while the context of ``open`` lasts.

    ``seconds``: how long a call may take.
    """

    def __init__(self, find: FindWorld, calls: WorldToolCaller, seconds: float = CALL_SECONDS) -> None:
        self._find = find
        self._calls = calls
        self._seconds = seconds
        server: Server[object] = Server(
            "ues-bridge", version=VERSION, on_list_tools=_list_tools, on_call_tool=self._call_tool
        )
        self._sessions = StreamableHTTPSessionManager(server, stateless=True, json_response=True)
        app = StreamableHTTPASGIApp(self._sessions)
        self.routes: Sequence[BaseRoute] = (Route(ASSESSED_WORLD_PATH, app), Route(ANY_WORLD_PATH, app))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with self._calls, self._sessions.run():
            yield

    async def _call_tool(
        self, context: ServerRequestContext[object], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a tool. ``MCPError`` has the code INVALID_PARAMS if certainly nothing was done, else INTERNAL_ERROR."""
        world = await self._find_world(cast(Request, context.request))
        reply = await self._calls.call_tool(world, params.name, params.arguments or {}, self._seconds)
        match reply.result:
            case WorldCallStatus.DONE:
                return types.CallToolResult(content=[types.TextContent(text=dumps(reply.content))])
            case WorldCallStatus.NOT_MADE:
                raise MCPError(types.INVALID_PARAMS, str(reply.content))
            case WorldCallStatus.UNKNOWN:
                raise MCPError(types.INTERNAL_ERROR, str(reply.content))

    async def _find_world(self, request: Request) -> BridgedWorld:
        names = request.path_params
        if not names:
            url, key = request.headers.get("x-ues-url", ""), request.headers.get("x-ues-key", "")
            if not url.startswith(("http://", "https://")):
                raise MCPError(types.INVALID_PARAMS, _NO_WORLD_NAMED_TEXT)
            return BridgedWorld(url, key)
        world = await self._find(names["tenant"], names["session"], names["assessment"])
        if world is None:
            raise MCPError(types.INVALID_PARAMS, _WORLD_HAS_ENDED_TEXT)
        return world


async def _list_tools(_: object, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_describe_tool(kind) for kind in OPERATIONS.values()])


def _describe_tool(kind: type[Operation]) -> types.Tool:
    """An operation as an MCP tool. Every change is marked destructive, so that workers plan it and read it back."""
    proof = {"read_back": kind.read_back, "expect": dict(kind.expect)} if kind.read_back else None
    return types.Tool.model_validate(
        {
            "name": kind.tool,
            "description": " ".join((kind.__doc__ or "").split()),
            "inputSchema": cast("dict[str, JsonValue]", to_builtins(build_input_schema(kind))),
            "annotations": types.ToolAnnotations(
                read_only_hint=kind.read_back is None,
                destructive_hint=kind.read_back is not None,
                open_world_hint=False,
            ),
            "_meta": {PROOF_KEY: proof} if proof else None,
        }
    )


_NULL_SCHEMA: Json = {"type": "null"}
_DROPPED_KEYS = frozenset({"title", "default"})


@cache
def build_input_schema(kind: type[Operation]) -> JsonObject:
    """The input schema of an operation, without titles and defaults; optional fields are not nullable."""
    given_schema = cast(JsonObject, to_exact(kind.model_json_schema()))
    properties = cast("dict[str, JsonObject]", given_schema.get("properties", {}))
    schema: JsonObject = {
        "type": "object",
        "properties": {name: _simplify_field(field_schema) for name, field_schema in properties.items()},
    }
    return {**schema, "required": given_schema.get("required", []), "additionalProperties": False}


def _simplify_field(field_schema: JsonObject) -> Json:
    options = field_schema.get("anyOf")
    options_kept = [option for option in options if option != _NULL_SCHEMA] if isinstance(options, list) else []
    single_option = options_kept[0] if len(options_kept) == 1 else {}
    merged = {**field_schema, **as_object(single_option)}
    return {name: value for name, value in merged.items() if name not in _DROPPED_KEYS and name != "anyOf"}
