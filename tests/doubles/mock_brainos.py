"""A server in the place of BrainOS: each message gets the next round of events; its transport fails as told."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

DONE = "data: [DONE]\n\n"


class Heard(NamedTuple):
    """A message as it arrived."""

    path: str
    headers: dict[str, str]
    body: JsonObject


class Round(NamedTuple):
    """What one message gets. ``cut``: the connection is closed before the end; ``silence``: nothing comes at all."""

    stream: str = ""
    status: int = 200
    cut: bool = False
    silence: bool = False
    kind: str = "text/event-stream"


def events(*said: JsonObject, ends: bool = True) -> Round:
    return Round("".join(f"data: {dumps(one)}\n\n" for one in said) + (DONE if ends else ""))


def call(name: str, /, **params: Json) -> JsonObject:
    return {"tool_call": {"name": name, "params": params}}


def answer(text: str) -> Round:
    return events({"answer": text})


class MockBrainOS:
    """``heard`` holds the messages that arrived; one that is more than it has rounds for gets a 500.

    ``decides``, if given, says what a message gets instead.
    """

    def __init__(self, rounds: Sequence[Round]) -> None:
        self._rounds = list(rounds)
        self.decides: Callable[[JsonObject], Round] | None = None
        self.heard: list[Heard] = []
        self.arrived = asyncio.Event()
        self.url = ""

    @property
    def results(self) -> list[Json]:
        """What it was told of its calls, round by round."""
        return [heard.body.get("toolResults") for heard in self.heard if "toolResults" in heard.body]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, as a test may want
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        named = (line.partition(":") for line in lines[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in named}
        body = await reader.readexactly(int(headers["content-length"]))
        self.heard.append(Heard(lines[0], headers, loads_object(body)))
        self.arrived.set()
        now = self._next(self.heard[-1].body)
        if now.silence:
            await reader.read()  # until the client gives up
            return
        length = len(now.stream.encode()) + now.cut
        head = f"HTTP/1.1 {now.status} Played\r\ncontent-type: {now.kind}\r\ncontent-length: {length}\r\n"
        writer.write(f"{head}connection: close\r\n\r\n{now.stream}".encode())
        await writer.drain()

    def _next(self, body: JsonObject) -> Round:
        if self.decides is not None:
            return self.decides(body)
        return self._rounds.pop(0) if self._rounds else Round(status=500)


@asynccontextmanager
async def mock_brainos(*rounds: Round) -> AsyncIterator[MockBrainOS]:
    """The server on a free port of the loopback address; ``url`` is its base URL."""
    mock = MockBrainOS(rounds)
    server = await asyncio.start_server(mock.serve, "127.0.0.1", 0)
    mock.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield mock
    finally:
        server.close()
        await server.wait_closed()
