"""What is too large, too slow, one too many or from a strange page or address gets no further than the threshold."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
import structlog
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message
from typing_extensions import override

from services.gateway.edge.errors import TooManyRequests
from services.gateway.edge.fields import MAX_JSON_NESTING, MAX_JSON_VALUES, BadCall, parse_json
from services.gateway.edge.request_limits import RequestLimiter, RequestLimits, is_own_or_local_host, is_own_page
from services.gateway.features.tasks.waking_tasks import BestEffortWakes, WakingTasks
from shared.contracts.task import TaskRecord, Turn
from shared.ports.meter import NoMeter
from shared.ports.tasks import Acceptance, PrepareAcceptance, TooManyWaiting
from tests.doubles.gateway_doubles import MemoryTasks
from tests.doubles.redis_tasks import a_record, a_turn
from tests.each_row import each_row
from tests.http_client import open_http
from tests.serving import serving

LIMITS = RequestLimits(body_bytes=1000, body_seconds=30, header_bytes=2000, url_bytes=300, open_requests=2)


class Rooms:
    """An application with a route that reads in each of the usual ways, and one that holds its requests."""

    def __init__(self) -> None:
        self.held, self.release = asyncio.Semaphore(0), asyncio.Event()

    def app(self, limits: RequestLimits = LIMITS) -> ASGIApp:
        routes = [Route(f"/{name}", getattr(self, name), methods=["POST", "GET"]) for name in ("own", "form", "hold")]
        of_messages = [
            Route("/message:send", self.read_and_hold, methods=["POST"]),
            Route("/own/message:send", self.own, methods=["POST"]),
        ]
        whole = [*routes, *of_messages, Route("/health", self.health)]
        return Starlette(routes=whole, middleware=[Middleware(RequestLimiter, limits=limits)])

    async def own(self, request: Request) -> JSONResponse:
        try:
            return JSONResponse({"read": len(await request.body())})
        except BadCall as bad:
            return JSONResponse({"own": bad.message}, bad.status)

    async def form(self, request: Request) -> JSONResponse:
        return JSONResponse({"fields": len(await request.form())})

    async def hold(self, request: Request) -> PlainTextResponse:
        self.held.release()
        await self.release.wait()
        return PlainTextResponse("held")

    async def read_and_hold(self, request: Request) -> JSONResponse:
        size = len(await request.body())
        self.held.release()
        await self.release.wait()
        return JSONResponse({"read": size})

    async def health(self, request: Request) -> PlainTextResponse:
        return PlainTextResponse("well")


@pytest.mark.promise("gateway.limits")
@each_row("path", ["/own", "/form"])
async def test_a_body_within_the_limit_is_read_and_one_over_it_is_refused_whoever_reads_it(path: str) -> None:
    """Also where its length was not said before."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 100

    async with serving(Rooms().app()) as url, open_http(base_url=url) as client:
        assert (await client.post("/own", content=b"x" * 1000)).json() == {"read": 1000}
        headers = {"content-type": "application/x-www-form-urlencoded"}
        for content in (b"x" * 1001, pieces()):
            reply = await client.post(path, content=content, headers=headers)
            assert reply.status_code == 413
            assert "1000 bytes" in reply.text


@pytest.mark.promise("gateway.limits")
async def test_only_a_message_may_be_larger_and_only_some_at_once() -> None:
    """Large ones are counted until they are answered: then their place is another's."""
    rooms = Rooms()
    limits = LIMITS._replace(message_bytes=5000, large_bodies=1)
    async with (
        serving(rooms.app(limits)) as url,
        open_http(base_url=url) as client,
        asyncio.timeout(10),
        asyncio.TaskGroup() as group,
    ):
        assert (await client.post("/own", content=b"x" * 1001)).status_code == 413
        assert (await client.post("/message:send", content=b"x" * 5001)).status_code == 413
        held = group.create_task(client.post("/message:send", content=b"x" * 5000))
        await rooms.held.acquire()
        second, small = [await client.post("/own/message:send", content=b"x" * size) for size in (1001, 1000)]
        rooms.release.set()
        assert (await held).json() == {"read": 5000}
        third = await client.post("/own/message:send", content=b"x" * 1001)
    assert (second.status_code, small.json(), third.json()) == (503, {"read": 1000}, {"read": 1001})


@pytest.mark.promise("gateway.limits")
async def test_a_body_that_does_not_end_is_given_up() -> None:
    sent: list[Message] = []

    calls = 0

    async def drip() -> Message:
        nonlocal calls
        calls += 1
        if calls > 3:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/form", "raw_path": b"/form", "query_string": b""}
    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    app = Rooms().app(LIMITS._replace(body_seconds=0.2))
    async with asyncio.timeout(5):
        await app({**scope, "headers": headers, "http_version": "1.1"}, drip, send)

    assert sent[0]["status"] == 408


@pytest.mark.promise("gateway.limits")
async def test_long_urls_and_headers_are_refused() -> None:
    async with serving(Rooms().app()) as url, open_http(base_url=url) as client:
        assert (await client.get("/health?" + "q" * 300)).status_code == 414
        assert (await client.get("/health", headers={"x-long": "h" * 2000})).status_code == 431


