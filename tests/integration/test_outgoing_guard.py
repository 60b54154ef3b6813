"""The guard of outgoing HTTP over real sockets, on both HTTP stacks: what it lets through, and where it lets nobody."""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import httpx2
import pytest

from examples.company.protocols import ToolProtocol
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.rest_bridge import RestBridge
from services.executor.adapters.tool_servers import open_servers
from services.executor.ports.tools import ToolAddressForbidden, ToolSilent, ToolUnreachable
from shared.contracts.tenant import Connection
from shared.domain.outgoing import (
    AddressRefused,
    AllowedAddresses,
    Target,
    addresses_for_tools,
    addresses_for_webhooks,
    normalize_host_list,
    parse_permitted_target,
)
from shared.infra.aiohttp_transport import AiohttpTransport
from shared.infra.guard import AddressGuard, ThreadedResolver
from shared.infra.guarded_http import RefusedConnection, make_guarded_client
from tests.certificates import certificate_for
from tests.company_stage import company
from tests.each_row import each_row
from tests.unit.outgoing.ssrf_tricks import NAMES, TRICKS

TOOLS = addresses_for_tools(("public.test:80",), permits_loopback=False)
HOOKS = addresses_for_webhooks((), permits_loopback=False)
GOOD = "127.0.0.2"  # stands for a server outside; 127.0.0.1 for one inside
PATIENCE = httpx.Timeout(5.0, connect=0.5)


class Names:
    """A resolver with a script: each question takes the next answer, the last one again and again."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers, self.asked = list(answers), 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


async def by_table(host: str, port: int) -> Sequence[str]:
    return NAMES.get(host, ())


class Site(NamedTuple):
    """A small HTTP server. ``heard`` holds the head of each request."""

    port: int
    heard: list[str]


@asynccontextmanager
async def site(address: str, answer: str = "200 OK", tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    heard: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(f"HTTP/1.1 {answer}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, address, 0, ssl=tls)
    async with server:
        yield Site(server.sockets[0].getsockname()[1], heard)


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]


Get = Callable[[str], Awaitable[Reply]]
Stack = Callable[..., AbstractAsyncContextManager[Get]]


class NotReached(Exception):
    """Either stack's word for a connection that was not made."""


@asynccontextmanager
async def on_httpx(guard: AddressGuard, tls: ssl.SSLContext, follow: bool = False) -> AsyncIterator[Get]:
    async with make_guarded_client(guard, PATIENCE, tls=tls) as client:

        async def get(url: str) -> Reply:
            try:
                response = await client.get(url, follow_redirects=follow)
            except httpx.TransportError as error:
                raise NotReached(str(error)) from error
            return Reply(response.status_code, dict(response.headers))

        yield get


@asynccontextmanager
async def on_httpx2(guard: AddressGuard, tls: ssl.SSLContext, follow: bool = False) -> AsyncIterator[Get]:
    transport = AiohttpTransport(guard=guard, tls=tls)
    async with httpx2.AsyncClient(
        transport=transport, timeout=httpx2.Timeout(5.0, connect=0.5), follow_redirects=follow
    ) as client:

        async def get(url: str) -> Reply:
            try:
                response = await client.get(url)
            except httpx2.TransportError as error:
                raise NotReached(str(error)) from error
            return Reply(response.status_code, dict(response.headers))

        yield get


STACKS = pytest.mark.parametrize("stack", [on_httpx, on_httpx2])
PLAIN = ssl.create_default_context()


def outside(*more: str) -> AllowedAddresses:
    """Lets through the address that stands for a server outside."""
    return AllowedAddresses(listed=normalize_host_list((f"{GOOD}/32", *more)), permits_queries=True)


@pytest.mark.promise("ssrf.rules")
@pytest.mark.parametrize("reach", [HOOKS, TOOLS], ids=["webhook", "tools endpoint"])
async def test_every_trick_is_refused_on_both_stacks(reach: AllowedAddresses) -> None:
    """By the text of the URL where that is enough, else before any connection is made."""
    guard, passed = AddressGuard(reach, by_table), []
    async with on_httpx(guard, PLAIN) as one, on_httpx2(guard, PLAIN) as other:
        for name, url in TRICKS.items():
            for get in (one, other):
                try:
                    passed.append((name, await get(url)))
                except (NotReached, httpx.InvalidURL, httpx2.InvalidURL, UnicodeError):
                    continue

    assert passed == []


