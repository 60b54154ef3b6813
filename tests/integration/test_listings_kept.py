"""For how long a server's list of tools holds."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from examples.company.faults import ToolFaults
from examples.company.server import build_app
from services.executor.adapters.mcp_tools import McpTools
from shared.contracts.tenant import CatalogueEntry, Connection
from tests.company_stage import open_books
from tests.serving import serving


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
