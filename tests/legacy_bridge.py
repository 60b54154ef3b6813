"""A tool server of the original agent's kind: a bare list of tools, one POST a call, raw results."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from tests.serving import serving

CUT = {"content-type": "application/json", "content-length": "1000000"}  # more than comes: the server cuts the line


class BridgeCall(NamedTuple):
    tool: str
    params: JsonObject
    session_id: str


class LegacyBridge:
    """Answers by ``tools``; a tool in ``once`` is refused from its second call in a session on.

    Any other tool is echoed: ``{"status": "ok", ...}``, whatever it is said to do. ``listed`` is what discovery shows,
    each tool with its fields: texts, all of them required.
    """

    def __init__(
        self, tools: dict[str, Callable[[JsonObject], Json]], listed: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        self.tools = tools
        self.listing: list[Json] = [_listed(name, fields) for name, fields in (listed or {}).items()]
        self.once: set[str] = set()
        self.hanging: set[str] = set()
        self.cut: set[str] = set()
        self.calls: list[BridgeCall] = []
        self.asked_for: list[str] = []
        self.bodies: list[bytes] = []
        self.app = Starlette(routes=[Route("/mcp/tools", self.discover), Route("/mcp", self.call, methods=["POST"])])

    def called(self, tool: str) -> list[JsonObject]:
        return [call.params for call in self.calls if call.tool == tool]

    async def discover(self, request: Request) -> Response:
        self.asked_for.append(request.query_params.get("session_id", ""))
        return _json(self.listing)

    async def call(self, request: Request) -> Response:
        body = await request.body()
        call = _read(body)
        if call is None:
            return _json({"detail": [{"loc": ["body", "tool"], "msg": "Field required"}]}, 422)
        self.bodies.append(body)
        again = any((done.tool, done.session_id) == (call.tool, call.session_id) for done in self.calls)
        self.calls.append(call)
        if call.tool in self.hanging:
            await asyncio.Event().wait()
        if again and call.tool in self.once:
            return _json({"error": "CONSTRAINT_VIOLATION", "type": "CONSTRAINT_VIOLATION"})
        answer = _json(self._answer(call))
        return Response(headers=CUT) if call.tool in self.cut else answer

    def _answer(self, call: BridgeCall) -> Json:
        tool = self.tools.get(call.tool)
        return tool(call.params) if tool else {"status": "ok", "tool": call.tool, "params": call.params}


@asynccontextmanager
async def bridge(served: LegacyBridge, port: int = 0) -> AsyncIterator[Connection]:
    async with serving(served.app, port) as url:
        yield Connection(id="bridge", url=url)


def _listed(name: str, fields: Iterable[str]) -> Json:
    required: list[Json] = [*fields]
    properties: JsonObject = {str(field): {"type": "string"} for field in required}
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": name.replace("_", " "), "input_schema": schema}


def _json(content: Json, status: int = 200) -> Response:
    return Response(dumps(content), status, media_type="application/json")


def _read(body: bytes) -> BridgeCall | None:
    """A well-formed call; the original servers validate three fields and refuse anything else."""
    given = loads_object(body)
    tool, params, session = given.get("tool"), given.get("params"), given.get("session_id")
    if not isinstance(tool, str) or not isinstance(params, dict) or not isinstance(session, str):
        return None
    return BridgeCall(tool, params, session)
