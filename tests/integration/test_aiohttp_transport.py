"""The transport of calls to MCP servers and to the policy service, against servers that are scripted byte by byte."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import httpx2
import pytest

from shared.infra.aiohttp_transport import AiohttpTransport, Keeping

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
async def client(keeping: Keeping | None = None, seconds: float = 5.0) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=AiohttpTransport(keeping), timeout=seconds) as http:
        yield http


async def test_requests_one_after_the_other_share_a_connection() -> None:
    async with answering(_OK) as server, client() as http:
        for _ in range(3):
            response = await http.post(f"{server.url}/a?b=c", content=b"body")
            assert (response.status_code, response.text) == (200, "ok")
        assert len(server.connections) == 1
        assert server.heard[0].startswith(b"POST /a?b=c HTTP/1.1\r\n")
        assert server.heard[0].endswith(b"\r\n\r\nbody")


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab",
    ],
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
    async with await asyncio.start_server(hold, "127.0.0.1", 0, limit=1024) as server, client(seconds=0.1) as http:
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
    async with answering(b"", _OK) as server, client(seconds=0.05) as http:
        with pytest.raises(httpx2.ReadTimeout):
            await http.get(server.url)
        assert (await http.get(server.url, timeout=5.0)).text == "ok"
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
    async with answering(_OK) as server, client(Keeping(kept_seconds=0.05)) as http:
        await http.get(server.url)
        async with asyncio.timeout(5):
            await server.connections[0].wait_closed()
