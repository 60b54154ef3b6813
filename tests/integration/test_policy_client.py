"""The transport of calls to MCP servers and to the policy service, against servers that misbehave on the wire."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import cycle
from typing import NamedTuple

import httpx2
import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from services.executor.adapters.policy_http import HttpPolicy
from services.executor.ports.services import PolicyUnavailable
from services.policy.core.evaluate import evaluate
from services.policy.entrypoints.http import build_application
from services.policy.settings import PolicySettings
from shared.contracts.allowance import AllowanceRequest, OfferedTool
from shared.contracts.policy import CallContext, EvaluateRequest, Policy, Rule, TextRule, Verdict
from shared.contracts.policy_hash import hash_policies
from shared.domain.exact_json import loads_object
from shared.infra.aiohttp_transport import AiohttpTransport, PoolLimits
from tests.each_row import each_row

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def _server(behave: Behaviour) -> AsyncIterator[str]:
    server = await asyncio.start_server(behave, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A byte of the answer every 20 ms, for as long as somebody listens."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n")
    try:
        while not writer.is_closing() and not reader.at_eof():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)  # the pace of the drip, not a wait for anything
    except ConnectionError:
        return
    finally:
        writer.close()


@pytest.mark.promise("I2.no_verdict_no_write")
async def test_an_answer_that_comes_a_byte_at_a_time_is_bounded_as_a_whole() -> None:
    async with _server(_drips) as url:
        policy = HttpPolicy(url, seconds=0.3)
        with pytest.raises(PolicyUnavailable, match=r"did not answer within 0\.3 s"):
            await asyncio.wait_for(policy.evaluate(EvaluateRequest()), 20)
        await policy.close()


def test_a_message_that_cannot_be_read_is_not_quoted_in_its_error() -> None:
    """Such errors are logged with their traceback; what the message held stays out of it."""
    with pytest.raises(ValueError, match="policies") as refused:
        EvaluateRequest.model_validate({"policies": "Jane Roe's salary is 91,000"})
    assert "91,000" not in str(refused.value)
    assert "91,000" not in repr(refused.value)


class _Services(httpx2.AsyncBaseTransport):
    """Replicas that are asked in turn; ``paths``: what came to any of them, with how many policies."""

    def __init__(self, *apps: ASGIApp) -> None:
        self._turn = cycle(httpx2.ASGITransport(app) for app in apps)
        self.paths: list[tuple[str, int]] = []

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        policies = loads_object(request.content).get("policies")
        self.paths.append((request.url.path.rsplit("/", 1)[1], len(policies) if isinstance(policies, list) else 0))
        return await next(self._turn).handle_async_request(request)


def _asked_of(services: httpx2.AsyncBaseTransport) -> HttpPolicy:
    return HttpPolicy("http://policy", transport=services)


def _service() -> ASGIApp:
    return build_application(PolicySettings().max_body_bytes)


_RULES = Policy(id="P", rules=(Rule(id="R", condition="amount > 5", action="block"),))
_ABOUT = EvaluateRequest(policies=(_RULES,), context={"amount": 7})


@pytest.mark.promise("policy.by_hash")
async def test_policies_are_sent_once_and_named_from_then_on() -> None:
    """The same objects or equal ones, for verdicts and for allowances."""
    services = _Services(_service())
    policy = _asked_of(services)
    equal = EvaluateRequest.from_json(_ABOUT.to_json())
    blocked = [(await policy.evaluate(asked)).blocked for asked in (_ABOUT, _ABOUT, equal)]
    await policy.get_allowances(AllowanceRequest(policies=(_RULES,), tools=(OfferedTool(tool="pay"),)))

    assert blocked == [True, True, True]
    assert services.paths == [("evaluate", 0), ("evaluate", 1), ("evaluate", 0), ("evaluate", 0), ("allowances", 0)]


@pytest.mark.promise("policy.by_hash")
async def test_any_replica_can_be_asked() -> None:
    """Replicas that take turns, so that the one that was sent the policies is never the one asked next."""
    services = _Services(_service(), _service(), _service())
    policy = _asked_of(services)

    for amount in (7, 3, 7, 3, 7, 3):
        assert (await policy.evaluate(_ABOUT.model_copy(update={"context": {"amount": amount}}))).blocked is (
            amount > 5
        )


@pytest.mark.promise("policy.by_hash")
async def test_a_service_that_knows_no_hashes_is_sent_the_policies() -> None:
    """A service of the version before has no such path."""

    async def before(scope: Scope, receive: Receive, send: Send) -> None:
        known = not str(scope["path"]).startswith("/v1/policies/")
        app = _service() if known else Response(status_code=404)
        await app(scope, receive, send)

    assert (await _asked_of(_Services(before)).evaluate(_ABOUT)).blocked


@pytest.mark.promise("policy.by_hash", "I2.no_verdict_no_write")
async def test_a_verdict_by_other_policies_is_none() -> None:
    async def careless(scope: Scope, receive: Receive, send: Send) -> None:
        passed = Verdict(passed=True, policy_hash="of others", context_hash="c")
        await Response(passed.to_json(), media_type="application/json")(scope, receive, send)

    with pytest.raises(PolicyUnavailable, match="other policies"):
        await _asked_of(_Services(careless)).evaluate(_ABOUT)


@pytest.mark.promise("policy.by_hash")
async def test_a_request_that_names_policies_brings_none() -> None:
    """Which of the two would count is nobody's guess."""
    named = hash_policies((_RULES,))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(_service()), base_url="http://policy") as client:
        both = await client.post(f"/v1/policies/{named}/evaluate", content=_ABOUT.to_json())
        unknown = await client.post(f"/v1/policies/{named}/evaluate", content=b"{}")

    assert (both.status_code, both.json()["field"]) == (422, "policies")
    assert (unknown.status_code, unknown.json()["field"]) == (404, "policyHash")


