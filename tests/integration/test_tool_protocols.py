"""Which protocol a tool server speaks: asked, remembered; a catalogue from a server, loaded again."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cli.tools import build_discovery_table
from examples.company.faults import ToolFaults
from examples.company.protocols import ToolProtocol
from examples.company.server import build_app
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.stored_tenants import FileTenants
from services.executor.adapters.tool_servers import open_servers
from services.executor.core.records.read_backs import predict_proving_read
from services.executor.core.tools.toolbox import build_record_keys
from services.executor.ports.tools import Tool, ToolSilent, ToolUnreachable
from services.executor.tool_listing import (
    CatalogueExists,
    ServerListing,
    build_catalogue_document,
    describe_tools,
    write_catalogue_file,
)
from shared.contracts.credential import Credential
from shared.contracts.policy import Policy, Rule
from shared.contracts.tenant import CatalogueEntry, Connection, RecordKind
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.outgoing import AllowedAddresses
from shared.domain.words import ToolClass
from tests.company_stage import Company, company, open_books
from tests.each_row import each_row
from tests.integration.gateway_stage import object_at
from tests.legacy_bridge import LegacyBridge, bridge
from tests.serving import serving


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


@pytest.mark.promise("tools.protocol_detected")
async def test_an_mcp_server_is_found_at_the_url_or_below_it(tmp_path: Path) -> None:
    async with company(tmp_path) as running, open_servers(AllowedAddresses()) as servers:
        below = await servers.discover(running.connection)
        exact = await servers.discover(Connection(id="company", url=f"{running.url}/mcp"))
    assert [tool.name for tool in below] == [tool.name for tool in exact] != []
    assert not servers.may_have_unlisted_tools(running.connection)


@pytest.mark.promise("tools.protocol_detected")
@each_row(
    ("status", "body"),
    (200, '{"status": "ok", "tool": null, "params": null}'),
    (200, '{"error": "unknown tool"}'),
    (200, "[]"),
    (400, '{"error": "tool is missing"}'),
    (422, '{"detail": "Field required"}'),
    (404, ""),
    (500, "KeyError: 'tool'"),
)
async def test_a_bridge_is_found_whatever_it_says_to_mcp(status: int, body: str) -> None:
    async with serving(odd(status, body)) as url, open_servers(AllowedAddresses()) as servers:
        connection = Connection(id="odd", url=url)
        assert (await servers.discover(connection), servers.may_have_unlisted_tools(connection)) == ((), True)


@pytest.mark.promise("tools.protocol_detected")
@pytest.mark.parametrize(("status", "listing"), [(503, "[]"), (404, None), (404, "{}")])
async def test_a_server_that_is_busy_or_speaks_neither_is_no_bridge(status: int, listing: str | None) -> None:
    async with serving(odd(status, "no", listing)) as url, open_servers(AllowedAddresses()) as servers:
        with pytest.raises(ToolSilent):
            await servers.discover(Connection(id="odd", url=url))


@pytest.mark.promise("tools.protocol_detected")
async def test_the_decision_is_remembered_while_it_works() -> None:
    served = reading(status="open")
    seen: list[str] = []
    async with serving(_watched(served, seen)) as url, open_servers(AllowedAddresses()) as servers:
        connection = Connection(id="bridge", url=url)
        await servers.discover(connection, "s1")
        first = len(seen)
        await servers.discover(connection, "s2")
        answer = await servers.call(connection, "get_order", {"order_id": "O-1"}, 5, "s2")
    assert seen[first:] == ["GET /mcp/tools", "POST /mcp"]
    assert answer.content == {"status": "open"}


@pytest.mark.promise("tools.protocol_detected")
async def test_a_server_that_comes_back_with_the_other_protocol_is_found_again(tmp_path: Path) -> None:
    mcp_app = build_app(open_books(tmp_path), ToolFaults({}), faults_may_change=False)
    async with open_servers(AllowedAddresses()) as servers:
        async with serving(mcp_app) as url:
            connection = Connection(id="moved", url=url)
            port = int(url.rpartition(":")[2])
            assert len(await servers.discover(connection)) > 1
        with pytest.raises((ToolUnreachable, ToolSilent)):
            await servers.discover(connection)
        async with serving(reading(status="open").app, port):
            tools = await servers.discover(connection)
    assert [tool.name for tool in tools] == ["get_order"]


@pytest.mark.promise("tools.protocol_detected")
async def test_a_call_without_a_discovery_finds_the_protocol_within_its_time() -> None:
    served = reading(status="open")
    async with bridge(served) as connection, open_servers(AllowedAddresses()) as servers:
        answer = await servers.call(connection, "get_order", {"order_id": "O-1"}, 5, "s1")
    assert answer.content == {"status": "open"}
    assert len(served.calls) == 1


@pytest.mark.promise("tools.protocol_detected")
async def test_a_call_whose_server_speaks_nothing_known_was_not_sent() -> None:
    async with serving(odd(404, "no", None)) as url, open_servers(AllowedAddresses()) as servers:
        with pytest.raises(ToolUnreachable, match="was not sent"):
            await servers.call(Connection(id="odd", url=url), "get_order", {}, 5)


@pytest.mark.promise("tools.protocol_detected")
async def test_a_call_says_if_its_time_went_by_before_a_protocol_was_found() -> None:
    async def never(_: Request) -> Response:
        await asyncio.Event().wait()
        return Response()

    app = Starlette(routes=[Route("/{path:path}", never, methods=["GET", "POST"])])
    async with serving(app) as url, open_servers(AllowedAddresses()) as servers:
        with pytest.raises(ToolUnreachable, match="was not sent: no protocol was found in time"):
            await servers.call(Connection(id="slow", url=url), "get_order", {}, 0.2)


@pytest.mark.promise("tools.protocol_detected")
async def test_a_connection_may_say_its_protocol_outright() -> None:
    served = reading(status="open")
    seen: list[str] = []
    async with serving(_watched(served, seen)) as url, open_servers(AllowedAddresses()) as servers:
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


class _Counting:
    """Counts how often an application is asked for its tools."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self.lists = app, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted() -> Message:
            message = await receive()
            self.lists += b'"tools/list"' in message.get("body", b"")
            return message

        await self._app(scope, counted, send)


