"""Every tool call as it leaves for a company, read on the line itself: what was sent and when, whoever tells what.

A company's own books say what took hold. Only the line says how often the worker asked for it, and whether it asked
before its approval or after its cancel: the line's process is struck by nothing.
"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject, loads_object

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_READS = ("get_", "list_", "search_", "find_", "check_")
_KEY = "idempotency_key"  # ours, and no part of what was asked


class SentCall(NamedTuple):
    """``at``: monotonic seconds at which the line had all of it. ``arguments``: without the idempotency ``key``."""

    at: float
    protocol: str
    tool: str
    arguments: JsonObject
    key: str = ""

    @property
    def may_write(self) -> bool:
        return not self.tool.startswith(_READS)


class CallTap:
    """Reads the requests of all connections of one company's line. ``calls`` has them in their order.

    ``unreadable``: requests without a length, which nobody here can read; a run with one of them is not judged.
    """

    def __init__(self, protocol: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._protocol, self._clock = protocol, clock
        self.calls: list[SentCall] = []
        self.unreadable = 0
        self.on_write: Callable[[SentCall], None] | None = None  # called before the line passes the call on

    def listen(self) -> Callable[[bytes], None]:
        """What reads one connection: to be called with each piece of its requests."""
        buffer = bytearray()

        def hear(piece: bytes) -> None:
            buffer.extend(piece)
            for body in self._bodies(buffer):
                self._note_call(body)

        return hear

    def _bodies(self, buffer: bytearray) -> Iterator[bytes]:
        """The whole bodies that have come; they are taken out of the buffer."""
        while (ends := buffer.find(_HEAD_END)) >= 0:
            head = bytes(buffer[:ends])
            length = _length(head)
            if length is None:
                self.unreadable += 1
                buffer.clear()
                return
            begins = ends + len(_HEAD_END)
            if len(buffer) < begins + length:
                return
            body = bytes(buffer[begins : begins + length])
            del buffer[: begins + length]
            yield body

    def _note_call(self, body: bytes) -> None:
        found = _call_in(body)
        if found is None:
            return
        tool, arguments = found
        own = {key: value for key, value in arguments.items() if key != _KEY}
        call = SentCall(self._clock(), self._protocol, tool, own, str(arguments.get(_KEY) or ""))
        self.calls.append(call)
        if self.on_write and call.may_write:
            self.on_write(call)


def _length(head: bytes) -> int | None:
    """How long the body is; None where the head does not say so although there is one."""
    lines = head.lower().split(b"\r\n")
    stated = [line.partition(b":")[2].strip() for line in lines if line.startswith(_LENGTH)]
    if stated:
        return int(stated[0])
    return None if any(line.startswith(b"transfer-encoding:") for line in lines) else 0


def _call_in(body: bytes) -> tuple[str, JsonObject] | None:
    """Tool and arguments of a call over MCP or the bridge; None for any other request."""
    try:
        said = loads_object(body.decode())
    except ValueError:
        return None
    if said.get("method") == "tools/call" and isinstance(params := said.get("params"), dict):
        return str(params.get("name")), _object(params.get("arguments"))
    if isinstance(said.get("tool"), str):
        return str(said["tool"]), _object(said.get("params"))
    return None


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
