"""What is too large, too slow or one too many gets no further than the threshold, on any route."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message

from services.gateway.edge.body import BadCall
from services.gateway.edge.request_limits import RequestLimiter, RequestLimits
from tests.each_row import each_row
from tests.http_client import open_http
from tests.serving import serving

LIMITS = RequestLimits(body_bytes=1000, body_seconds=30, header_bytes=2000, url_bytes=300, open_requests=2)
pytestmark = pytest.mark.promise("gateway.limits")


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


async def test_a_body_within_the_limit_is_read() -> None:
    async with serving(Rooms().app()) as url, open_http(base_url=url) as client:
        assert (await client.post("/own", content=b"x" * 1000)).json() == {"read": 1000}


@each_row("path", ["/own", "/form"])
async def test_a_body_over_the_limit_is_refused_whoever_reads_it(path: str) -> None:
    """Also where its length was not said before."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 100

    async with serving(Rooms().app()) as url, open_http(base_url=url) as client:
        headers = {"content-type": "application/x-www-form-urlencoded"}
        for content in (b"x" * 1001, pieces()):
            reply = await client.post(path, content=content, headers=headers)
            assert reply.status_code == 413
            assert "1000 bytes" in reply.text


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


async def test_long_urls_and_headers_are_refused() -> None:
    async with serving(Rooms().app()) as url, open_http(base_url=url) as client:
        assert (await client.get("/health?" + "q" * 300)).status_code == 414
        assert (await client.get("/health", headers={"x-long": "h" * 2000})).status_code == 431


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
