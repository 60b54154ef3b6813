"""Tool servers in memory, for tests of whatever calls tools: scripted answers, and a record of every call."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from typing_extensions import override

from services.executor.ports.tools import Tool, ToolAnswer, ToolServers, ToolSilent, ToolUnreachable
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass

Handler: TypeAlias = Callable[[JsonObject], "Json | ToolAnswer | Awaitable[Json | ToolAnswer]"]

_ANY_OBJECT: JsonObject = {"type": "object"}
_NO_ENTRY = CatalogueEntry()
_MADE: dict[str, Tool] = {}  # one object for all tests that offer the same: what is compiled of it is compiled once


class Called(NamedTuple):
    """One call as it arrived: what a server would have seen."""

    connection_id: str
    tool: str
    arguments: JsonObject
    session_id: str = ""


class _Scripted(NamedTuple):
    handler: Handler
    description: str
    tool_class: ToolClass
    input_schema: JsonObject


class FakeToolServers(ToolServers):
    """Every connection offers the tools added here, unless it is down.

    A handler gets the arguments and returns JSON or a ``ToolAnswer``, at once or awaited. It may raise ``ToolSilent``
    or ``ToolUnreachable``; the first is recorded as a call, for the request may have arrived, the second is not.
    """

    def __init__(self) -> None:
        self.calls: list[Called] = []
        self.discoveries = 0
        self.lists_not_all = False  # whether the servers may have tools that they do not list
        self._tools: dict[str, _Scripted] = {}
        self._down: set[str] = set()

    def add(
        self,
        name: str,
        handler: Handler,
        tool_class: ToolClass = ToolClass.READ,
        input_schema: JsonObject | None = None,
        description: str = "",
    ) -> None:
        """Offer a tool, in place of one of that name if there is one."""
        self._tools[name] = _Scripted(handler, description or name, tool_class, input_schema or _ANY_OBJECT)

    def remove(self, name: str) -> None:
        """Offer the tool no more."""
        del self._tools[name]

    def go_down(self, connection_id: str) -> None:
        """Refuse connections from now on."""
        self._down.add(connection_id)

    def come_back(self, connection_id: str) -> None:
        self._down.discard(connection_id)

    def called(self, tool: str) -> list[JsonObject]:
        """The arguments of each call of a tool, in order."""
        return [call.arguments for call in self.calls if call.tool == tool]

    @override
    def may_have_unlisted_tools(self, connection: Connection) -> bool:
        return self.lists_not_all

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        self._require_up(connection)
        self.discoveries += 1
        return tuple(_as_tool(connection, name, self._tools[name]) for name in sorted(self._tools))

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        self._require_up(connection)
        scripted = self._tools.get(tool)
        called = Called(connection.id, tool, arguments, session_id)
        self.calls.append(called)
        if scripted is None:
            return ToolAnswer(f"There is no tool {tool}.", is_error=True)
        try:
            async with asyncio.timeout(timeout):
                return await _answer(scripted.handler, arguments)
        except TimeoutError:
            raise ToolSilent(f"{tool}: no answer within {timeout:g} seconds") from None
        except ToolUnreachable:
            self.calls.remove(called)
            raise

    def _require_up(self, connection: Connection) -> None:
        if connection.id in self._down:
            raise ToolUnreachable(f"{connection.id}: connection refused")


async def _answer(handler: Handler, arguments: JsonObject) -> ToolAnswer:
    result = handler(arguments)
    if isinstance(result, Awaitable):
        result = await result
    return result if isinstance(result, ToolAnswer) else ToolAnswer(result)


def _as_tool(connection: Connection, name: str, scripted: _Scripted) -> Tool:
    entry = connection.catalogue.get(name, _NO_ENTRY)
    tool = Tool(
        connection_id=connection.id,
        name=name,
        description=scripted.description,
        input_schema=scripted.input_schema,
        tool_class=entry.tool_class or scripted.tool_class,
        why_class="as the test says",
        catalogue=entry,
    )
    return _MADE.setdefault(repr(tool), tool)
