"""Routes each question to the tool server of its connection (``ToolServers``): through the right guard, in the server's
protocol, and with our secrets removed from its answers.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import TypeVar, cast

import structlog
from typing_extensions import override

from services.executor.adapters.a2a_agents import A2aAgents
from services.executor.adapters.credentials import NoCredentials
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.resilience import Resilience, ServerQuestion
from services.executor.adapters.rest_bridge import RestBridge
from services.executor.ports import tools as ports
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject
from shared.domain.identity_cache import IdentityCache
from shared.domain.lru_cache import LruCache
from shared.domain.outgoing import AddressRefused, AllowedAddresses, addresses_for_operators, parse_permitted_target
from shared.infra.guard import AddressGuard
from shared.ports.tracing import NO_TRACER, Tracer

log = structlog.get_logger()

MOST_PROTOCOLS_CACHED = 1024
_CREDENTIAL_REPLACEMENT = "[credential]"
_SHORTEST_SECRET = 8  # what is shorter is found in every second answer by chance, and keeps nobody out

T = TypeVar("T")


class ServersByProtocol:
    """The servers of one kind of connection, by protocol, which a connection states or which is detected."""

    def __init__(self, mcp: ports.ToolServers, rest_servers: ports.ToolServers, agents: ports.ToolServers) -> None:
        """``agents`` serves only connections that state the protocol ``a2a``; that protocol is never detected."""
        self._servers = {"mcp": mcp, "rest": rest_servers, "a2a": agents}
        self._detected = LruCache[str, str](MOST_PROTOCOLS_CACHED)

    def find_protocol(self, connection: Connection) -> str:
        """``mcp``, ``rest`` or ``a2a``; empty as long as it is neither stated nor detected."""
        is_stated = connection.protocol in self._servers
        return connection.protocol if is_stated else self._detected.get(connection.url, "")

    def find_servers_for(self, connection: Connection) -> ports.ToolServers | None:
        """The servers of the connection's protocol; None as long as the protocol is unknown."""
        return self._servers.get(self.find_protocol(connection))

    async def discover(self, connection: Connection, session_id: str) -> tuple[ports.Tool, ...]:
        servers = self.find_servers_for(connection)
        try:
            if servers is not None:
                return await servers.discover(connection, session_id)
        except ports.ProtocolMismatch:
            if connection.protocol in self._servers:
                raise
            log.info("tool_protocol_changed", connection=connection.id)
        except ports.ToolSilent:
            self._detected.pop(connection.url, None)  # the next discovery asks anew
            raise
        return (await self._detect_protocol(connection, session_id))[1]

    async def detect_servers(
        self, connection: Connection, tool: str, timeout: float, session_id: str
    ) -> tuple[ports.ToolServers, float]:
        """The servers of the connection's protocol, which is detected if need be, and the seconds left for the call.

        Every error raised here means that the call was not sent.
        """
        if servers := self.find_servers_for(connection):
            return servers, timeout
        deadline = monotonic() + timeout
        try:
            async with asyncio.timeout(timeout):
                servers, _ = await self._detect_protocol(connection, session_id)
        except (TimeoutError, ports.ToolSilent) as error:
            sentence = f"{tool} was not sent: {str(error) or 'no protocol was found in time'}"
            raise ports.ToolUnreachable(sentence) from error
        return servers, max(0.001, deadline - monotonic())

    async def _detect_protocol(
        self, connection: Connection, session_id: str
    ) -> tuple[ports.ToolServers, tuple[ports.Tool, ...]]:
        """Asks the server for its tools, over MCP first and REST next; returns the servers that answered, and the
        tools.

        A server that answers MCP with a failure is not asked over REST. Raises ``ToolSilent`` if it speaks neither, and
        what ``discover`` raises.
        """
        protocol = "mcp"
        try:
            tools = await self._servers[protocol].discover(connection, session_id)
        except ports.ProtocolMismatch as not_mcp:
            protocol = "rest"
            try:
                tools = await self._servers[protocol].discover(connection, session_id)
            except ports.ProtocolMismatch as not_rest:
                sentence = f"it speaks neither MCP ({not_mcp}) nor the REST bridge ({not_rest})"
                raise ports.ToolSilent(sentence) from not_rest
        self._detected.put(connection.url, protocol)
        log.info("tool_protocol_detected", connection=connection.id, protocol=protocol)
        return self._servers[protocol], tools


