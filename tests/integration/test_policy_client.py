"""The executor's side of the policy service, against servers that misbehave on the wire."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from services.executor.adapters.policy_http import HttpPolicy
from services.executor.ports.policy import PolicyUnavailable
from shared.contracts.policy import EvaluateRequest

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
            await asyncio.wait_for(policy.evaluate(EvaluateRequest()), 5)
        await policy.close()


def test_a_message_that_cannot_be_read_is_not_quoted_in_its_error() -> None:
    """Such errors are logged with their traceback; what the message held stays out of it."""
    with pytest.raises(ValueError, match="policies") as refused:
        EvaluateRequest.model_validate({"policies": "Jane Roe's salary is 91,000"})
    assert "91,000" not in str(refused.value)
    assert "91,000" not in repr(refused.value)
