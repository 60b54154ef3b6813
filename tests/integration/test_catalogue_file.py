"""A catalogue as it is written from a server, corrected and loaded again, over both protocols."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from cli.tools import as_table
from examples.company.protocols import ToolProtocol
from services.executor.adapters.stored_tenants import FileTenants
from services.executor.adapters.tool_servers import open_servers
from services.executor.core.records.read_backs import likely_proof
from services.executor.entrypoints.tools import CatalogueExists, ServerListing, describe_tools, document, write
from services.executor.ports.tools import Tool
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.outgoing import Reach
from shared.domain.words import ToolClass
from tests.company_stage import Company, company

pytestmark = pytest.mark.promise("tools.catalogue_written")
both = pytest.mark.parametrize("protocol", [ToolProtocol.MCP, ToolProtocol.REST])
NARROW = 100
KEY = {ToolProtocol.MCP: "idempotency_key", ToolProtocol.REST: None}  # over the bridge no tool has such an argument


async def found_at(served: Company, connection: Connection | None = None) -> ServerListing:
    at = connection or served.connection
    async with open_servers(Reach()) as servers:
        tools = await servers.discover(at)
        return ServerListing(servers.protocol_of(at), servers.may_have_unlisted(at), tools, at)


def by_name(found: ServerListing) -> dict[str, JsonObject]:
    return {str(tool["name"]): tool for tool in describe_tools(found)}


def loaded(file: Path, folder: Path) -> Connection:
    """The connection of a tenant whose record holds what is in the file."""
    record = folder / "tenant.json"
    record.write_text(json.dumps({"id": "acme", "connections": [json.loads(file.read_text("utf-8"))]}), "utf-8")
    (connection,) = FileTenants.read(record).record.connections
    return connection


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


@both
async def test_what_is_written_and_loaded_unchanged_lowers_nothing(tmp_path: Path, protocol: ToolProtocol) -> None:
    file = tmp_path / "connection.json"
    async with company(tmp_path, protocol=protocol) as served:
        first = await found_at(served)
        write(file, first, force=False)
        again = await found_at(served, loaded(file, tmp_path))
    assert [(tool.name, tool.tool_class, tool.why_class) for tool in again.tools] == [
        (tool.name, tool.tool_class, tool.why_class) for tool in first.tools
    ]
    pairs = [(each and each.reader) for each in (likely_proof(tool, again.tools) for tool in again.tools)]
    assert pairs == [(each and each.reader) for each in (likely_proof(tool, first.tools) for tool in first.tools)]
    assert not any(tool.catalogue.errors_change_nothing or tool.catalogue.idempotency_field for tool in again.tools)


@both
async def test_a_correction_holds_once_it_is_loaded(tmp_path: Path, protocol: ToolProtocol) -> None:
    file = tmp_path / "connection.json"
    async with company(tmp_path, protocol=protocol) as served:
        write(file, await found_at(served), force=False)
        written = loads_object(file.read_text("utf-8"))
        entries = written["catalogue"]
        assert isinstance(entries, dict)
        corrections: dict[str, dict[str, Json]] = {
            "match_invoice": {"tool_class": "read"},
            "create_refund": {"read_back": "get_order", "idempotency_field": "idempotency_key"},
            "approve_expense": {"errors_change_nothing": True},
        }
        for name, change in corrections.items():
            entry = entries[name]
            assert isinstance(entry, dict)
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


async def test_writing_it_again_keeps_what_the_operator_said(tmp_path: Path) -> None:
    mine = {
        "match_invoice": CatalogueEntry(tool_class=ToolClass.READ),
        "create_refund": CatalogueEntry(read_back="get_order", idempotency_field="idempotency_key"),
        "hidden_tool": CatalogueEntry(errors_change_nothing=True),
    }
    async with company(tmp_path) as served:
        at = Connection(id="books", url=served.url, catalogue=mine)
        again = Connection.model_validate(document(await found_at(served, at)))
    kept = {name: again.catalogue[name] for name in mine}
    assert (again.id, kept) == ("books", mine)


async def test_a_pair_that_cannot_be_asked_is_told_to_the_operator(tmp_path: Path) -> None:
    mine = {"approve_expense": CatalogueEntry(read_back="reject_expense")}
    async with company(tmp_path) as served:
        found = await found_at(served, Connection(id="books", url=served.url, catalogue=mine))
    shown = by_name(found)["approve_expense"]["read_back"]
    assert isinstance(shown, dict)
    assert (shown["tool"], shown["usable"]) == ("reject_expense", False)


async def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "connection.json"
    file.write_text("corrected by hand")
    async with company(tmp_path) as served:
        found = await found_at(served)
    with pytest.raises(CatalogueExists, match="--force"):
        write(file, found, force=False)
    assert file.read_text() == "corrected by hand"

    write(file, found, force=True)

    assert loads_object(file.read_text("utf-8"))["id"] == "company"
    assert not (tmp_path / ".connection.json.new").exists()


async def test_the_table_is_read_at_a_hundred_columns(tmp_path: Path) -> None:
    async with company(tmp_path) as served:
        listed = describe_tools(await found_at(served))
    console = Console(width=NARROW, highlight=False)
    with console.capture() as shown:
        console.print(as_table({"endpoint": "http://x", "protocol": "mcp"}, listed, NARROW))
    lines = shown.get().splitlines()
    assert max(map(len, lines)) <= NARROW
    (row,) = [line for line in lines if "approve_purchase_order" in line]
    assert [cell.strip() for cell in row.split("│")[1:4]] == ["approve_purchase_order", "change", "get_purchase_order"]


def test_a_list_of_another_kind_than_what_a_write_makes_is_marked_as_a_guess() -> None:
    """Its name is not written as the proof, and what the operator said of it stays, also that nothing proves it."""
    listed = [_tool("list_parts", ToolClass.READ), _tool("order_part", ToolClass.CHANGE, "part_id", "quantity")]
    guessed = document(ServerListing("mcp", False, listed, Connection(id="depot", url="http://depot")))
    mine = Connection(id="depot", url="http://depot", catalogue={"order_part": CatalogueEntry(read_back=False)})
    told = [one._replace(catalogue=mine.catalogue.get(one.name, one.catalogue)) for one in listed]
    kept = document(ServerListing("mcp", False, told, mine))
    entries = [Connection.model_validate(one).catalogue["order_part"] for one in (guessed, kept)]
    assert [entry.read_back for entry in entries] == [None, False]
    assert "read_back_guess" in dumps(guessed)
    assert "read_back_guess" not in dumps(kept)


def _tool(name: str, tool_class: ToolClass, *arguments: str) -> Tool:
    schema: JsonObject = {"type": "object", "properties": {one: {"type": "string"} for one in arguments}}
    return Tool("depot", name, "", schema, tool_class, "as the test says", CatalogueEntry())
