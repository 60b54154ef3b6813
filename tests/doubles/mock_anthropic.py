"""A server in the place of the Messages API whose transport fails as told: overload, cut answers, silence, garbage."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Play(NamedTuple):
    """What one request gets: ``body`` under ``status``; only the first ``sent`` bytes of it; or ``silence``.

    ``retry``: a further header, such as when to ask again.
    """

    status: int = 200
    body: str = ""
    sent: int | None = None
    silence: bool = False
    retry: str = "retry-after-ms: 1"


class Asked(NamedTuple):
    """A request as it arrived; ``raw`` is its body, byte for byte."""

    headers: dict[str, str]
    body: JsonObject
    raw: bytes = b""


USAGE: JsonObject = {"input_tokens": 11, "output_tokens": 3, "cache_read_input_tokens": 5}


def error(status: int, message: str = "as the test wants it", retry: str = "retry-after-ms: 1") -> Play:
    kind = _ERRORS.get(status, "api_error")
    return Play(status, dumps({"type": "error", "error": {"type": kind, "message": message}}), retry=retry)


def message(
    text: str = "done", stop_reason: str | None = "end_turn", content: list[Json] | None = None, usage: Json = USAGE
) -> Play:
    blocks: list[Json] = [{"type": "text", "text": text}] if content is None else content
    body: JsonObject = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "mock",
        "content": blocks,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage,
    }
    return Play(200, dumps(body))


def cut(play: Play) -> Play:
    """The first half of an answer, then the connection is closed."""
    return play._replace(sent=len(play.body) // 2)


SILENCE = Play(silence=True)
REDIRECT = Play(307, retry="location: http://127.0.0.1:9/elsewhere")
GARBAGE = Play(200, "<html>a proxy's page</html>")


class MockAnthropic:
    """Plays one ``Play`` a request, the last one over and over. ``asked`` holds what arrived."""

    def __init__(self, plays: Sequence[Play]) -> None:
        self._plays = list(plays)
        self.asked: list[Asked] = []
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, as a test may want
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(await _read(reader))
        play = self._plays.pop(0) if len(self._plays) > 1 else self._plays[0]
        if play.silence:
            await reader.read()  # until the client gives up
            return
        body = play.body.encode()
        head = (
            f"HTTP/1.1 {play.status} Played\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n{play.retry}\r\nconnection: close\r\n\r\n"
        )
        writer.write(head.encode() + body[: play.sent])
        await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Asked:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:]) if name}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(headers, loads_object(body or b"{}"), body)


@asynccontextmanager
async def mock_anthropic(*plays: Play) -> AsyncIterator[MockAnthropic]:
    """The server on a free port of the loopback address; ``url`` is its base URL."""
    mock = MockAnthropic(plays or [message()])
    server = await asyncio.start_server(mock.answer, "127.0.0.1", 0)
    mock.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield mock
    finally:
        server.close()
        await server.wait_closed()