class _Company(NamedTuple):
    servers: McpTools
    connection: Connection
    asked: _Counting


@asynccontextmanager
async def listed_company(folder: Path, list_seconds: float) -> AsyncIterator[_Company]:
    app = _Counting(build_app(open_books(folder), ToolFaults({}), faults_may_change=False))
    async with serving(app) as url, McpTools(list_seconds=list_seconds) as servers:
        yield _Company(servers, Connection(id="company", url=f"{url}/mcp"), app)


async def test_a_list_holds_for_its_time_and_its_tools_are_the_same_objects(tmp_path: Path) -> None:
    async with listed_company(tmp_path, 3600) as (servers, connection, asked):
        first = await servers.discover(connection)

        assert await servers.discover(connection.model_copy()) is first
        assert asked.lists == 1


async def test_tasks_that_begin_together_get_the_same_objects(tmp_path: Path) -> None:
    """Of all that ask a server for the first time at once, one compiles its list."""
    async with listed_company(tmp_path, 3600) as (servers, connection, _):
        first, *others = await asyncio.gather(*(servers.discover(connection) for _ in range(4)))

        assert all(tools is first for tools in others)


async def test_without_a_time_each_task_asks_and_an_equal_list_gives_the_same_objects(tmp_path: Path) -> None:
    async with listed_company(tmp_path, 0) as (servers, connection, asked):
        first = await servers.discover(connection)

        assert await servers.discover(connection) is first
        assert asked.lists == 2


async def test_a_list_is_asked_for_anew_after_a_call_that_came_to_an_error(tmp_path: Path) -> None:
    async with listed_company(tmp_path, 3600) as (servers, connection, asked):
        await servers.discover(connection)
        refused = await servers.call(connection, "no_such_tool", {}, 5)

        assert refused.is_error
        await servers.discover(connection)
        assert asked.lists == 2


async def test_a_catalogue_makes_tools_of_its_own_of_the_same_list(tmp_path: Path) -> None:
    async with listed_company(tmp_path, 3600) as (servers, connection, asked):
        first = await servers.discover(connection)
        entry = CatalogueEntry.model_validate({"tool_class": "read"})
        other = connection.model_copy(update={"catalogue": {first[0].name: entry}})

        assert (await servers.discover(other))[0].catalogue == entry
        assert await servers.discover(connection) is first
        assert asked.lists == 1


both = pytest.mark.parametrize("protocol", [ToolProtocol.MCP, ToolProtocol.REST])
NARROW = 100
KEY = {ToolProtocol.MCP: "idempotency_key", ToolProtocol.REST: None}  # over the bridge no tool has such an argument


async def found_at(served: Company, connection: Connection | None = None) -> ServerListing:
    at = connection or served.connection
    async with open_servers(AllowedAddresses()) as servers:
        tools = await servers.discover(at)
        return ServerListing(servers.find_protocol(at), servers.may_have_unlisted_tools(at), tools, at)


def by_name(found: ServerListing) -> dict[str, JsonObject]:
    return {str(tool["name"]): tool for tool in describe_tools(found)}


def loaded(file: Path, folder: Path) -> Connection:
    """The connection of a tenant whose record holds what is in the file."""
    record = folder / "tenant.json"
    record.write_text(json.dumps({"id": "acme", "connections": [json.loads(file.read_text("utf-8"))]}), "utf-8")
    (connection,) = FileTenants.read_file(record).record.connections
    return connection


