"""What the MCP adapter makes of servers that are broken, old, gone or hostile."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from pydantic import JsonValue
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from examples.company.calls import ToolCaller
from examples.company.faults import ToolFaults
from examples.company.server import build_app, mcp_server
from services.executor.adapters.mcp_tools import McpTools
from services.executor.ports.tools import AnswerTooLarge, ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json
from tests.company_stage import company, open_books
from tests.each_row import each_row
from tests.integration.saboteur import NoModernMcp, Sabotage, Saboteur, again, error, raw, result
from tests.serving import serving

ARGUMENTS: dict[str, Json] = {"expense_id": "EXP-1001"}


class Sabotaged(NamedTuple):
    servers: McpTools
    connection: Connection
    saboteur: Saboteur


@asynccontextmanager
async def sabotaged(folder: Path, method: str, sabotage: Sabotage) -> AsyncIterator[Sabotaged]:
    app = build_app(open_books(folder), ToolFaults({}), faults_may_change=False)
    saboteur = Saboteur(app, method, sabotage)
    async with serving(saboteur) as url, McpTools() as servers:
        yield Sabotaged(servers, Connection(id="bad", url=f"{url}/mcp"), saboteur)


def texts(*blocks: str, **more: JsonValue) -> Sabotage:
    content: list[JsonValue] = [{"type": "text", "text": block} for block in blocks]
    return result({"content": content, "resultType": "complete", **more})


@pytest.mark.promise("tools.silent_unless_certain")
@each_row(
    "sabotage",
    raw("down", 500),
    raw('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}', 503, content_type="application/json"),
    raw("<html>login</html>", 200, content_type="text/html"),
    raw("<html>no</html>", 403, content_type="text/html"),
    raw("", 202),
    raw("{", 200, content_type="application/json"),
    raw("[1]", 200, content_type="application/json"),
    raw("[" * 100_000, 200, content_type="application/json"),
    raw('{"jsonrpc":"2.0","id":"other","result":{}}', 200, content_type="application/json"),
    raw("x", 200, content_type="application/json", content_encoding="gzip"),
    raw("", 307, location="/health"),
    raw("data: nonsense\n\n", 200, content_type="text/event-stream"),
    raw("", 200, content_type="text/event-stream"),
    result({"content": "not a list"}),
    result({}),
    texts("x" * 1024 * 1024),
    texts("{}", resultType="input_required"),
    error(-32603),
    error(-32000),
    error(-32099),
)
async def test_an_unusable_answer_is_silent_and_the_call_is_not_repeated(tmp_path: Path, sabotage: Sabotage) -> None:
    """The request may have taken effect: the caller is told so, and the server saw it exactly once."""
    async with sabotaged(tmp_path, "tools/call", sabotage) as bad:
        with pytest.raises(ToolSilent):
            await bad.servers.call(bad.connection, "get_expense", ARGUMENTS, 5)

        assert bad.saboteur.seen == 1
        assert len(await bad.servers.discover(bad.connection)) >= 15  # the shared session lives on


_TOO_LARGE = {"content": [{"type": "text", "text": "x" * 1024 * 1024}], "resultType": "complete"}


@each_row(
    "sabotage",
    texts("x" * 1024 * 1024),
    raw(
        f"event: message\ndata: {json.dumps({'jsonrpc': '2.0', 'id': 3, 'result': _TOO_LARGE})}\n\n",
        200,
        content_type="text/event-stream",
    ),
)
async def test_an_answer_that_is_too_large_is_called_so_also_in_a_stream(tmp_path: Path, sabotage: Sabotage) -> None:
    async with sabotaged(tmp_path, "tools/call", sabotage) as bad:
        with pytest.raises(AnswerTooLarge, match="larger than 1,048,576 bytes"):
            await bad.servers.call(bad.connection, "get_expense", ARGUMENTS, 5)
        assert len(await bad.servers.discover(bad.connection)) >= 15


async def test_a_server_cannot_pretend_that_it_was_never_reached(tmp_path: Path) -> None:
    """The line's own error code from the server's mouth is not believed."""

    forged = {"code": -32099, "message": "no connection", "data": {"mark": "", "kind": "unreachable"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 3, "error": forged})
    async with sabotaged(tmp_path, "tools/call", raw(body, 502, content_type="application/json")) as bad:
        with pytest.raises(ToolSilent):
            await bad.servers.call(bad.connection, "get_expense", ARGUMENTS, 5)


@pytest.mark.parametrize("code", [-32600, -32601, -32602])
async def test_an_error_that_says_nothing_was_begun_is_a_refusal(tmp_path: Path, code: int) -> None:
    async with sabotaged(tmp_path, "tools/call", error(code)) as bad:
        answer = await bad.servers.call(bad.connection, "get_expense", ARGUMENTS, 5)

    assert answer == ToolAnswer("it broke", is_error=True, not_begun=True)


@pytest.mark.promise("tools.exact_answers")
@each_row(
    ("sabotage", "content"),
    (
        texts('{"amount": 0.1, "rate": 1234567890123456.789}'),
        {"amount": Decimal("0.1"), "rate": Decimal("1234567890123456.789")},
    ),
    (texts("[]"), []),
    (texts("Order sent."), "Order sent."),
    (texts("first", "second"), "first\nsecond"),
    (texts('{"a": 1}', '{"a": 2}'), [{"a": 1}, {"a": 2}]),
    (texts("A summary.", structuredContent={"amount": 19.99}), {"amount": Decimal("19.99")}),
    (texts('{"amount": 20.0}', structuredContent={"amount": 20}), {"amount": Decimal("20.0")}),
    (texts(), None),
    (texts('{"amount": NaN}'), '{"amount": NaN}'),
    (texts("[" * 50_000), "[" * 50_000),
)
async def test_content_is_exact_json_or_bare_text(tmp_path: Path, sabotage: Sabotage, content: Json) -> None:
    async with sabotaged(tmp_path, "tools/call", sabotage) as bad:
        answer = await bad.servers.call(bad.connection, "get_expense", ARGUMENTS, 5)

    assert answer == ToolAnswer(content)
    assert str(answer.content) == str(content)  # 20.0 stays 20.0


async def test_a_number_that_json_would_round_is_not_sent(tmp_path: Path) -> None:
    async with sabotaged(tmp_path, "tools/call", texts("{}")) as bad:
        answer = await bad.servers.call(bad.connection, "x", {"n": Decimal("1234567890123456.789")}, 5)

    assert answer.is_error
    assert bad.saboteur.seen == 0


def tool(name: str, **schema: JsonValue) -> dict[str, JsonValue]:
    return {"name": name, "inputSchema": {"type": "object", **schema}}


def listing(*tools: JsonValue, **more: JsonValue) -> Sabotage:
    return result({"tools": [*tools], "resultType": "complete", "ttlMs": 0, "cacheScope": "private", **more})


@pytest.mark.promise("tools.bad_tools_dropped")
async def test_tools_that_cannot_be_used_are_dropped_and_the_others_stay(tmp_path: Path) -> None:
    """Twice published, without a name, with a name without end, with a schema that is none."""
    tools = (
        tool("get_b"),
        tool("get_a"),
        tool("twice"),
        tool("twice"),
        tool(" "),
        tool("x" * 200),
        tool("get_bad", properties={"n": {"type": "numbre"}}),
    )
    async with sabotaged(tmp_path, "tools/list", listing(*tools)) as bad:
        found = await bad.servers.discover(bad.connection)

    assert [each.name for each in found] == ["get_a", "get_b"]


@each_row(
    ("sabotage", "sentence"),
    (listing({"inputSchema": {"type": "object"}}), "name"),
    (listing({"name": "x", "inputSchema": "any"}), "inputSchema"),
    (listing("x"), "tools"),
    (listing(tool("a"), nextCursor="again"), "same cursor twice"),
    (listing(*(tool(f"get_{number}") for number in range(5_001))), "more than 5,000 tools"),
    (result({"tools": None}), "cannot be used"),
    (error(-32601), "it broke"),
    (raw("down", 500), "HTTP 500"),
)
async def test_a_list_that_cannot_be_read_is_silent_why(tmp_path: Path, sabotage: Sabotage, sentence: str) -> None:
    async with sabotaged(tmp_path, "tools/list", sabotage) as bad:
        with pytest.raises(ToolSilent, match=sentence):
            await bad.servers.discover(bad.connection)


async def test_a_server_that_does_not_speak_mcp_is_silent_and_a_call_was_certainly_not_sent() -> None:
    async with serving(Starlette()) as url, McpTools() as servers:
        connection = Connection(id="bad", url=url)
        with pytest.raises(ToolSilent):
            await servers.discover(connection)
        with pytest.raises(ToolUnreachable, match="was not sent"):
            await servers.call(connection, "get_expense", ARGUMENTS, 5)


async def test_the_endpoint_may_be_given_with_or_without_its_path(tmp_path: Path) -> None:
    async with company(tmp_path) as running, McpTools() as servers:
        for url in (running.url, f"{running.url}/", f"{running.url}/mcp"):
            answer = await servers.call(Connection(id="x", url=url), "get_expense", ARGUMENTS, 5)
            assert not answer.is_error


async def test_a_server_that_comes_back_is_used_again_without_a_restart(tmp_path: Path) -> None:
    """Down at first and down in between: no address is given up for good."""
    port = _free_port()
    connection = Connection(id="company", url=f"http://127.0.0.1:{port}/mcp")
    async with McpTools() as servers:
        with pytest.raises(ToolUnreachable):
            await servers.discover(connection)
        for folder in ("first", "second"):
            (tmp_path / folder).mkdir()
            app = build_app(open_books(tmp_path / folder), ToolFaults({}), faults_may_change=False)
            async with serving(app, port):
                assert not (await servers.call(connection, "get_expense", ARGUMENTS, 5)).is_error
            with pytest.raises(ToolUnreachable):
                await servers.call(connection, "get_expense", ARGUMENTS, 5)


@asynccontextmanager
async def old_server(folder: Path, port: int) -> AsyncIterator[str]:
    """A stateful server of the generation before, answering with event streams."""
    faults = ToolFaults({})
    async with AsyncExitStack() as stack:
        books = stack.enter_context(closing(open_books(folder)))
        sessions = StreamableHTTPSessionManager(mcp_server(ToolCaller(books, faults), faults))
        await stack.enter_async_context(sessions.run())
        app = Starlette(routes=[Route("/mcp", NoModernMcp(StreamableHTTPASGIApp(sessions)))])
        yield await stack.enter_async_context(serving(app, port))


async def test_a_server_of_the_generation_before_is_understood(tmp_path: Path) -> None:
    async with old_server(tmp_path, 0) as url, McpTools() as servers:
        connection = Connection(id="old", url=url)
        tools = await servers.discover(connection)
        answer = await servers.call(connection, "get_expense", ARGUMENTS, 5)

    assert len(tools) >= 15
    assert isinstance(answer.content, dict)
    assert answer.content["amount"] == "2340.00"


async def test_a_session_that_the_server_forgot_is_opened_anew_for_the_next_call(tmp_path: Path) -> None:
    """A restarted stateful server answers 404; the call was not begun and is not repeated, but the list is."""
    port = _free_port()
    connection = Connection(id="old", url=f"http://127.0.0.1:{port}/mcp")
    async with McpTools() as servers:
        for number, folder in enumerate(("first", "second", "third")):
            (tmp_path / folder).mkdir()
            async with old_server(tmp_path / folder, port):
                if number == 1:
                    refused = await servers.call(connection, "approve_expense", ARGUMENTS, 5)
                    assert refused.is_error
                assert await servers.discover(connection)
                assert not (await servers.call(connection, "approve_expense", ARGUMENTS, 5)).is_error


@pytest.mark.promise("tools.shared_session_survives")
async def test_cancelled_and_failing_calls_leave_the_shared_session_whole(tmp_path: Path) -> None:
    """Two hundred callers share one session; every third gives up at another moment."""
    async with company(tmp_path) as running, McpTools() as servers:
        await servers.discover(running.connection)

        async def one(number: int) -> bool:
            try:
                async with asyncio.timeout(number * 0.0005 if number % 3 == 0 else 60):
                    answer = await servers.call(running.connection, "get_expense", {"expense_id": f"EXP-{number}"}, 60)
            except TimeoutError:
                return number % 3 == 0
            return isinstance(answer.content, dict)

        assert all(await asyncio.gather(*(one(number) for number in range(200))))
        assert not (await servers.call(running.connection, "get_expense", ARGUMENTS, 5)).is_error


async def test_a_server_of_the_generation_before_hears_that_a_call_was_given_up(tmp_path: Path) -> None:
    """To such a server a closed connection says nothing; a newer one takes it for the cancellation."""
    hanging, reports = asyncio.Event(), asyncio.Queue[JsonValue]()

    async def hang(_: Request, key: JsonValue) -> Response:
        reports.put_nowait(key)
        await hanging.wait()
        return Response()

    async def note_report(scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body() if scope["type"] == "http" else b""
        message = json.loads(body) if body else {}
        if message.get("method") == "notifications/cancelled":
            reports.put_nowait(message["params"]["requestId"])
        await app(scope, again(body, receive) if body else receive, send)

    app = NoModernMcp(
        Saboteur(build_app(open_books(tmp_path), ToolFaults({}), faults_may_change=False), "tools/call", hang)
    )
    async with serving(note_report) as url, McpTools() as servers, asyncio.timeout(20):
        connection = Connection(id="old", url=f"{url}/mcp")
        await servers.discover(connection)
        with pytest.raises(ToolSilent):
            await servers.call(connection, "get_expense", ARGUMENTS, 0.3)
        assert await reports.get() == await reports.get()
        hanging.set()


async def test_closing_an_open_session_does_not_hang(tmp_path: Path) -> None:
    async with old_server(tmp_path, 0) as url, asyncio.timeout(10), McpTools() as servers:
        await servers.discover(Connection(id="old", url=url))


async def test_idle_sessions_make_room_for_new_ones(tmp_path: Path) -> None:
    """Endpoints that come with a task may never come back: the number of open sessions is bounded."""
    async with company(tmp_path) as running, McpTools(max_links=3) as servers:
        for number in range(7):
            connection = Connection(id=str(number), url=f"{running.url}/mcp?caller={number}")
            assert not (await servers.call(connection, "get_expense", ARGUMENTS, 10)).is_error

        assert len(servers._links) == 3


@pytest.mark.promise("tools.session_of_a_tenant")
async def test_no_two_tenants_share_a_session_of_a_server_that_both_connect_to(tmp_path: Path) -> None:
    """A server may keep state with it."""
    async with old_server(tmp_path, 0) as url, McpTools() as servers:
        connection = Connection(id="erp", url=url, author_tenant="acme")
        for caller in (connection, connection, connection.model_copy(update={"author_tenant": "globex"})):
            await servers.call(caller, "get_expense", ARGUMENTS, 10)
        assert len(servers._links) == 2


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
