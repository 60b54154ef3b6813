"""Request heads that do not end take no memory and hold no connection for long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from typing_extensions import override
from uvicorn.server import ServerState

from shared.infra.bounded_http import MAX_HEAD_BYTES, BoundedHttp
from shared.infra.main_server import make_uvicorn_config
from tests.serving import listening

pytestmark = pytest.mark.promise("gateway.limits")


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


@asynccontextmanager
async def connected(
    protocol: type[BoundedHttp] = BoundedHttp,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server that speaks it."""
    app = Starlette(routes=[Route("/", echo, methods=["GET", "POST"])])
    config = uvicorn.Config(app, log_config=None, access_log=False, http=protocol, ws="none", lifespan="off")
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with listening() as (listener, _):
        await server.startup([listener])
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        async with asyncio.timeout(10):
            yield reader, writer
        writer.close()
        await server.shutdown([listener])


async def test_requests_one_after_the_other_and_large_bodies_are_served() -> None:
    async with connected() as (reader, writer):
        for size in (0, 300_000, 5):
            writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size + b"b" * size)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert await reader.readexactly(len(str(size))) == str(size).encode()


@pytest.mark.parametrize("piece", [b"x-a: " + b"a" * 4000 + b"\r\n", b"a" * 4000])
async def test_headers_without_an_end_are_cut_off(piece: bytes) -> None:
    """Many of them, and one that goes on and on."""
    async with connected() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nx-b: ")
        sent = 0
        while sent <= 2 * MAX_HEAD_BYTES:
            writer.write(piece)
            sent += len(piece)
        answer = await reader.read(12)

    assert answer == b"HTTP/1.1 431"


async def test_a_url_without_an_end_is_cut_off() -> None:
    async with connected() as (reader, writer):
        writer.write(b"GET /" + b"a" * 2 * MAX_HEAD_BYTES)
        assert await reader.read(12) == b"HTTP/1.1 431"


class _Wire(asyncio.Transport):
    """Keeps what is written to it, write by write."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    @override
    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    @override
    def is_closing(self) -> bool:
        return False

    @override
    def close(self) -> None:
        pass


async def stream(_: Request) -> StreamingResponse:
    async def pieces() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b"never"

    return StreamingResponse(pieces())


async def _writes(path: str, method: str = "GET") -> list[bytes]:
    """What is written in answer, until nothing more happens."""
    app = Starlette(routes=[Route("/", echo), Route("/stream", stream)])
    config = uvicorn.Config(app, log_config=None, access_log=False, http=BoundedHttp, ws="none", lifespan="off")
    config.load()
    state, wire = ServerState(), _Wire()
    protocol = BoundedHttp(config, state, {})
    protocol.connection_made(wire)
    protocol.data_received(f"{method} {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    async with asyncio.timeout(10):
        while not wire.written:
            await asyncio.sleep(0)
    found = list(wire.written)
    protocol.connection_lost(None)
    for task in state.tasks:
        task.cancel()
    return found


async def test_head_and_body_of_an_answer_leave_together() -> None:
    (answer,) = await _writes("/")
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"\r\n\r\n0")


@pytest.mark.parametrize(("path", "method"), [("/stream", "GET"), ("/", "HEAD")])
async def test_a_head_waits_for_no_body_that_does_not_come_at_once(path: str, method: str) -> None:
    (head,) = await _writes(path, method)
    assert head.startswith(b"HTTP/1.1 200")
    assert head.endswith(b"\r\n\r\n")


class Hurried(BoundedHttp):
    head_seconds = 0.05


async def test_a_head_that_does_not_end_is_given_up() -> None:
    async with connected(Hurried) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nx-a: ")
        assert await reader.read(12) == b"HTTP/1.1 408"


class Impatient(BoundedHttp):
    silent_seconds = 0.05


async def test_a_connection_that_never_says_anything_is_not_kept_for_good() -> None:
    """Descriptors are few, and opening connections costs who does it nothing."""
    async with connected(Impatient) as (reader, _):
        assert await reader.read() == b""


BALANCERS_KEEP = 60  # seconds: the idle time-out of an ALB and of nginx, as they come


@pytest.mark.promise("gateway.keep_alive")
async def test_a_connection_is_kept_for_longer_than_balancers_do_and_ends_at_once_with_the_server() -> None:
    """Who closes first may be sent a request at that moment: it must not be us."""
    config = make_uvicorn_config(Starlette(routes=[Route("/", echo)]), "127.0.0.1", 0, 1)
    assert config.timeout_keep_alive > BALANCERS_KEEP
    config.lifespan = "off"
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with listening() as (listener, _):
        await server.startup([listener])
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n0")
        async with asyncio.timeout(5):
            await server.shutdown([listener])
            assert await reader.read() == b""
        writer.close()