@pytest.mark.promise("tools.catalogue_written")
@both
async def test_each_tool_is_shown_with_its_proof_its_pages_and_its_key(tmp_path: Path, protocol: ToolProtocol) -> None:
    async with company(tmp_path, protocol=protocol) as served:
        tools = by_name(await found_at(served))
    proof: Json = {"tool": "get_expense", "why": "it takes the same expense_id", "usable": True}
    assert tools["approve_expense"]["read_back"] == proof
    assert tools["create_incident"]["read_back"] == {
        "tool": "get_incident", "why": "it takes the id that the write answers with", "usable": True
    }  # fmt: skip
    pages = [tools[name]["pages"] for name in ("list_vendors", "list_customers", "list_tickets", "get_expense")]
    assert pages == ["page, limit", "offset, limit", "cursor, limit", None]
    refund = tools["create_refund"]
    assert (refund["idempotency_field"], refund["key_offered"]) == (None, KEY[protocol])
    assert tools["notify_vendor"]["read_back"] is None


@pytest.mark.promise("tools.catalogue_written")
@both
async def test_what_is_written_and_loaded_unchanged_lowers_nothing(tmp_path: Path, protocol: ToolProtocol) -> None:
    file = tmp_path / "connection.json"
    async with company(tmp_path, protocol=protocol) as served:
        first = await found_at(served)
        write_catalogue_file(file, first, may_overwrite=False)
        again = await found_at(served, loaded(file, tmp_path))
    assert [(tool.name, tool.tool_class, tool.why_class) for tool in again.tools] == [
        (tool.name, tool.tool_class, tool.why_class) for tool in first.tools
    ]
    pairs = [(each and each.reader) for each in (predict_proving_read(tool, again.tools) for tool in again.tools)]
    assert pairs == [
        (each and each.reader) for each in (predict_proving_read(tool, first.tools) for tool in first.tools)
    ]
    assert not any(tool.catalogue.errors_change_nothing or tool.catalogue.idempotency_field for tool in again.tools)


@pytest.mark.promise("tools.catalogue_written")
@both
async def test_a_correction_holds_once_it_is_loaded(tmp_path: Path, protocol: ToolProtocol) -> None:
    file = tmp_path / "connection.json"
    async with company(tmp_path, protocol=protocol) as served:
        write_catalogue_file(file, await found_at(served), may_overwrite=False)
        written = loads_object(file.read_text("utf-8"))
        entries = object_at(written, "catalogue")
        corrections: dict[str, dict[str, Json]] = {
            "match_invoice": {"tool_class": "read"},
            "create_refund": {"read_back": "get_order", "idempotency_field": "idempotency_key"},
            "approve_expense": {"errors_change_nothing": True},
        }
        for name, change in corrections.items():
            entry = object_at(entries[name])
            entry.update(change)
        file.write_text(json.dumps(written), "utf-8")

        found = await found_at(served, loaded(file, tmp_path))
        tools = by_name(found)

    catalogued = {tool.name: tool.catalogue for tool in found.tools}
    says = "the operator's catalogue says so"
    assert (tools["match_invoice"]["class"], tools["match_invoice"]["why"]) == ("read", says)
    assert tools["create_refund"]["read_back"] == {"tool": "get_order", "why": says, "usable": True}
    assert tools["create_refund"]["idempotency_field"] == KEY[protocol]
    assert catalogued["approve_expense"].errors_change_nothing
    assert not catalogued["reject_expense"].errors_change_nothing


@pytest.mark.promise("tools.catalogue_written")
async def test_writing_it_again_keeps_what_the_operator_said(tmp_path: Path) -> None:
    mine = {
        "match_invoice": CatalogueEntry(tool_class=ToolClass.READ),
        "create_refund": CatalogueEntry(
            read_back="get_order", expect={"refunded": True}, idempotency_field="idempotency_key"
        ),
        "hidden_tool": CatalogueEntry(errors_change_nothing=True),
    }
    async with company(tmp_path) as served:
        at = Connection(id="books", url=served.url, traceparent=True, catalogue=mine)
        found = await found_at(served, at)
    secret = Credential.model_validate({"type": "header", "header": "x-api-key", "from": "env:BOOKS"})
    own = at.model_copy(update={"credential": secret})
    again = Connection.model_validate(build_catalogue_document(found._replace(connection=own)))
    kept = {name: again.catalogue[name] for name in mine}
    assert (again.model_copy(update={"catalogue": {}}), kept) == (own.model_copy(update={"catalogue": {}}), mine)


