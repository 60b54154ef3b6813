"""Remote agents as tool servers: each skill of an A2A agent's card is a tool (``ToolServers``).

Requests to an agent go to its own origin alone, with the connection's credential, and answers are bounded.
"""

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import httpx2
from typing_extensions import override

from services.executor.adapters.server_http import (
    CONNECT_SECONDS,
    DISCOVERY_SECONDS,
    TRANSPORT_ERRORS,
    HttpToolServers,
    ServerHttp,
    convert_to_port_error,
    parse_origin,
    read_bounded_parts,
)
from services.executor.ports import tools
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject, digest
from shared.ports.tracing import Tracer


class AgentTransport(httpx.AsyncBaseTransport):
    """The HTTP transport to one agent. It sends requests only to the origin of the connection's URL, since an agent's
    card may name any address. Closing it leaves the shared HTTP pool open.
    """

    def __init__(self, http: ServerHttp, connection: Connection, tracer: Tracer) -> None:
        self._http = http
        self._connection = connection
        self._tracer = tracer

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if parse_origin(str(request.url)) != parse_origin(self._connection.url):
            host = urlsplit(str(request.url)).netloc
            raise tools.ToolUnreachable(f"its card names another origin ({host}) than the connection")
        if self._connection.traceparent and (traceparent := self._tracer.traceparent()):
            request.headers["traceparent"] = traceparent
        forwarded_request = httpx2.Request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=await request.aread(),
            extensions={"timeout": request.extensions.get("timeout", {})},
        )
        try:
            response = await self._http.send(self._connection, forwarded_request)
            try:
                body = b"".join([chunk async for chunk in read_bounded_parts(response)])
            finally:
                await response.aclose()
        except TRANSPORT_ERRORS as error:
            raise convert_to_port_error(error) from error
        content_type = response.headers.get("content-type", "application/json")
        return httpx.Response(
            response.status_code, headers={"content-type": content_type}, content=body, request=request
        )


if TYPE_CHECKING:
    from services.executor.adapters.a2a_client import A2aAgent

# Each call has its own, shorter limit above this one.
_TIMEOUT = httpx.Timeout(120.0, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
_HEADERS = {"accept": "application/json", "accept-encoding": "identity"}


class A2aAgents(HttpToolServers["A2aAgent"]):
    """Remote A2A agents as tool servers: each skill of an agent's card is a tool."""

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[tools.Tool, ...]:
        try:
            async with asyncio.timeout(DISCOVERY_SECONDS):
                agent = await self._fetch_agent(connection)
        except TimeoutError:
            raise tools.ToolSilent(f"{connection.id}: no card within {DISCOVERY_SECONDS:g} seconds") from None
        return agent.tools

    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> tools.ToolAnswer:
        deadline = asyncio.get_running_loop().time() + timeout
        agent = await self._get_or_fetch_agent(connection, tool, deadline)
        return await agent.send_message(tool, arguments, deadline, _compute_context_id(connection, session_id))

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> tools.ToolAnswer:
        """Calls a skill that only reads. If it times out or asks a question, the agent is told to stop."""
        deadline = asyncio.get_running_loop().time() + timeout
        agent = await self._get_or_fetch_agent(connection, tool, deadline)
        answer = await agent.send_message(tool, arguments, deadline, _compute_context_id(connection, session_id))
        if answer.unfinished is None:
            return answer
        await agent.cancel_task(answer.unfinished.task_id)
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
                agent = self._discovered.get(connection.server_key) or await self._fetch_agent(connection)
                return await agent.ask_outcome(
                    arguments, _compute_context_id(connection, session_id), stop_agent=stop_agent
                )
        except TimeoutError:
            raise tools.ToolSilent(
                f"the agent did not say within {timeout:g} seconds what became of the call"
            ) from None

    async def _get_or_fetch_agent(self, connection: Connection, tool: str, deadline: float) -> "A2aAgent":
        """The connection's agent, cached or fetched. Every error raised here means that nothing was sent."""
        agent = self._discovered.get(connection.server_key)
        if agent is not None:
            return agent
        try:
            async with asyncio.timeout_at(deadline):
                return await self._fetch_agent(connection)
        except (TimeoutError, tools.ToolSilent) as error:
            raise tools.ToolUnreachable(f"{tool} was not sent: {str(error) or 'no card in time'}") from error

    async def _fetch_agent(self, connection: Connection) -> "A2aAgent":
        """Fetches the agent's card; returns the agent, which is cached. Raises what ``fetch_agent`` raises."""
        # The SDK costs half a second and 30 MB, which only a tenant that has an agent should pay.
        from services.executor.adapters.a2a_client import fetch_agent

        transport = AgentTransport(self._http, connection, self._tracer)
        client = httpx.AsyncClient(transport=transport, headers=_HEADERS, timeout=_TIMEOUT, follow_redirects=False)
        return self._discovered.put(connection.server_key, await fetch_agent(connection, client))


def _compute_context_id(connection: Connection, session_id: str) -> str:
    """The A2A context id for a session; another one for each tenant, credential and server."""
    return digest(["a2a-context", connection.server_key, session_id])[:32]