class ConnectedServers(ports.ToolServers):
    """Tool servers by who named them: the installation's operator, a tenant's operators, or a request; of these last
    only those that ``reach`` permits.
    """

    def __init__(
        self,
        installation_servers: ServersByProtocol,
        tenant_servers: ServersByProtocol,
        request_servers: ServersByProtocol,
        reach: AllowedAddresses,
        credentials: ports.Credentials,
        resilience: Resilience,
    ) -> None:
        """``credentials`` are sent to the servers."""
        self._installation_servers, self._tenant_servers = installation_servers, tenant_servers
        self._request_servers = request_servers
        self._reach, self._operators = reach, addresses_for_operators(reach.listed)
        self._credentials, self._resilience = credentials, resilience
        self._masked_listings = IdentityCache[tuple[ports.Tool, ...], dict[tuple[str, ...], tuple[ports.Tool, ...]]](
            lambda _: {}, 128
        )

    @property
    def circuit_counts(self) -> Mapping[str, int]:
        """The number of servers by breaker state, and of connections whose credential is missing."""
        missing_count = self._credentials.missing_count
        return {
            **self._resilience.circuit_counts_by_state,
            **({"without_credential": missing_count} if missing_count else {}),
        }

    def find_protocol(self, connection: Connection) -> str:
        """``mcp``, ``rest`` or ``a2a``; empty as long as it is neither stated nor detected."""
        return self._choose_servers_by_origin(connection).find_protocol(connection)

    @override
    def may_have_unlisted_tools(self, connection: Connection) -> bool:
        servers = self._choose_servers_by_origin(connection).find_servers_for(connection)
        return servers is not None and servers.may_have_unlisted_tools(connection)

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[ports.Tool, ...]:
        async def send(_: float) -> tuple[ports.Tool, ...]:
            return await self._choose_allowed_servers(connection).discover(connection, session_id)

        return await self._ask(ServerQuestion("discover", connection), send)

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ports.ToolAnswer:
        return await self._call_or_read("call", connection, tool, arguments, timeout, session_id)

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ports.ToolAnswer:
        return await self._call_or_read("read", connection, tool, arguments, timeout, session_id)

    async def _call_or_read(
        self, kind: str, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str
    ) -> ports.ToolAnswer:
        async def send(seconds_left: float) -> ports.ToolAnswer:
            servers, seconds_left = await self._choose_allowed_servers(connection).detect_servers(
                connection, tool, seconds_left, session_id
            )
            ask = servers.read if kind == "read" else servers.call
            return await ask(connection, tool, arguments, seconds_left, session_id)

        return await self._ask(ServerQuestion(kind, connection, tool, timeout), send)

    @override
    async def ask_outcome(
        self,
        connection: Connection,
        arguments: JsonObject,
        timeout: float,
        session_id: str = "",
        *,
        stop_agent: bool = False,
    ) -> ports.ToolAnswer | None:
        async def send(seconds: float) -> ports.ToolAnswer | None:
            servers = self._choose_allowed_servers(connection).find_servers_for(connection)
            if servers is None:
                return None
            return await servers.ask_outcome(connection, arguments, seconds, session_id, stop_agent=stop_agent)

        return await self._ask(ServerQuestion("recall", connection, timeout=timeout), send)

    async def _ask(self, question: ServerQuestion, send: Callable[[float], Awaitable[T]]) -> T:
        """Asks the question's server through its circuit breaker, with the retries that its kind permits; removes the
        server's secrets from the answer, or from the error that is raised.
        """
        connection = question.connection

        async def send_and_mask_secrets(seconds: float) -> T:
            try:
                answer = await send(seconds)
            except (ports.ToolUnreachable, ports.ToolSilent) as error:
                masked_text = _mask_text(str(error), self._credentials.list_recently_sent_secrets(connection))
                raise (error if masked_text == str(error) else type(error)(masked_text)) from None
            secrets = self._credentials.list_recently_sent_secrets(connection)
            return cast("T", self._remove_secrets(answer, secrets)) if secrets else answer

        return await self._resilience.ask(question, send_and_mask_secrets)

    def _choose_allowed_servers(self, connection: Connection) -> ServersByProtocol:
        """The servers to use, by who named the connection; raises ``ToolAddressForbidden`` for a forbidden address."""
        if connection.from_request or connection.author_tenant:
            try:
                parse_permitted_target(connection.url, self._reach if connection.from_request else self._operators)
            except AddressRefused as error:
                raise ports.ToolAddressForbidden(f"the URL {error.message}") from error
        return self._choose_servers_by_origin(connection)

    def _choose_servers_by_origin(self, connection: Connection) -> ServersByProtocol:
        if connection.from_request:
            return self._request_servers
        return self._tenant_servers if connection.author_tenant else self._installation_servers

    def _remove_secrets(self, answer: object, secrets: tuple[str, ...]) -> object:
        """The answer without the secrets. An unchanged tool list gives the same objects as before."""
        match answer:
            case ports.ToolAnswer():
                return _remove_secrets_from_answer(answer, secrets)
            case tuple():
                masked_by_secrets = self._masked_listings(answer)
                if secrets not in masked_by_secrets:
                    masked_by_secrets.clear()
                    masked_by_secrets[secrets] = tuple(_remove_secrets_from_tool(tool, secrets) for tool in answer)
                return masked_by_secrets[secrets]
            case _:
                return answer


