"""A simulated world of our own simulator, in the test's process, and the bridge that a user's key makes of it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from typing import NamedTuple

import httpx
from fastapi import FastAPI
from starlette.applications import Starlette
from typing_extensions import override

from services.assessor.adapters.proctor_client import ProctorClient
from services.assessor.core.permissions import USER_PERMISSIONS
from services.executor.adapters.mcp_tools import McpTools
from services.gateway.worlds.server import WorldsEndpoint
from services.gateway.worlds.tool_calls import BridgedWorld, WorldCallStatus, WorldReply, WorldToolCaller
from services.gateway.worlds.world import build_world_url
from services.simulator.bootstrap import build
from services.simulator.settings import SimulatorSettings
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject
from tests.serving import serving

ADMIN = "a" * 64
USER = "user@example.com"
URL = "http://ues"
TENANT, SESSION, ASSESSMENT = "acme", "session-1", "the-assessment"


class OneAssessment:
    """``key`` is None where no assessment runs."""

    def __init__(self, key: str | None) -> None:
        self.key = key

    async def __call__(self, tenant: str, session_id: str, assessment: str) -> BridgedWorld | None:
        is_it = (tenant, session_id, assessment) == (TENANT, SESSION, ASSESSMENT)
        return BridgedWorld(URL, self.key) if self.key and is_it else None


class Line(httpx.AsyncBaseTransport):
    """The line to the world. ``lost``: how many answers to changes get lost, after the world has acted."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self.inner = inner
        self.paths: list[str] = []
        self.hosts: set[str] = set()
        self.lost: dict[str, int] = {}
        self.cut: set[str] = set()

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.paths.append(path)
        self.hosts.add(request.url.host)
        if path in self.cut:
            raise httpx.ConnectError("nobody is there")
        answer = await self.inner.handle_async_request(request)
        if self.lost.get(path, 0) > 0:
            self.lost[path] -= 1
            raise httpx.ReadTimeout("the answer got lost")
        return answer


class WorldStage(NamedTuple):
    """``tools``: how an executor asks the bridge, which is at ``bridge``."""

    proctor: ProctorClient
    calls: WorldToolCaller
    keys: OneAssessment
    line: Line
    key_id: str
    tools: McpTools
    bridge: str

    @property
    def endpoint(self) -> str:
        return build_world_url(self.bridge, TENANT, SESSION, ASSESSMENT)

    @property
    def connection(self) -> Connection:
        """As a request names it."""
        return Connection(id="request", url=self.endpoint, from_request=True)

    async def call(self, tool: str, **arguments: Json) -> WorldReply:
        return await self.calls.call_tool(BridgedWorld(URL, str(self.keys.key)), tool, arguments, 5.0)

    async def said(self, tool: str, **arguments: Json) -> JsonObject:
        """The answer of a call that has to work."""
        reply = await self.call(tool, **arguments)
        assert reply.result is WorldCallStatus.DONE, reply.content
        assert isinstance(reply.content, dict)
        return reply.content

    async def mail(self, sender: str, subject: str, body: str = "Hello.", to: Sequence[str] = (USER,)) -> str:
        """A mail that arrives; its id."""
        done = await self.proctor.email.receive(from_address=sender, to_addresses=to, subject=subject, body_text=body)
        return str(done.entity_id)


@cache
def _simulator() -> FastAPI:
    return build(SimulatorSettings.model_validate({"ues_admin_key": ADMIN}))


@asynccontextmanager
async def open_world() -> AsyncIterator[WorldStage]:
    """Emptied for each test: one application serves them all, since its routes take a while to build."""
    app = _simulator()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx.ASGITransport(app)
        proctor = await stack.enter_async_context(ProctorClient(URL, transport=transport, api_key=ADMIN))
        await proctor.simulation.clear()
        await proctor.simulation.start(auto_advance=False)
        key = await proctor.keys.create("the one measured", USER_PERMISSIONS)
        keys, line = OneAssessment(key.secret), Line(transport)
        calls = WorldToolCaller(transport=line)
        endpoint = WorldsEndpoint(keys, calls, 5.0)
        bridge = await stack.enter_async_context(serving(_application(endpoint)))
        tools = await stack.enter_async_context(McpTools())
        yield WorldStage(proctor, calls, keys, line, key.key_id, tools, bridge)


def _application(endpoint: WorldsEndpoint) -> Starlette:
    return Starlette(routes=list(endpoint.routes), lifespan=lambda _: endpoint.open())
