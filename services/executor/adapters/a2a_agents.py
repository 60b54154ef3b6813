"""Remote agents as tool servers: each skill of an A2A agent's card is a tool (``ToolServers``).

Requests to an agent go to its own origin alone, with the connection's credential, and answers are bounded.
"""

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import httpx
from typing_extensions import override

from services.executor.adapters.credentials import NoCredentials
from services.executor.adapters.server_http import MAX_ANSWER_BYTES, origin_of, send_with_credential
from services.executor.ports import tools
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject, digest
from shared.domain.lru_cache import LruCache
from shared.infra.guard import Guard
from shared.infra.guarded_http import GuardedTransport
from shared.infra.tls import trusted_certificates
from shared.ports.tracing import NO_TRACER, Tracer


class NotCalled(httpx.ConnectError):
    """No request was made; the message says why and may be shown to anybody."""


class TooLarge(httpx.ReadError):
    """The answer is larger than the most that is read."""


class AgentTransport(httpx.AsyncBaseTransport):
    """The HTTP transport to one agent, which calls only the connection's own origin: a card may name any address.

    The inner transport is shared, and is not closed here.
    """

    def __init__(
        self, inner: httpx.AsyncBaseTransport, credentials: tools.Credentials, connection: Connection, tracer: Tracer
    ) -> None:
        self._inner, self._credentials, self._connection, self._tracer = inner, credentials, connection, tracer

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if origin_of(str(request.url)) != origin_of(self._connection.url):
            where = urlsplit(str(request.url)).netloc
            raise NotCalled(f"its card names another origin ({where}) than the connection", request=request)
        if self._connection.traceparent and (here := self._tracer.traceparent()):
            request.headers["traceparent"] = here
        send = self._inner.handle_async_request
        try:
            response = await send_with_credential(self._credentials, self._connection, request, send)
        except tools.CredentialUnavailable as error:
            raise NotCalled(str(error), request=request) from None
        return await _read_bounded(response, request)


async def _read_bounded(response: httpx.Response, request: httpx.Request) -> httpx.Response:
    body = bytearray()
    try:
        async for part in response.aiter_raw():
            body += part
            if len(body) > MAX_ANSWER_BYTES:
                raise TooLarge(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", request=request)
    finally:
        await response.aclose()
    kind = response.headers.get("content-type", "application/json")
    return httpx.Response(response.status_code, headers={"content-type": kind}, content=bytes(body), request=request)


if TYPE_CHECKING:
    from services.executor.adapters.a2a_client import A2aAgent

DISCOVERY_SECONDS = 15.0
MAX_REMEMBERED = 128
_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50, keepalive_expiry=2.0)
_TIMEOUT = httpx.Timeout(120.0, connect=5.0, pool=5.0)  # each call has its own, shorter limit above this one
_HEADERS = {"accept": "application/json", "accept-encoding": "identity"}


class A2aAgents(tools.ToolServers):
    """An async context manager around one shared HTTP transport. It repeats no message and follows no redirect."""

    def __init__(
        self, guard: Guard | None = None, credentials: tools.Credentials | None = None, tracer: Tracer = NO_TRACER
    ) -> None:
        """``guard``: where it may connect; without one, to any address. ``credentials``: those that agents are
        shown.
        """
        self._tracer, self._credentials = tracer, credentials or NoCredentials()
        plain = httpx.AsyncHTTPTransport(limits=_LIMITS, retries=0, verify=trusted_certificates())
        self._transport = GuardedTransport(guard, _LIMITS) if guard else plain
        self._agents = LruCache[str, "A2aAgent"](MAX_REMEMBERED)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self._transport.aclose()

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[tools.Tool, ...]:
        try:
            async with asyncio.timeout(DISCOVERY_SECONDS):
                agent = await self._fetch_agent(connection)
        except TimeoutError:
            raise tools.ToolSilent(f"{connection.id}: no card within {DISCOVERY_SECONDS:g} seconds") from None
        return agent.tools

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        return False

    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> tools.ToolAnswer:
        deadline = asyncio.get_running_loop().time() + timeout
        agent = await self._agent_before_sending(connection, tool, deadline)
        return await agent.send(tool, arguments, deadline, context_of(connection, session_id))

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> tools.ToolAnswer:
        """The answer of a skill that the catalogue calls a read. It is not waited for beyond the time-out, and a
        question of the agent is not answered.
        """
        deadline = asyncio.get_running_loop().time() + timeout
        agent = await self._agent_before_sending(connection, tool, deadline)
        answer = await agent.send(tool, arguments, deadline, context_of(connection, session_id))
        if answer.unfinished is None:
            return answer
        await agent.stop(answer.unfinished.task_id)
        if answer.unfinished.question:
            return tools.ToolAnswer(
                f"the agent asked back, and was told to stop: {answer.unfinished.question}", is_error=True
            )
        raise tools.ToolSilent(f"{tool}: no result within {timeout:g} seconds; the agent was told to stop")

    @override
    async def ask_outcome(
        self,
        connection: Connection,
        arguments: JsonObject,
        timeout: float,
        session_id: str = "",
        *,
        stop_agent: bool = False,
    ) -> tools.ToolAnswer | None:
        try:
            async with asyncio.timeout(timeout):
                agent = self._agents.get(connection.server_key) or await self._fetch_agent(connection)
                return await agent.ask_outcome(arguments, context_of(connection, session_id), stop_agent=stop_agent)
        except TimeoutError:
            raise tools.ToolSilent(
                f"the agent did not say within {timeout:g} seconds what became of the call"
            ) from None

    async def _agent_before_sending(self, connection: Connection, tool: str, deadline: float) -> "A2aAgent":
        """The agent as its card describes it. Whatever error is raised here, the message itself was not sent."""
        known = self._agents.get(connection.server_key)
        if known is not None:
            return known
        try:
            async with asyncio.timeout_at(deadline):
                return await self._fetch_agent(connection)
        except (TimeoutError, tools.ToolSilent) as error:
            raise tools.ToolUnreachable(f"{tool} was not sent: {error or 'no card in time'}") from error

    async def _fetch_agent(self, connection: Connection) -> "A2aAgent":
        """The agent as its card describes it now, which is kept."""
        # The SDK costs half a second and 30 MB, which only a tenant that has an agent should pay.
        from services.executor.adapters.a2a_client import fetch_agent

        transport = AgentTransport(self._transport, self._credentials, connection, self._tracer)
        client = httpx.AsyncClient(transport=transport, headers=_HEADERS, timeout=_TIMEOUT, follow_redirects=False)
        return self._agents.keep(connection.server_key, await fetch_agent(connection, client))


def context_of(connection: Connection, session_id: str) -> str:
    """The agent's context id for one of our sessions: the same each time, and different for any other tenant or
    credential.
    """
    return digest(["a2a-context", connection.server_key, session_id])[:32]
