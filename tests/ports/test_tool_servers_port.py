"""What every ``ToolServers`` promises: run on the double, on MCP and on the REST bridge, named and detected."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from examples.company.faults import ToolFault
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.rest_bridge import RestBridge
from services.executor.adapters.tool_servers import open_servers
from services.executor.ports.tools import ToolAnswer, ToolServers, ToolSilent, ToolUnreachable
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, JsonObject
from shared.domain.outgoing import AllowedAddresses
from shared.domain.words import ToolClass
from tests.company_stage import company
from tests.doubles.fake_tool_servers import FakeToolServers
from tests.legacy_bridge import LegacyBridge, bridge


class Stage(NamedTuple):
    """Tool servers with the tools ``get_expense``, ``approve_expense`` (refuses the second time), and two bad ones:
    ``list_budgets`` never answers, ``list_orders`` does its work and loses the reply."""

    servers: ToolServers
    connection: Connection
    down: Connection

    async def get_expense(self, number: str = "EXP-1001", seconds: float = 5) -> ToolAnswer:
        return await self.servers.call(self.connection, "get_expense", {"expense_id": number}, seconds)


Staging = Callable[[Path], AbstractAsyncContextManager[Stage]]


@asynccontextmanager
async def double(_: Path) -> AsyncIterator[Stage]:
    servers = FakeToolServers()
    servers.add("list_orders", _lose)
    servers.add("get_expense", _get)
    servers.add("list_budgets", _hang)
    servers.add("approve_expense", _approve_once(), ToolClass.CHANGE)
    servers.go_down("down")
    yield Stage(servers, Connection(id="up", url="http://up"), Connection(id="down", url="http://down"))


@asynccontextmanager
async def mcp(folder: Path) -> AsyncIterator[Stage]:
    faults = {"list_budgets": ToolFault(delay_before_ms=60_000), "list_orders": ToolFault(lose_reply=True)}
    async with company(folder, faults) as running, McpTools() as servers:
        yield Stage(servers, running.connection, Connection(id="down", url=f"http://127.0.0.1:{_closed_port()}"))


@asynccontextmanager
async def rest(_: Path) -> AsyncIterator[Stage]:
    async with bridge(_books()) as connection, RestBridge() as servers:
        yield Stage(servers, connection, Connection(id="down", url=f"http://127.0.0.1:{_closed_port()}"))


@asynccontextmanager
async def detected_rest(_: Path) -> AsyncIterator[Stage]:
    async with bridge(_books()) as connection, open_servers(AllowedAddresses()) as servers:
        yield Stage(servers, connection, Connection(id="down", url=f"http://127.0.0.1:{_closed_port()}"))


@asynccontextmanager
async def detected_mcp(folder: Path) -> AsyncIterator[Stage]:
    async with mcp(folder) as stage, open_servers(AllowedAddresses()) as servers:
        yield stage._replace(servers=servers)


def _books() -> LegacyBridge:
    tools = {"get_expense": _get, "approve_expense": _approve, "list_budgets": _get, "list_orders": _nothing}
    books = LegacyBridge({**tools, "invent_money": _unknown}, listed=dict.fromkeys(sorted(tools, reverse=True), ()))
    books.once, books.hanging, books.cut = {"approve_expense"}, {"list_budgets"}, {"list_orders"}
    return books


def _approve(arguments: JsonObject) -> Json:
    return {"id": arguments["expense_id"], "status": "approved"}


def _nothing(_: JsonObject) -> Json:
    return []


def _unknown(_: JsonObject) -> Json:
    return {"error": "unknown tool invent_money"}


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def _get(arguments: JsonObject) -> Json:
    if arguments["expense_id"] != "EXP-1001":
        return {"found": False, "error": "no such claim"}
    return {"id": "EXP-1001", "amount": "2340.00", "status": "pending"}


def _lose(_: JsonObject) -> Json:
    raise ToolSilent("cut")


async def _hang(_: JsonObject) -> Json:
    await asyncio.Event().wait()
    return None


def _approve_once() -> "Callable[[JsonObject], Json | ToolAnswer]":
    approved: set[str] = set()

    def approve(arguments: JsonObject) -> "Json | ToolAnswer":
        key = str(arguments["expense_id"])
        if key in approved:
            return ToolAnswer(f"{key} is already approved.", is_error=True)
        approved.add(key)
        return {"id": key, "status": "approved"}

    return approve


each_implementation = pytest.mark.parametrize("staging", [double, mcp, rest, detected_mcp, detected_rest])


@each_implementation
async def test_discovery_finds_the_tools_in_the_order_of_their_names(staging: Staging, tmp_path: Path) -> None:
    async with staging(tmp_path) as stage:
        tools = await stage.servers.discover(stage.connection)

    names = [tool.name for tool in tools]
    assert names == sorted(names)
    assert {"get_expense", "approve_expense"} <= set(names)
    assert all(tool.connection_id == stage.connection.id and tool.why_class for tool in tools)
    assert {tool.name: tool.tool_class for tool in tools}["approve_expense"] is ToolClass.CHANGE


@each_implementation
async def test_the_catalogue_travels_with_the_tool_and_lowers_its_class(staging: Staging, tmp_path: Path) -> None:
    entry = CatalogueEntry(tool_class=ToolClass.READ, read_back="get_expense")
    async with staging(tmp_path) as stage:
        connection = stage.connection.model_copy(update={"catalogue": {"approve_expense": entry}})
        tools = {tool.name: tool for tool in await stage.servers.discover(connection)}

    assert tools["approve_expense"].catalogue == entry
    assert tools["approve_expense"].tool_class is ToolClass.READ
    assert tools["get_expense"].catalogue == CatalogueEntry()


@each_implementation
async def test_an_answer_is_json_with_amounts_as_they_were_written_and_not_found_is_one(
    staging: Staging, tmp_path: Path
) -> None:
    async with staging(tmp_path) as stage:
        answer, nothing = [await stage.get_expense(number) for number in ("EXP-1001", "EXP-9")]

    assert isinstance(answer.content, dict)
    assert isinstance(nothing.content, dict)
    assert (answer.content["amount"], answer.is_error) == ("2340.00", False)
    assert (nothing.content["found"], nothing.is_error) == (False, False)


@each_implementation
async def test_a_refusal_is_an_error_with_a_sentence(staging: Staging, tmp_path: Path) -> None:
    """A second time, and a tool that does not exist."""
    async with staging(tmp_path) as stage:
        first = await stage.servers.call(stage.connection, "approve_expense", {"expense_id": "EXP-1001"}, 5)
        second = await stage.servers.call(stage.connection, "approve_expense", {"expense_id": "EXP-1001"}, 5)
        unknown = await stage.servers.call(stage.connection, "invent_money", {}, 5)

    assert (first.is_error, second.is_error, unknown.is_error) == (False, True, True)
    assert any(said in str(second.content) for said in ("already approved", "CONSTRAINT_VIOLATION"))
    assert "invent_money" in str(unknown.content)


@each_implementation
async def test_a_server_that_is_down_is_unreachable(staging: Staging, tmp_path: Path) -> None:
    async with staging(tmp_path) as stage:
        with pytest.raises(ToolUnreachable):
            await stage.servers.discover(stage.down)
        with pytest.raises(ToolUnreachable):
            await stage.servers.call(stage.down, "get_expense", {"expense_id": "EXP-1001"}, 5)


@each_implementation
@pytest.mark.parametrize(("tool", "seconds"), [("list_budgets", 0.2), ("list_orders", 5)])
async def test_a_call_whose_answer_is_late_or_lost_is_silent_and_harms_no_other(
    staging: Staging, tmp_path: Path, tool: str, seconds: float
) -> None:
    async with staging(tmp_path) as stage:
        await stage.servers.discover(stage.connection)  # connecting is not what must be in time
        with pytest.raises(ToolSilent):
            await stage.servers.call(stage.connection, tool, {}, seconds)
        assert not (await stage.get_expense()).is_error


@each_implementation
async def test_a_cancelled_call_harms_no_other(staging: Staging, tmp_path: Path) -> None:
    async with staging(tmp_path) as stage:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await stage.servers.call(stage.connection, "list_budgets", {}, 30)
        assert not (await stage.get_expense()).is_error


@each_implementation
async def test_many_calls_at_once_each_get_their_own_answer(staging: Staging, tmp_path: Path) -> None:
    keys = [f"EXP-{number}" for number in range(980, 1000)]
    async with staging(tmp_path) as stage:
        answers = await asyncio.gather(*(stage.get_expense(key, 10) for key in keys))

    assert all(isinstance(answer.content, dict) and answer.content["found"] is False for answer in answers)