@pytest.mark.promise("tools.catalogue_written")
async def test_a_pair_that_cannot_be_asked_is_told_to_the_operator(tmp_path: Path) -> None:
    mine = {"approve_expense": CatalogueEntry(read_back="reject_expense")}
    async with company(tmp_path) as served:
        found = await found_at(served, Connection(id="books", url=served.url, catalogue=mine))
    shown = object_at(by_name(found)["approve_expense"], "read_back")
    assert (shown["tool"], shown["usable"]) == ("reject_expense", False)


@pytest.mark.promise("tools.catalogue_written")
async def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "connection.json"
    file.write_text("corrected by hand")
    async with company(tmp_path) as served:
        found = await found_at(served)
    with pytest.raises(CatalogueExists, match="--force"):
        write_catalogue_file(file, found, may_overwrite=False)
    assert file.read_text() == "corrected by hand"

    write_catalogue_file(file, found, may_overwrite=True)

    assert loads_object(file.read_text("utf-8"))["id"] == "company"
    assert not (tmp_path / ".connection.json.new").exists()


@pytest.mark.promise("tools.catalogue_written")
async def test_the_table_is_read_at_a_hundred_columns(tmp_path: Path) -> None:
    async with company(tmp_path) as served:
        listed = describe_tools(await found_at(served))
    console = Console(width=NARROW, highlight=False)
    with console.capture() as shown:
        console.print(build_discovery_table({"endpoint": "http://x", "protocol": "mcp"}, listed, NARROW))
    lines = shown.get().splitlines()
    assert max(map(len, lines)) <= NARROW
    (row,) = [line for line in lines if "approve_purchase_order" in line]
    assert [cell.strip() for cell in row.split("│")[1:4]] == ["approve_purchase_order", "change", "get_purchase_order"]


@pytest.mark.promise("tools.catalogue_written")
def test_a_list_of_another_kind_than_what_a_write_makes_is_marked_as_a_guess() -> None:
    """Its name is not written as the proof, and what the operator said of it stays, also that nothing proves it."""
    listed = [_tool("list_parts", ToolClass.READ), _tool("order_part", ToolClass.CHANGE, "part_id", "quantity")]
    guessed = build_catalogue_document(ServerListing("mcp", False, listed, Connection(id="depot", url="http://depot")))
    mine = Connection(id="depot", url="http://depot", catalogue={"order_part": CatalogueEntry(read_back=False)})
    told = [one._replace(catalogue=mine.catalogue.get(one.name, one.catalogue)) for one in listed]
    kept = build_catalogue_document(ServerListing("mcp", False, told, mine))
    entries = [Connection.model_validate(one).catalogue["order_part"] for one in (guessed, kept)]
    assert [entry.read_back for entry in entries] == [None, False]
    assert "read_back_guess" in dumps(guessed)
    assert "read_back_guess" not in dumps(kept)


@pytest.mark.promise("policy.declared_keys")
@each_row(
    ("records", "names", "undecided"),
    ({}, {}, ["held"]),
    ({"asset": RecordKind(keys=("asset_tag",))}, {"asset_tag": "asset"}, []),
    ({"equipment": RecordKind(keys=("asset_tag",))}, {"asset_tag": "equipment"}, ["held"]),
    ({"equipment": RecordKind(keys=("asset_tag",), reads=("get_asset",))}, {"asset_tag": "equipment"}, []),
)
def test_a_rule_that_no_record_of_its_tool_can_decide_is_told_where_its_tools_are_listed(
    records: dict[str, RecordKind], names: JsonObject, undecided: list[str]
) -> None:
    """With the arguments that name records; a field that is an argument or the policy's own needs none."""
    condition = 'tool in ["retire_asset", "retire_asset_now"] && (held == true || reason == "x" || limit > 1)'
    policy = Policy(id="house", rules=(Rule(id="r", condition=condition, action="block"),), context={"limit": 1})
    write, reader = (_tool("retire_asset", ToolClass.CHANGE, "asset_tag", "reason"), _tool("get_asset", ToolClass.READ))
    by_id = write._replace(name="retire_asset_now", input_schema=_tool("x", ToolClass.CHANGE, "case_no").input_schema)
    at = Connection(id="depot", url="http://depot")
    told = by_name(ServerListing("mcp", False, [write, reader, by_id], at, build_record_keys(records, {}), (policy,)))
    assert (told["retire_asset"]["records"], told["retire_asset"]["undecided"]) == (names, undecided)
    assert told["get_asset"]["undecided"] == told["retire_asset_now"]["undecided"] == []


def _tool(name: str, tool_class: ToolClass, *arguments: str) -> Tool:
    schema: JsonObject = {"type": "object", "properties": {one: {"type": "string"} for one in arguments}}
    return Tool("depot", name, "", schema, tool_class, "as the test says", CatalogueEntry())
