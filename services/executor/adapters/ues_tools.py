"""A simulated world as a tool server: its interface as typed tools, opened by a user's key (``ToolServers``)."""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

import httpx
from pydantic import ValidationError
from typing_extensions import override

from services.executor.adapters.mcp_content import brief
from services.executor.adapters.ues_appointments import APPOINTMENTS
from services.executor.adapters.ues_lines import SharedLine
from services.executor.adapters.ues_mail import MAIL
from services.executor.adapters.ues_schemas import schema_of
from services.executor.adapters.ues_talk import TALK
from services.executor.adapters.ues_texts import TEXTS
from services.executor.adapters.ues_world import ConnectedWorld, Operation, WorldRefused
from services.executor.ports.tools import (
    Tool,
    ToolAnswer,
    ToolForbidden,
    ToolServers,
    ToolSilent,
    ToolUnreachable,
)
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, JsonObject, dumps, loads, wire
from shared.domain.words import ToolClass
from shared.infra.guard import Guard
from shared.infra.guarded_http import GuardedTransport, RefusedConnection
from shared.infra.ues.client import AsyncUESClient, trusted_certificates
from shared.infra.ues.errors import APIError, ProtocolError, ServerError, UESError

_ALL: tuple[type[Operation], ...] = (*MAIL, *TEXTS, *APPOINTMENTS, *TALK)
OPERATIONS: Mapping[str, type[Operation]] = {kind.tool: kind for kind in sorted(_ALL, key=lambda kind: kind.tool)}
_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50, keepalive_expiry=2.0)
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_CLOSED = 401
_INSTEAD = "(the key)"


class WorldKeys(Protocol):
    """Who knows the user's key to the world of a session."""

    async def key_to(self, tenant: str, session_id: str, url: str, assessment: str) -> str | None:
        """The key, for the moment of a call; None where that assessment runs in the session no more."""
        ...


class NoWorlds(WorldKeys):
    @override
    async def key_to(self, tenant: str, session_id: str, url: str, assessment: str) -> str | None:
        return None


class UesTools(ToolServers):
    """An async context manager. A connection's ``owner`` is the tenant in whose session the world is."""

    def __init__(
        self, keys: WorldKeys, guard: Guard | None = None, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        """``guard``: where it may connect; without, wherever it is told. ``transport``: a line in place of its own."""
        self._keys, self._line = keys, SharedLine(transport or _line(guard))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self._line.close()

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        await self._key(connection, session_id)
        return tuple(_tool(connection, kind) for kind in OPERATIONS.values())

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        return False

    @override
    def protocol_of(self, connection: Connection) -> str:
        return "ues"

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        asked = _parse_operation(tool, arguments)
        if isinstance(asked, ToolAnswer):
            return asked
        key = await self._key(connection, session_id)
        try:
            async with AsyncUESClient(connection.url, timeout, transport=self._line, api_key=key) as ues:
                answer = await _run_operation(ConnectedWorld(ues), asked, timeout)
        except (ToolUnreachable, ToolSilent) as error:
            if key not in str(error):
                raise
            raise type(error)(str(error).replace(key, _INSTEAD)) from None
        return answer._replace(content=_redact_key(answer.content, key))

    async def _key(self, connection: Connection, session_id: str) -> str:
        key = await self._keys.key_to(connection.owner, session_id, connection.url, connection.assessment)
        if key is None:
            raise ToolForbidden("no assessment of this world runs any more, so nothing is asked there")
        return key


def _line(guard: Guard | None) -> httpx.AsyncBaseTransport:
    tls = trusted_certificates()
    return GuardedTransport(guard, _LIMITS, tls) if guard else httpx.AsyncHTTPTransport(limits=_LIMITS, verify=tls)


async def _run_operation(world: ConnectedWorld, asked: Operation, timeout: float) -> ToolAnswer:
    """What came of one operation, in the port's words. An operation makes one change at most, and that last."""
    try:
        async with asyncio.timeout(timeout):
            return ToolAnswer(await asked.carry_out(world))
    except WorldRefused as error:
        return ToolAnswer(str(error), is_error=True, not_begun=True)
    except APIError as error:
        return _said_no(error, world)
    except TimeoutError:
        raise _tool_failure(asked, world, f"no answer within {timeout:g} seconds") from None
    except UESError as error:
        if isinstance(error.__cause__, RefusedConnection):
            raise ToolForbidden(str(error.__cause__)) from error
        if isinstance(error.__cause__, _NEVER_SENT):
            raise ToolUnreachable(f"{asked.tool} was not sent: {error}") from error
        if isinstance(error, ProtocolError) and not world.has_acted:
            return ToolAnswer(str(error), is_error=True, not_begun=True)
        raise _tool_failure(asked, world, str(error)) from error


def _tool_failure(asked: Operation, world: ConnectedWorld, why: str) -> ToolSilent | ToolUnreachable:
    """A change that got no further than what is read before it certainly was not sent."""
    if asked.tool_class is ToolClass.CHANGE and not world.has_acted:
        return ToolUnreachable(f"{asked.tool} was not sent: {why}")
    return ToolSilent(f"{asked.tool}: {why}")


def _said_no(error: APIError, world: ConnectedWorld) -> ToolAnswer:
    """A client error comes before anything is done; after a server error that is open."""
    not_begun = not (isinstance(error, ServerError) and world.has_acted)
    why = "; the assessment is over, or its key was revoked" if error.status_code == _CLOSED else ""
    return ToolAnswer(f"HTTP {error.status_code}: {error}{why}", is_error=True, not_begun=not_begun)


def _parse_operation(tool: str, arguments: JsonObject) -> Operation | ToolAnswer:
    kind = OPERATIONS.get(tool)
    if kind is None:
        return ToolAnswer(f"there is no tool {tool}", is_error=True, not_begun=True)
    try:
        return kind.model_validate(wire(arguments))
    except ValidationError as error:
        return ToolAnswer(f"{tool} was not called: {brief(error)}", is_error=True, not_begun=True)


def _tool(connection: Connection, kind: type[Operation]) -> Tool:
    return Tool(
        connection_id=connection.id,
        name=kind.tool,
        description=" ".join((kind.__doc__ or "").split()),
        input_schema=schema_of(kind),
        tool_class=kind.tool_class,
        why_class="the catalogue of simulated worlds says so",
        catalogue=CatalogueEntry(tool_class=kind.tool_class, read_back=kind.read_back, expect=kind.expect),
    )


def _redact_key(content: Json, key: str) -> Json:
    """A world may repeat what it was shown; answers are journaled and archived."""
    text = dumps(content)
    return loads(text.replace(key, _INSTEAD)) if key in text else content