_TEXTS = Policy(id="T", text_rules=(TextRule(id="T1", type="deny", keywords=("bribe",)),))
_CALL = CallContext(call_id="c1", tool="pay", fields={"amount": 7})


@pytest.mark.promise("I2.no_verdict_no_write")
@each_row(
    ("policy", "known", "asked"),
    (_RULES, {}, 1),  # nothing is known but a text that no rule judges
    (_TEXTS, {}, 2),
    (_RULES, {"context": {"amount": 7}}, 2),
    (_RULES, {"calls": (_CALL,)}, 2),
    (_RULES, {"calls": (_CALL,), "binding": True, "plan_hash": "w"}, 2),
    (_RULES, {"binding": True}, 2),
)
async def test_what_rules_foresee_of_any_task_is_asked_for_once_and_all_else_each_time(
    policy: Policy, known: Mapping[str, object], asked: int
) -> None:
    """Each task has the very verdict that the service gives, whether it was asked or not."""
    services = _Services(_service())
    client = _asked_of(services)
    requests = [EvaluateRequest(policies=(policy,), text=text).model_copy(update=known) for text in ("a bribe", "b")]
    verdicts = [await client.evaluate(request) for request in requests]

    assert verdicts == [evaluate(request) for request in requests]
    assert len(services.paths) == asked + 1  # the policies are sent once


_OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Server(NamedTuple):
    """``heard``: each request's whole bytes. ``connections``: how many were made."""

    url: str
    heard: list[bytes]
    connections: list[asyncio.StreamWriter]


@asynccontextmanager
async def answering(*answers: bytes | Callable[[asyncio.StreamWriter], None]) -> AsyncIterator[Server]:
    """Answers the first request with the first of ``answers``, and so on; the last serves again and again."""
    heard: list[bytes] = []
    connections: list[asyncio.StreamWriter] = []
    waiting = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), b":0"
                )
                heard.append(head + await reader.readexactly(int(length.partition(b":")[2])))
                answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                if callable(answer):
                    answer(writer)
                else:
                    writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield Server(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heard, connections)
        for writer in connections:
            writer.close()


