"""Limits of requests, whoever sends them: what is too large, too slow or one too many is refused on every route."""

import asyncio
from collections.abc import Callable, Generator
from functools import partial
from types import coroutine
from typing import NamedTuple, cast

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.edge.body import INVALID_REQUEST, BadCall, check_body_size
from services.gateway.edge.limits import RequestLimits
from services.gateway.edge.replies import RETRY_LATER

_LEFT = 499  # nobody reads it: it keeps a client that leaves out of what counts as a fault of ours
_ALWAYS = ("/health", "/ready")  # a gateway that is full still says how it is
_OF_MESSAGES = ("/message:send", "/message:stream")


class RequestLimiter:
    """Middleware. A body's faults reach whoever reads it as ``BadCall``, and the client in any case."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app, self.limits, self._large = app, limits, _LargeBodies(limits.large_bodies)
        self.open_requests = OpenRequests()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        refusal = self.refusal(scope)
        if refusal is not None:
            return await refusal(scope, receive, send)
        with self.open_requests:
            return await self._pass_on(scope, receive, send)

    def refusal(self, scope: Scope) -> JSONResponse | None:
        """Why the request gets no further, as far as its head tells; None if it does."""
        limits = self.limits
        if len(scope["raw_path"]) + len(scope["query_string"]) > limits.url_bytes:
            return _error(414, f"the URL is over the limit of {limits.url_bytes} bytes")
        if sum([len(name) + len(value) for name, value in scope["headers"]]) > limits.header_bytes:
            return _error(431, f"the headers are over the limit of {limits.header_bytes} bytes together")
        if self.open_requests.count >= limits.open_requests and scope["path"] not in _ALWAYS:
            refusal = _error(503, "this replica answers as many requests as it can; try again")
            refusal.headers.update(RETRY_LATER)
            return refusal
        return None

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False
        body = _LimitedBody(receive, scope, self.limits, self._large)

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            body.release()  # what is answered has been read
            await send(message)

        try:
            await self._app(scope, body.receive, sending)
        except BadCall as bad:
            if started:
                raise
            await _error(bad.status, bad.message)(scope, receive, send)
        except ClientDisconnect:
            if not started:
                await _error(_LEFT, "the client left before its request was whole")(scope, receive, send)
        finally:
            body.release()


class OpenRequests:
    """How many requests this process answers now; a context in which there is one more."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        self.count -= 1


class _LargeBodies:
    """How many bodies that only a message may have are in hand: each costs some times its size of memory."""

    def __init__(self, most: int) -> None:
        self._most, self._count = most, 0

    def take(self) -> None:
        """Raises ``BadCall``."""
        if self._count >= self._most:
            raise BadCall(INVALID_REQUEST, "this replica reads as many large messages as it can; try again", status=503)
        self._count += 1

    def give_back(self) -> None:
        self._count -= 1


class _LimitedBody:
    """A request's body on its way in. The length that a client states is believed if it is too large already."""

    def __init__(self, receive: Receive, scope: Scope, limits: RequestLimits, large: _LargeBodies) -> None:
        self._receive, self._limits, self._said = receive, limits, _said_length(scope)
        is_of_messages = scope["path"] == "/" or scope["path"].endswith(_OF_MESSAGES)
        self._most = limits.message_bytes if is_of_messages else limits.body_bytes
        self._large, self._is_large = large, False
        self._read, self._whole = 0, False
        self._until = asyncio.get_running_loop().time() + limits.body_seconds

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        self._check(self._said)
        message = receive_at_once(self._receive)  # most bodies have come by now: they need no timer
        if isinstance(message, Arriving):
            message = await self._receive_in_time(message)
        self._count(message)
        return message

    async def _receive_in_time(self, arriving: "Arriving") -> Message:
        try:
            async with asyncio.timeout_at(self._until):
                return await resume(arriving)
        except TimeoutError:
            seconds = self._limits.body_seconds
            raise BadCall(INVALID_REQUEST, f"the request body took over {seconds:g} seconds", status=408) from None

    def _count(self, message: Message) -> None:
        self._read += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        self._check(self._read)

    def _check(self, size: int) -> None:
        check_body_size(size, self._most)
        if size > self._limits.body_bytes and not self._is_large:
            self._large.take()
            self._is_large = True

    def release(self) -> None:
        if self._is_large:
            self._large.give_back()
            self._is_large = False


class Arriving(NamedTuple):
    """A message that was asked for and has not come yet."""

    step: "Generator[object, object, Message]"
    waits_for: object


def receive_at_once(receive: Receive) -> Message | Arriving:
    """The next message if it is there, without waiting for it.

    The coroutine is driven by hand: awaiting it would give the event loop a turn even where the message has come
    already, and most requests are read whole in one piece. What has to wait goes on in ``resume``.
    """
    step = cast("Generator[object, object, Message]", receive().__await__())
    try:
        waits_for = next(step)
    except StopIteration as received:
        return cast(Message, received.value)
    return Arriving(step, waits_for)


def receive_again(first: Message | Arriving, receive: Receive) -> Receive:
    """What gives a request's messages from the first one, which was taken, or asked for, already."""
    taken = [first]

    async def receiving() -> Message:
        if not taken:
            return await receive()
        message = taken.pop()
        return await resume(message) if isinstance(message, Arriving) else message

    return receiving


@coroutine
def resume(arriving: Arriving) -> "Generator[object, object, Message]":
    """Go on with what was begun and waits: what it waits for is awaited in its place."""
    step, waits_for = arriving
    while True:
        try:
            sent = yield waits_for
        except BaseException as error:  # noqa: BLE001  it is its own: a cancellation above all
            make: Callable[[], object] = partial(step.throw, error)
        else:
            make = partial(step.send, sent)
        try:
            waits_for = make()
        except StopIteration as done:
            return cast(Message, done.value)


def _said_length(scope: Scope) -> int:
    said = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(said) if said.isdigit() and len(said) < 20 else 0


def _error(status: int, error: str) -> JSONResponse:
    return JSONResponse({"error": error}, status)
