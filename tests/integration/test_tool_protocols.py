"""Which protocol a tool server speaks: found out by asking, remembered while it works, never held against it."""

import asyncio
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from examples.company.faults import ToolFaults
from examples.company.server import build_app
from services.executor.adapters.tool_servers import open_servers
from services.executor.ports.tools import ToolSilent, ToolUnreachable
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json
from shared.domain.outgoing import Reach
from tests.company_stage import company, open_books
from tests.legacy_bridge import LegacyBridge, bridge
from tests.serving import serving

pytestmark = pytest.mark.promise("tools.protocol_detected")


def reading(**known: Json) -> LegacyBridge:
    return LegacyBridge({"get_order": lambda _: dict(known)}, {"get_order": ("order_id",)})


def odd(status: int, body: str, listing: str | None = "[]") -> Starlette:
    """A bridge that gives a POST it does not understand this answer, and a GET for the tools that listing."""

    async def listed(_: Request) -> Response:
        return Response(listing or "", 200 if listing else 404, media_type="application/json")

    async def other(_: Request) -> Response:
        return Response(body, status, media_type="application/json")

    routes = [Route("/mcp/tools", listed), Route("/{path:path}", other, methods=["POST"])]
    return Starlette(routes=routes)


async def test_an_mcp_server_is_found_at_the_url_or_below_it(tmp_path: Path) -> None:
    async with company(tmp_path) as running, open_servers(Reach()) as servers:
        below = await servers.discover(running.connection)
        exact = await servers.discover(Connection(id="company", url=f"{running.url}/mcp"))
    assert [tool.name for tool in below] == [tool.name for tool in exact] != []
    assert not servers.may_have_unlisted(running.connection)


async def test_a_bridge_is_found_although_it_lists_nothing() -> None:
    async with bridge(LegacyBridge({})) as connection, open_servers(Reach()) as servers:
        assert await servers.discover(connection, "s1") == ()
        assert servers.may_have_unlisted(connection)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, '{"status": "ok", "tool": null, "params": null}'),
        (200, '{"error": "unknown tool"}'),
        (200, "[]"),
        (400, '{"error": "tool is missing"}'),
        (422, '{"detail": "Field required"}'),
        (404, ""),
        (500, "KeyError: 'tool'"),
    ],
)
async def test_a_bridge_is_found_whatever_it_says_to_mcp(status: int, body: str) -> None:
    async with serving(odd(status, body)) as url, open_servers(Reach()) as servers:
        assert await servers.discover(Connection(id="odd", url=url)) == ()


@pytest.mark.parametrize(("status", "listing"), [(503, "[]"), (404, None), (404, "{}")])
async def test_a_server_that_is_busy_or_speaks_neither_is_no_bridge(status: int, listing: str | None) -> None:
    async with serving(odd(status, "no", listing)) as url, open_servers(Reach()) as servers:
        with pytest.raises(ToolSilent):
            await servers.discover(Connection(id="odd", url=url))


async def test_the_decision_is_remembered_while_it_works() -> None:
    served = reading(status="open")
    seen: list[str] = []

    async with serving(_watched(served, seen)) as url, open_servers(Reach()) as servers:
        connection = Connection(id="bridge", url=url)
        await servers.discover(connection, "s1")
        first = len(seen)
        await servers.discover(connection, "s2")
        answer = await servers.call(connection, "get_order", {"order_id": "O-1"}, 5, "s2")
    assert seen[first:] == ["GET /mcp/tools", "POST /mcp"]
    assert answer.content == {"status": "open"}


async def test_a_server_that_comes_back_with_the_other_protocol_is_found_again(tmp_path: Path) -> None:
    mcp_app = build_app(open_books(tmp_path), ToolFaults({}), faults_may_change=False)
    async with open_servers(Reach()) as servers:
        async with serving(mcp_app) as url:
            connection = Connection(id="moved", url=url)
            port = int(url.rpartition(":")[2])
            assert len(await servers.discover(connection)) > 1
        with pytest.raises((ToolUnreachable, ToolSilent)):
            await servers.discover(connection)
        async with serving(reading(status="open").app, port):
            tools = await servers.discover(connection)
    assert [tool.name for tool in tools] == ["get_order"]


async def test_a_call_without_a_discovery_finds_the_protocol_within_its_time() -> None:
    served = reading(status="open")
    async with bridge(served) as connection, open_servers(Reach()) as servers:
        answer = await servers.call(connection, "get_order", {"order_id": "O-1"}, 5, "s1")
    assert answer.content == {"status": "open"}
    assert len(served.calls) == 1


async def test_a_call_whose_server_speaks_nothing_known_was_not_sent() -> None:
    async with serving(odd(404, "no", None)) as url, open_servers(Reach()) as servers:
        with pytest.raises(ToolUnreachable, match="was not sent"):
            await servers.call(Connection(id="odd", url=url), "get_order", {}, 5)


async def test_a_call_says_if_its_time_went_by_before_a_protocol_was_found() -> None:
    async def never(_: Request) -> Response:
        await asyncio.Event().wait()
        return Response()

    app = Starlette(routes=[Route("/{path:path}", never, methods=["GET", "POST"])])
    async with serving(app) as url, open_servers(Reach()) as servers:
        with pytest.raises(ToolUnreachable, match="was not sent: no protocol was found in time"):
            await servers.call(Connection(id="slow", url=url), "get_order", {}, 0.2)


async def test_a_connection_may_say_its_protocol_outright() -> None:
    served = reading(status="open")
    seen: list[str] = []
    async with serving(_watched(served, seen)) as url, open_servers(Reach()) as servers:
        connection = Connection(id="bridge", url=url, protocol="rest")
        await servers.discover(connection, "s1")
        with pytest.raises(ToolSilent):
            await servers.discover(Connection(id="bridge", url=url, protocol="mcp"))
    assert seen[0] == "GET /mcp/tools"


def _watched(served: LegacyBridge, seen: list[str]) -> Starlette:
    """The same bridge, with a note of each request."""

    async def pass_on(request: Request) -> Response:
        seen.append(f"{request.method} {request.url.path}")
        if request.method == "GET":
            return await served.discover(request)
        return await served.call(request)

    return Starlette(routes=[Route("/{path:path}", pass_on, methods=["GET", "POST"])])
