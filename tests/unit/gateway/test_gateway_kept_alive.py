"""Answers that take their time."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.types import Message

from services.gateway.edge.kept_alive import KeptAlive


class Wire:
    """Both ends of one HTTP exchange; ``sent`` holds the bodies, ``hang_up`` ends it from the client's side."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.filled = asyncio.Event()
        self._gone = asyncio.Event()

    def hang_up(self) -> None:
        self._gone.set()

    async def receive(self) -> Message:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self.sent.append(message["body"])
            if message["body"] == b" ":
                self.filled.set()


class Answer:
    """A JSON text that comes when it is told to; ``closed`` once its generator is."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.closed = False
        self.delivered = 0

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            await self.ready.wait()
            yield b"{}"
        finally:
            self.closed = True

    async def on_delivered(self) -> None:
        self.delivered += 1

    def response(self) -> KeptAlive:
        return KeptAlive(self.chunks(), "application/json", (b" ", 0.001), self.on_delivered)


@pytest.mark.promise("gateway.kept_alive")
async def test_white_space_is_sent_while_the_answer_is_not_there() -> None:
    wire, answer = Wire(), Answer()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(answer.response()({"type": "http"}, wire.receive, wire.send))
        await wire.filled.wait()
        answer.ready.set()
    body = b"".join(wire.sent)
    assert body.startswith(b" ")
    assert body.strip() == b"{}"
    assert answer.delivered == 1


async def test_a_client_that_hangs_up_ends_the_wait_and_was_not_answered() -> None:
    wire, answer = Wire(), Answer()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(answer.response()({"type": "http"}, wire.receive, wire.send))
        await wire.filled.wait()
        wire.hang_up()
    assert answer.closed
    assert answer.delivered == 0
