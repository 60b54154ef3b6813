"""What the REST bridge's adapter makes of each kind of answer (contract of the original tool servers)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import NamedTuple

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from services.executor.adapters.rest_bridge import RestBridge
from services.executor.ports.tools import ProtocolMismatch, ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, dumps, loads_object
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.legacy_bridge import LegacyBridge, bridge
from tests.serving import serving

pytestmark = pytest.mark.promise("tools.rest_bridge")


class Answering(NamedTuple):
    servers: RestBridge
    connection: Connection
    asked: list[str]


@asynccontextmanager
async def answering(body: str, status: int = 200, **headers: str) -> AsyncIterator[Answering]:
    """A server that gives every request the same answer."""
    asked: list[str] = []

    async def answer(request: Request) -> Response:
        asked.append(f"{request.method} {request.url.path}?{request.url.query}")
        return Response(body, status, headers, media_type="application/json")

    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])
    async with serving(app) as url, RestBridge() as servers:
        yield Answering(servers, Connection(id="bridge", url=f"{url}/base/"), asked)


async def test_a_call_carries_tool_params_and_session_with_exact_figures() -> None:
    served = LegacyBridge({})
    async with bridge(served) as connection, RestBridge() as servers:
        given: dict[str, Json] = {"amount": Decimal("1234567890123456.789"), "note": "für"}
        await servers.call(connection, "pay", given, 5, "s/1 &2")
    body = served.bodies[0].decode()
    assert loads_object(body) == {"tool": "pay", "params": given, "session_id": "s/1 &2"}
    assert "1234567890123456.789" in body


def test_the_default_tenant_and_a_server_that_the_request_named_have_the_sessions_own_id() -> None:
    installed, requested = (Connection(id="bridge", url="http://b", from_request=named) for named in (False, True))
    assert [requested.session_id_for(tenant, "weekly") for tenant in ("acme", "globex")] == ["weekly", "weekly"]
    assert installed.session_id_for("default", "weekly") == "weekly"
    ids = {installed.session_id_for(tenant, "weekly") for tenant in ("acme", "globex")}
    assert len(ids | {"weekly"}) == 3
    assert ids.isdisjoint(installed.session_id_for("default", each) for each in ids)  # nobody can ask for another's


async def test_discovery_names_the_session_and_keeps_the_base_path() -> None:
    async with answering("[]") as play:
        assert await play.servers.discover(play.connection, "s/1 &2") == ()
    assert play.asked == ["GET /base/mcp/tools?session_id=s%2F1+%262"]


async def test_a_compressed_answer_that_nobody_asked_for_is_not_opened() -> None:
    """A kilobyte of it may be a megabyte, before anybody has looked how much it is."""
    async with answering("{}", 200, **{"content-encoding": "gzip"}) as play:
        with pytest.raises(ToolSilent, match="compressed its answer, unasked"):
            await play.servers.call(play.connection, "pay", {}, 5)


async def test_a_servers_cookie_is_not_shown_in_the_next_call() -> None:
    """The next one may be another tenant's."""
    shown: list[str | None] = []

    async def answer(request: Request) -> Response:
        shown.append(request.headers.get("cookie"))
        return Response("[]", headers={"set-cookie": "session=of-the-first"}, media_type="application/json")

    async with serving(Starlette(routes=[Route("/mcp", answer, methods=["POST"])])) as url, RestBridge() as servers:
        for owner in ("acme", "globex"):
            await servers.call(Connection(id="bridge", url=url, author_tenant=owner), "get_order", {}, 5)
    assert shown == [None, None]


@each_row(
    "content",
    [],
    {},
    None,
    "Order sent.",
    [{"id": "A", "amount": Decimal("0.10")}],
    {"found": False, "error": "no such user"},
    {"status": "ok", "tool": "pay", "params": {"amount": 1}},
    {"id": "JOB-1", "status": "failed", "error": "disk full"},
    {"status": "ok", "error": None},
)
async def test_a_result_is_passed_through_as_it_came(content: Json) -> None:
    async with answering(dumps(content)) as play:
        answer = await play.servers.call(play.connection, "get_user", {}, 5)
    assert answer == ToolAnswer(content)


@each_row(
    ("content", "status"),
    ({"error": "CONSTRAINT_VIOLATION", "type": "CONSTRAINT_VIOLATION"}, 200),
    ({"error": "limit exceeded"}, 200),
    ({"detail": [{"loc": ["body", "params"], "msg": "Field required"}]}, 422),
    ({"detail": "no such tool"}, 404),
)
async def test_a_refusal_is_an_error_with_the_servers_words(content: Json, status: int) -> None:
    async with answering(dumps(content), status) as play:
        answer = await play.servers.call(play.connection, "approve", {}, 5)
    assert answer == ToolAnswer(content, is_error=True, not_begun=status >= 400)