@pytest.mark.promise("ssrf.rules")
@each_row("reach", [HOOKS, TOOLS])
def test_only_what_a_name_leads_to_is_left_to_the_connection(reach: AllowedAddresses) -> None:
    """When it is configured, a URL is refused for all that its text shows."""
    with_names = {name for name, url in TRICKS.items() if any(host in url for host in NAMES) or "nowhere" in url}
    passed = set()
    for name, url in TRICKS.items():
        try:
            parse_permitted_target(url, reach)
        except AddressRefused:
            continue
        passed.add(name)

    assert passed <= (with_names if reach.permits_public else set())


@pytest.mark.promise("ssrf.pinned")
@STACKS
async def test_a_name_that_changes_after_the_check_gains_nothing(stack: Stack) -> None:
    """One look-up for each connection, and what was looked up is connected to."""
    names = Names([GOOD], ["127.0.0.1"])
    async with site(GOOD) as good, stack(AddressGuard(outside(), names), PLAIN) as get, site("127.0.0.1") as inside:
        assert (await get(f"http://rebound.test:{good.port}/")).status == 200
        assert names.asked == 1
        with pytest.raises(NotReached, match="no address that may be called"):
            await get(f"http://rebound.test:{inside.port}/")

    assert inside.heard == []


@pytest.mark.promise("ssrf.redirects")
@STACKS
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
async def test_a_redirect_inside_is_refused_also_where_redirects_are_followed(stack: Stack, status: str) -> None:
    async with site("127.0.0.1") as inside:
        for target in (f"http://127.0.0.1:{inside.port}/", f"http://inside.test:{inside.port}/", "file:///etc/passwd"):
            answer = f"{status}\r\nlocation: {target}"
            async with (
                site(GOOD, answer) as good,
                stack(AddressGuard(outside(), Names(["127.0.0.1"])), PLAIN, True) as get,
            ):
                with pytest.raises(NotReached):
                    await get(f"http://{GOOD}:{good.port}/")

    assert inside.heard == []


@pytest.mark.promise("ssrf.redirects")
@STACKS
async def test_no_redirect_is_followed_unasked(stack: Stack) -> None:
    moved = "302 Found\r\nlocation: http://127.0.0.1:1/"
    async with site(GOOD, moved) as good, stack(AddressGuard(outside(), Names([])), PLAIN) as get:
        assert (await get(f"http://{GOOD}:{good.port}/")).status == 302


@pytest.mark.promise("ssrf.pinned")
@STACKS
async def test_the_name_is_what_the_server_and_its_certificate_are_asked_for(stack: Stack, tmp_path: Path) -> None:
    """The connection goes to an address, and is still one to the host of the URL."""
    served, trusted = certificate_for("erp.test", tmp_path)
    guard = AddressGuard(outside(), Names([GOOD]))
    async with site(GOOD, tls=served) as good, stack(guard, trusted) as get:
        assert (await get(f"https://erp.test:{good.port}/")).status == 200
        assert f"host: erp.test:{good.port}" in good.heard[0].lower()
        with pytest.raises(NotReached):
            await get(f"https://other.test:{good.port}/")

    assert len(good.heard) == 1


@STACKS
async def test_a_host_with_several_addresses_is_reached_by_the_one_that_answers(stack: Stack) -> None:
    names = Names(["127.0.0.3", GOOD])
    async with site(GOOD) as good, stack(AddressGuard(outside("127.0.0.3/32"), names), PLAIN) as get:
        assert (await get(f"http://twice.test:{good.port}/")).status == 200


@STACKS
async def test_a_resolver_that_does_not_answer_holds_nobody(stack: Stack) -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return ()

    loop = asyncio.get_running_loop()
    began = loop.time()
    async with stack(AddressGuard(outside(), never), PLAIN) as get:
        with pytest.raises(NotReached):
            await get("http://slow.test/")

    assert loop.time() - began < 10


@pytest.mark.promise("ssrf.rules")
async def test_a_refused_webhook_says_by_which_rule() -> None:
    async with make_guarded_client(AddressGuard(HOOKS, by_table), PATIENCE) as client:
        with pytest.raises(RefusedConnection) as caught:
            await client.post("https://inside.test/hook")

    assert caught.value.rule.value == "address"
    assert "10.0.0.8" not in str(caught.value)