@asynccontextmanager
async def client(keeping: PoolLimits | None = None, **times: float) -> AsyncIterator[httpx2.AsyncClient]:
    """Patient in all but what it is given times of."""
    timeout = httpx2.Timeout(**{"timeout": 20.0, **times})
    async with httpx2.AsyncClient(transport=AiohttpTransport(keeping), timeout=timeout) as http:
        yield http


async def test_requests_one_after_the_other_share_a_connection() -> None:
    async with answering(_OK) as server, client() as http:
        for _ in range(3):
            response = await http.post(f"{server.url}/a?b=c", content=b"body")
            assert (response.status_code, response.text) == (200, "ok")
        assert len(server.connections) == 1
        assert server.heard[0].startswith(b"POST /a?b=c HTTP/1.1\r\n")
        assert server.heard[0].endswith(b"\r\n\r\nbody")


@each_row(
    "said",
    b"",
    b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab",
)
async def test_an_answer_that_breaks_off_is_an_error(said: bytes) -> None:
    def break_off(writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    async with answering(break_off) as server, client() as http:
        with pytest.raises(httpx2.ReadError):
            await http.get(server.url)


async def test_nobody_listening_says_that_no_connection_was_made() -> None:
    async with answering(_OK) as server:
        gone = server.url
    async with client() as http:
        with pytest.raises(httpx2.ConnectError):
            await http.get(gone)


async def test_a_connection_that_the_server_ended_is_not_used_again() -> None:
    """A request on it would be in doubt, though the server never saw it."""

    def say_and_end(writer: asyncio.StreamWriter) -> None:
        writer.write(_OK)
        writer.close()

    async with answering(say_and_end) as server, client() as http:
        for _ in range(5):
            assert (await http.get(server.url)).text == "ok"
        assert len(server.heard) == len(server.connections) == 5


async def test_a_post_is_sent_once_and_a_connection_that_breaks_under_it_is_not_called_unmade() -> None:
    """On a new connection, and on one that is kept: who sent it cannot know what came of it."""

    async with answering(_OK, lambda writer: writer.close(), _OK, lambda writer: writer.close()) as server:
        for posts in (2, 4):
            async with client() as http:
                assert (await http.post(server.url, content=b"pay")).text == "ok"
                with pytest.raises(httpx2.ReadError):
                    await http.post(server.url, content=b"pay")
                assert len(server.heard) == posts


async def test_a_server_that_reads_nothing_is_a_time_out() -> None:
    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        await held.wait()
        writer.close()

    held = asyncio.Event()
    async with (
        await asyncio.start_server(hold, "127.0.0.1", 0, limit=1024) as server,
        client(timeout=0.05, connect=1.0) as http,
    ):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(httpx2.ReadTimeout):
            await http.post(url, content=b"x" * 50_000_000)
        held.set()


async def test_no_cookie_is_kept_and_nothing_is_added_to_a_request() -> None:
    answer = b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: 2\r\n\r\nok"
    async with answering(answer) as server:
        transport = AiohttpTransport()
        for _ in range(2):
            response = await transport.handle_async_request(httpx2.Request("POST", server.url, content=b"body"))
            await response.aread()
        await transport.aclose()
        for heard in server.heard:
            names = {line.partition(b":")[0].lower() for line in heard.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]}
            assert names == {b"host", b"content-length"}


async def test_silence_is_a_time_out_and_costs_its_connection() -> None:
    async with answering(b"", _OK) as server, client(read=0.05) as http:
        with pytest.raises(httpx2.ReadTimeout):
            await http.get(server.url)
        assert (await http.get(server.url, timeout=20.0)).text == "ok"
        assert len(server.connections) == 2


async def test_a_request_that_is_given_up_leaves_nothing_for_the_next() -> None:
    async with answering(b"", _OK) as server, client() as http:
        asked = asyncio.create_task(http.get(server.url))
        while not server.heard:
            await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert (await http.get(server.url)).text == "ok"
        assert len(server.connections) == 2


async def test_connections_are_closed_when_nobody_used_them_for_a_while() -> None:
    async with answering(_OK) as server, client(PoolLimits(kept_seconds=0.05)) as http:
        await http.get(server.url)
        async with asyncio.timeout(20):
            await server.connections[0].wait_closed()
