"""A simulated world of our own simulator, in the test's process, and the tools that a user's key makes of it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import NamedTuple

import httpx
from fastapi import FastAPI
from typing_extensions import override

from services.assessor.core.permissions import USER_PERMISSIONS
from services.executor.adapters.ues_tools import UesTools, WorldKeys
from services.executor.ports.tools import ToolAnswer
from services.simulator.bootstrap import build
from services.simulator.settings import SimulatorSettings
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject
from shared.infra.ues.client import AsyncUESClient

ADMIN = "a" * 64
USER = "user@example.com"
URL = "http://ues"
WORLD = Connection(id="world", url=URL, protocol="ues", from_request=True, owner="acme")


class KnownKeys(WorldKeys):
    """The key of one session; ``key`` is None where no assessment runs."""

    def __init__(self, key: str | None) -> None:
        self.key = key

    @override
    async def key_to(self, tenant: str, session_id: str, url: str, assessment: str) -> str | None:
        return self.key if (tenant, session_id) == ("acme", "session-1") else None


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
    proctor: AsyncUESClient
    tools: UesTools
    keys: KnownKeys
    line: Line
    key_id: str

    async def call(self, tool: str, **arguments: Json) -> ToolAnswer:
        return await self.tools.call(WORLD, tool, arguments, 5.0, "session-1")

    async def said(self, tool: str, **arguments: Json) -> JsonObject:
        """The answer of a call that has to work."""
        answer = await self.call(tool, **arguments)
        assert not answer.is_error, answer.content
        assert isinstance(answer.content, dict)
        return answer.content

    async def mail(self, sender: str, subject: str, body: str = "Hello.", to: Sequence[str] = (USER,)) -> str:
        """A mail that arrives; its id."""
        done = await self.proctor.email.receive(from_address=sender, to_addresses=to, subject=subject, body_text=body)
        return str(done.entity_id)

    async def ask(self, text: str) -> None:
        """What the user says in the chat."""
        await self.proctor.chat.send("user", text, "user-assistant")


@cache
def _simulator() -> FastAPI:
    return build(SimulatorSettings.model_validate({"ues_admin_key": ADMIN}))


@asynccontextmanager
async def open_world() -> AsyncIterator[WorldStage]:
    """Emptied for each test: one application serves them all, since its routes take a while to build."""
    app = _simulator()
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with AsyncUESClient(URL, transport=transport, api_key=ADMIN) as proctor:
            await proctor.simulation.clear()
            await proctor.simulation.start(auto_advance=False)
            key = await proctor.keys.create("the one measured", USER_PERMISSIONS)
            keys, line = KnownKeys(key.secret), Line(transport)
            async with UesTools(keys, transport=line) as tools:
                yield WorldStage(proctor, tools, keys, line, key.key_id)