@pytest.mark.promise("I4.unread_errors")
@pytest.mark.parametrize("status", [409, 429])
async def test_a_conflict_or_a_limit_does_not_say_that_nothing_was_done(status: int) -> None:
    async with answering(dumps({"detail": "not now"}), status) as play:
        answer = await play.servers.call(play.connection, "approve", {}, 5)
    assert answer == ToolAnswer(f'HTTP {status}: {{"detail":"not now"}}', is_error=True)


async def test_a_refusal_in_plain_words_is_told_as_it_is() -> None:
    async with answering("params must be an object", 422) as play:
        answer = await play.servers.call(play.connection, "approve", {}, 5)
    assert answer == ToolAnswer("params must be an object", is_error=True, not_begun=True)


@each_row(
    ("body", "status"),
    ("boom", 500),
    ('{"error": "CONSTRAINT_VIOLATION"}', 503),
    ("", 200),
    ("{", 200),
    ('{"amount": NaN}', 200),
    ("[" * 100_000, 200),
    ("too late", 408),
    ('{"moved": true}', 307),
    ('"' + "x" * 1024 * 1024 + '"', 200),
)
async def test_an_answer_that_leaves_open_what_happened_is_silence_and_not_repeated(body: str, status: int) -> None:
    async with answering(body, status, location="/elsewhere") as play:
        with pytest.raises(ToolSilent):
            await play.servers.call(play.connection, "approve", {}, 5)
    assert play.asked == ["POST /base/mcp?"]


@pytest.mark.parametrize(("body", "status"), [("{}", 200), ("<html>", 200), ("no", 404), ('{"tools": []}', 200)])
async def test_a_listing_that_is_no_array_is_another_protocol(body: str, status: int) -> None:
    async with answering(body, status) as play:
        with pytest.raises(ProtocolMismatch):
            await play.servers.discover(play.connection)


async def test_a_server_that_fails_is_silent_whatever_it_speaks() -> None:
    async with answering("down", 503) as play:
        with pytest.raises(ToolSilent) as caught:
            await play.servers.discover(play.connection)
    assert not isinstance(caught.value, ProtocolMismatch)


async def test_bad_entries_are_dropped_and_classes_come_from_names() -> None:
    listing: Json = [
        {"name": "get_order", "description": "reads", "input_schema": {"properties": {"order_id": {"type": "string"}}}},
        {"name": "approve_order"},
        {"name": "send_reminder", "description": None, "input_schema": {}},
        {"description": "no name"},
        "get_nothing",
        {"name": "get_broken", "input_schema": {"type": "object", "properties": 5}},
    ]
    async with answering(dumps(listing)) as play:
        tools = {tool.name: tool for tool in await play.servers.discover(play.connection)}
    assert {name: tool.tool_class for name, tool in tools.items()} == {
        "approve_order": ToolClass.CHANGE,
        "get_order": ToolClass.READ,
        "send_reminder": ToolClass.NOTIFY,
    }
    assert tools["approve_order"].input_schema == {"type": "object"}


async def test_an_equal_list_gives_the_same_objects() -> None:
    served = LegacyBridge({}, {"get_order": ("order_id",)})
    async with bridge(served) as connection, RestBridge() as servers:
        first = await servers.discover(connection)
        assert await servers.discover(connection.model_copy()) is first
        served.listing.append({"name": "get_user"})
        assert len(await servers.discover(connection)) == 2


async def test_an_address_that_cannot_be_one_is_unreachable() -> None:
    async with RestBridge() as servers:
        with pytest.raises(ToolUnreachable):
            await servers.call(Connection(id="odd", url="http://[half"), "get_order", {}, 5)


async def test_time_is_up_while_an_answer_trickles() -> None:
    """The limit is on the whole call, not on each of its parts."""

    async def trickle() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.02)

    async def answer(_: Request) -> Response:
        return StreamingResponse(trickle(), media_type="application/json")

    app = Starlette(routes=[Route("/mcp", answer, methods=["POST"])])
    async with serving(app) as url, RestBridge() as servers:
        with pytest.raises(ToolSilent, match="no answer within"):
            await servers.call(Connection(id="slow", url=url), "get_order", {}, 0.2)