@pytest.mark.promise("ssrf.allowed")
async def test_the_operators_servers_are_called_wherever_they_are_and_a_requests_are_not() -> None:
    """By MCP as by the bridge: no connection is made to what a request names inside."""
    async with site("127.0.0.1", "404 Not Found") as inside, open_servers(TOOLS) as servers:
        url = f"http://127.0.0.1:{inside.port}"
        for protocol in ("auto", "mcp", "rest"):
            named = Connection(id="request", url=url, protocol=protocol, from_request=True)
            with pytest.raises(ToolAddressForbidden, match="TOOLS_ALLOWED_HOSTS"):
                await servers.discover(named)
            with pytest.raises(ToolUnreachable):
                await servers.call(named, "pay", {}, 5)
        assert inside.heard == []
        with pytest.raises(ToolSilent, match="neither MCP"):
            await servers.discover(Connection(id="erp", url=url))

    assert inside.heard


@pytest.mark.promise("ssrf.allowed", "gateway.tools_endpoint")
@pytest.mark.parametrize("spoken", [ToolProtocol.MCP, ToolProtocol.REST])
async def test_a_permitted_server_that_a_request_names_is_worked_with(spoken: ToolProtocol, tmp_path: Path) -> None:
    """A whole tool server under guard, by either protocol: listed, and called."""
    async with (
        company(tmp_path, protocol=spoken) as running,
        open_servers(addresses_for_tools((), permits_loopback=True)) as servers,
    ):
        named = Connection(id="request", url=running.url, from_request=True)
        tools = await servers.discover(named)
        answer = await servers.read(named, "get_expense", {"expense_id": "EXP-1001"}, 10)

    assert "get_expense" in {tool.name for tool in tools}
    assert not answer.is_error


@pytest.mark.promise("ssrf.allowed")
async def test_what_a_tenants_operators_set_up_is_called_inside_and_never_at_metadata() -> None:
    async with site("127.0.0.1", "404 Not Found") as inside, open_servers(TOOLS) as servers:
        with pytest.raises(ToolSilent, match="neither MCP"):
            await servers.discover(Connection(id="erp", url=f"http://127.0.0.1:{inside.port}", author_tenant="acme"))
        with pytest.raises(ToolUnreachable, match="metadata"):
            await servers.discover(Connection(id="erp", url="http://169.254.169.254/latest", author_tenant="acme"))


@contextmanager
def unreachable_everywhere() -> Iterator[tuple[McpTools, RestBridge]]:
    guard = AddressGuard(TOOLS, by_table)
    yield McpTools(guard=guard), RestBridge(guard)


@pytest.mark.promise("ssrf.rules")
async def test_tool_servers_by_every_trick_are_unreachable() -> None:
    """What is certainly not sent is said to be so, whatever the URL is."""
    others = []
    with unreachable_everywhere() as (one, other):
        async with one as mcp, other as rest:
            for name, url in TRICKS.items():
                for servers in (mcp, rest):
                    try:
                        await servers.call(Connection(id="request", url=url, from_request=True), "pay", {}, 5)
                    except ToolUnreachable:
                        continue
                    others.append(name)

    assert others == []


@pytest.mark.promise("ssrf.lookups")
async def test_names_that_nobody_answers_for_hold_up_neither_others_nor_what_else_runs_in_threads() -> None:
    """As many hang as fit into the threads that everything else shares; they are given up and go on hanging."""
    over, hung = threading.Event(), 40

    def look_up(host: str, port: int) -> Sequence[str]:
        if host == "hangs.test":
            over.wait(60)
        return (GOOD,)

    guard = AddressGuard(AllowedAddresses(permits_public=True), ThreadedResolver(look_up))
    try:
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            for _ in range(hung):
                group.create_task(_given_up(guard))
            await asyncio.to_thread(int)
            with pytest.raises(AddressRefused):  # what it leads to is looked at: it was found
                await guard.resolve_permitted_addresses(Target("https", "answers.test", 443))
    finally:
        over.set()


async def _given_up(guard: AddressGuard) -> None:
    with pytest.raises(TimeoutError):
        await guard.connect_to(Target("https", "hangs.test", 443), 0.2, _never)


async def _never(address: str, seconds: float) -> None:
    raise AssertionError(address)
