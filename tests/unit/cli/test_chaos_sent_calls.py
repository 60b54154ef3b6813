"""The calls that a run reads on a company's line, whatever pieces they come in."""

from itertools import count

import pytest

from shared.domain.exact_json import JsonObject, dumps
from tests.each_row import each_row
from tools.chaos.sent_calls import CallTap

_OVER_MCP: JsonObject = {
    "method": "tools/call",
    "params": {"name": "create_refund", "arguments": {"order_id": "ORD-1", "idempotency_key": "k"}},
}
_OVER_THE_BRIDGE: JsonObject = {"tool": "get_order", "params": {"order_id": "ORD-1"}, "session_id": "s"}


def _request(body: str, header: str = "") -> bytes:
    stated = header or f"Content-Length: {len(body.encode())}"
    return f"POST /mcp HTTP/1.1\r\nHost: company\r\n{stated}\r\n\r\n{body}".encode()


def _tap() -> CallTap:
    clock = count(1)
    return CallTap("mcp", lambda: float(next(clock)))


@each_row("size", [1, 7, 64, 10_000])
def test_calls_of_both_protocols_are_read_in_any_pieces(size: int) -> None:
    """Without our key, with the moment at which the last byte was there, and whether they may write."""
    tap = _tap()
    hear = tap.listen()
    stream = _request(dumps(_OVER_MCP)) + b"GET /tools HTTP/1.1\r\n\r\n" + _request(dumps(_OVER_THE_BRIDGE))
    for first in range(0, len(stream), size):
        hear(stream[first : first + size])

    told = [(call.at, call.tool, call.arguments, call.may_write) for call in tap.calls]
    assert told == [
        (1.0, "create_refund", {"order_id": "ORD-1"}, True),
        (2.0, "get_order", {"order_id": "ORD-1"}, False),
    ]
    assert tap.unreadable == 0


def test_connections_are_read_apart() -> None:
    tap = _tap()
    first, second = tap.listen(), tap.listen()
    request = _request(dumps(_OVER_MCP))
    first(request[:50])
    second(request)
    first(request[50:])

    assert len(tap.calls) == 2


def test_what_is_no_call_is_none() -> None:
    tap = _tap()
    hear = tap.listen()
    for body in ('{"method": "tools/list"}', "no json", "[]"):
        hear(_request(body))

    assert tap.calls == []


@pytest.mark.promise("chaos.judges_itself")
def test_a_request_that_cannot_be_read_is_counted() -> None:
    """A run that cannot see what was sent must not say that nothing was."""
    tap = _tap()
    tap.listen()(_request("5\r\nhello\r\n", "Transfer-Encoding: chunked"))

    assert tap.unreadable == 1


def test_whoever_waits_for_a_write_is_told_of_it_before_it_goes_on_and_of_no_read() -> None:
    tap = _tap()
    met: list[str] = []
    tap.on_write = lambda call: met.append(call.tool)
    hear = tap.listen()
    hear(_request(dumps(_OVER_THE_BRIDGE)))
    hear(_request(dumps(_OVER_MCP)))

    assert met == ["create_refund"]