@pytest.mark.promise("gateway.limits")
async def test_one_request_too_many_is_told_to_come_back_and_probes_are_answered() -> None:
    rooms = Rooms()
    async with (
        serving(rooms.app()) as url,
        open_http(base_url=url) as client,
        asyncio.timeout(10),
        asyncio.TaskGroup() as group,
    ):
        held = [group.create_task(client.get("/hold")) for _ in range(2)]
        for _ in held:
            await rooms.held.acquire()
        refused = await client.post("/own")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert (await client.get("/health")).status_code == 200
        rooms.release.set()
        await asyncio.wait(held)
        assert (await client.post("/own")).status_code == 200


@pytest.mark.promise("gateway.limits")
@each_row(
    ("body", "says"),
    (b"{" + b'"a":1,' * 10 + b'"b":[' + b"{}," * MAX_JSON_VALUES + b"1]}", "more than 100000 values"),
    (b"[" * (MAX_JSON_NESTING + 1) + b"]" * (MAX_JSON_NESTING + 1), "deeper than 64 levels"),
    (b"[" * MAX_JSON_NESTING + b"1" + b"]" * MAX_JSON_NESTING, "deeper than 64 levels"),
    (b"1E+999999999999", "exponent over 1000"),
    (b"1e301", "too large"),
    (b"1e-301", "too small"),
    (b"9" * 4299, "too large"),
    (b'{"\\ud800": 1}', "surrogate"),
)
def test_what_is_too_much_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(BadCall, match=says):
        parse_json(body)


@pytest.mark.promise("gateway.limits")
def test_what_is_within_the_limits_is_read() -> None:
    assert parse_json(b"[" * MAX_JSON_NESTING + b"]" * MAX_JSON_NESTING) is not None
    assert len(str(parse_json(b"[" + b"1," * 1000 + b"1]"))) > 1000
    assert parse_json(b"[0e-2,-0.0,1e300,1e-300]") == [0, 0, 10**300, Decimal("1e-300")]


class FullTasks(MemoryTasks):
    @override
    async def accept(
        self, record: TaskRecord, turn: Turn, dedupe: str | None, prepare: PrepareAcceptance | None = None
    ) -> Acceptance:
        raise TooManyWaiting(7)


@pytest.mark.promise("gateway.sheds_load")
async def test_a_refusal_says_when_to_come_again_and_the_log_says_so_now_and_then() -> None:
    time = 100.0
    tasks = WakingTasks(FullTasks(), BestEffortWakes(Redis()), NoMeter(), clock=lambda: time)
    record = a_record()
    turn = a_turn(record)
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(TooManyRequests) as caught:
                await tasks.accept(record, turn, None)
        time += 11.0
        with pytest.raises(TooManyRequests):
            await tasks.accept(record, turn, None)

    assert caught.value.wait == 5
    assert [(line["event"], line["waiting"]) for line in logs] == [("turns_refused", 7)] * 2


PUBLIC = "https://agent.acme.example/"


@pytest.mark.promise("identity.own_pages")
@each_row(
    ("origin", "host"),
    ("http://localhost:9010", "localhost:9010"),
    ("http://[::1]:9010", "[::1]:9010"),
    ("http://gateway:9010", "gateway:9010"),
    ("https://agent.acme.example", "agent.acme.example"),
    ("https://agent.acme.example", "gateway.inside:9010"),  # a proxy in between asks by another name
)
def test_the_gateways_own_pages_may(origin: str, host: str) -> None:
    assert is_own_page(origin, host, PUBLIC)


@pytest.mark.promise("identity.own_pages")
@each_row(
    ("origin", "host"),
    ("https://evil.example", "127.0.0.1:9010"),
    ("http://evil.example:9010", "evil.example:9010"),  # a name that its owner leads to this machine
    ("http://127.0.0.1", "127.0.0.1:9010"),
    ("http://agent.acme.example", "agent.acme.example"),
    ("http://127.0.0.1:3000", "127.0.0.1:9010"),
    ("null", "127.0.0.1:9010"),
    ("file://", "127.0.0.1:9010"),
    ("http://127.0.0.1:99999", "127.0.0.1:99999"),
    ("http://[::1", "[::1"),
    ("http://127.0.0.1:9010", "127.0.0.1:x"),
    ("http://127.0.0.1.evil.example:9010", "127.0.0.1.evil.example:9010"),
)
def test_pages_of_others_may_not(origin: str, host: str) -> None:
    """Also where the page's site has its own name lead to the gateway, and so asks it as its own."""
    assert not is_own_page(origin, host, PUBLIC)


OWN = "127.0.0.1:9010 127.0.0.1 localhost:80 gateway:9010 [::1]:9010 192.168.1.7 agent.acme.example a.localhost:9010 \
AGENT.acme.example agent.acme.example:8443"  # the name is what tells whom a browser took us for


@pytest.mark.promise("identity.own_pages")
@each_row("host", OWN.split())
def test_a_host_that_nobody_else_can_lead_here_is_our_own(host: str) -> None:
    assert is_own_or_local_host(host, PUBLIC)


@pytest.mark.promise("identity.own_pages")
@each_row("host", ["evil.example", "evil.example:9010", "", "127.0.0.1.evil.example", "a/b", "x@127.0.0.1", "[::1"])
def test_a_name_that_its_owner_may_lead_anywhere_is_not_our_own(host: str) -> None:
    assert not is_own_or_local_host(host, PUBLIC)