def _remove_secrets_from_answer(answer: ports.ToolAnswer, secrets: Sequence[str]) -> ports.ToolAnswer:
    state = answer.unfinished
    masked_state = state._replace(question=_mask_text(state.question, secrets)) if state else None
    return answer._replace(content=_remove_secrets_from_json(answer.content, secrets), unfinished=masked_state)


def _remove_secrets_from_tool(tool: ports.Tool, secrets: Sequence[str]) -> ports.Tool:
    schema = cast("JsonObject", _remove_secrets_from_json(tool.input_schema, secrets))
    return tool._replace(description=_mask_text(tool.description, secrets), input_schema=schema)


def _remove_secrets_from_json(value: Json, secrets: Sequence[str]) -> Json:
    match value:
        case str():
            return _mask_text(value, secrets)
        case list():
            return [_remove_secrets_from_json(element, secrets) for element in value]
        case dict():
            return {
                _mask_text(name, secrets): _remove_secrets_from_json(element, secrets)
                for name, element in value.items()
            }
        case _:
            return value


def _mask_text(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, _CREDENTIAL_REPLACEMENT) if len(secret) >= _SHORTEST_SECRET else text
    return text


@asynccontextmanager
async def open_servers(
    reach: AllowedAddresses,
    credentials: ports.Credentials | None = None,
    tracer: Tracer = NO_TRACER,
    list_seconds: float = 0.0,
    resilience: Resilience | None = None,
) -> AsyncIterator[ConnectedServers]:
    """Yields the tool servers of every protocol. ``reach``: the addresses that a request may name.

    ``credentials``: sent only to servers that operators set up, and removed from their answers. ``list_seconds``: how
    long a tool list may be reused. ``tracer``: its trace is passed on to servers that ask for it, never to those that a
    request named. ``resilience``: without one, nothing is retried.
    """
    credentials = credentials or NoCredentials()
    async with AsyncExitStack() as stack:

        async def open_origin(
            guard: AddressGuard | None, credentials: ports.Credentials, tracer: Tracer
        ) -> ServersByProtocol:
            enter = stack.enter_async_context
            mcp = await enter(McpTools(guard=guard, credentials=credentials, tracer=tracer, list_seconds=list_seconds))
            rest_bridge = await enter(RestBridge(guard, credentials, tracer))
            return ServersByProtocol(mcp, rest_bridge, await enter(A2aAgents(guard, credentials, tracer)))

        yield ConnectedServers(
            await open_origin(None, credentials, tracer),
            await open_origin(AddressGuard(addresses_for_operators(reach.listed)), credentials, tracer),
            await open_origin(AddressGuard(reach), NoCredentials(), NO_TRACER),
            reach,
            credentials,
            resilience or Resilience(pauses=()),
        )
