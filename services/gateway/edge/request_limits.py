"""Middleware that refuses requests that are too large, too slow or too many, or that come from foreign web pages."""

import asyncio
import re
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.edge.fields import INVALID_REQUEST, BadCall, check_body_size
from services.gateway.edge.replies import RETRY_LATER_HEADERS, build_error_reply

_ORIGIN_PATTERN = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?", re.IGNORECASE
)
_MOST_CACHED_ADDRESSES = 64  # words of clients, up to a whole head of a request each
_DEFAULT_PORTS = {"http": "80", "https": "443"}


class _PageOrigin(NamedTuple):
    """Host and port of the page that a browser's request comes from."""

    host: str
    port: str


@lru_cache(_MOST_CACHED_ADDRESSES)
def is_own_page(origin: str, host: str, public_url: str) -> bool:
    """Whether ``origin`` is the gateway itself, at its public URL or at the request's own ``Host``.

    The ``Host`` counts only if no foreign DNS name can be it: an IP address, localhost, or a name without a dot.
    """
    page = _parse_origin_match(_ORIGIN_PATTERN.fullmatch(origin))
    if page is None:
        return False
    if page == _parse_origin_match(_ORIGIN_PATTERN.match(public_url)):
        return True
    scheme = origin.partition("://")[0]
    return page == _parse_origin_match(_ORIGIN_PATTERN.fullmatch(f"{scheme}://{host}")) and _is_local_name(page.host)


@lru_cache(_MOST_CACHED_ADDRESSES)
def is_own_or_local_host(host: str, public_url: str) -> bool:
    """Whether ``host`` is the gateway's public name, an IP address, localhost, or a name without a dot.

    Against DNS rebinding: no foreign DNS name is among them. Ports are not compared, since a port may be mapped.
    """
    origin = _parse_origin_match(_ORIGIN_PATTERN.fullmatch(f"http://{host}"))
    public_origin = _parse_origin_match(_ORIGIN_PATTERN.match(public_url))
    if origin is None:
        return False
    return (public_origin is not None and origin.host == public_origin.host) or _is_local_name(origin.host)


def _is_local_name(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return "." not in name or name.endswith(".localhost")
    return True


def _parse_origin_match(match: re.Match[str] | None) -> _PageOrigin | None:
    """Host and port of a matched origin; None if there is none or its port is invalid."""
    if match is None:
        return None
    port = match["port"] or _DEFAULT_PORTS[match["scheme"].lower()]
    return _PageOrigin(match["host"].lower(), port) if 0 < int(port) < 65536 else None


_PROBE_PATHS = ("/health", "/ready")  # asked under any name, by those who run us; a full gateway answers them too
_FOREIGN_PAGE_TEXT = (
    "requests from web pages of {origin} are not taken: nobody is asked for a key here, so only the gateway's own "
    "pages may send any; PURPLE_AGENT_CARD_URL names the address by which they are reached"
)
_UNKNOWN_HOST_TEXT = (
    "requests to {host} are not answered: nobody is asked for a key here, so the gateway answers under an address, a "
    "name without a dot and the name in PURPLE_AGENT_CARD_URL alone"
)


class OriginGuard:
    """Middleware that refuses requests sent by foreign web pages. ``public_url``: the gateway's URL for clients.

    It checks ``Origin``; in requests without one, which programs send, it checks ``Host``.
    """

    def __init__(self, app: ASGIApp, public_url: str) -> None:
        self._app, self._public_url = app, public_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reason = self.why_refused(scope["path"], Headers(scope=scope)) if scope["type"] == "http" else None
        if reason is None:
            return await self._app(scope, receive, send)
        return await build_error_reply(403, reason)(scope, receive, send)

    def why_refused(self, path: str, headers: Mapping[str, str]) -> str | None:
        """Why the request is refused, as a sentence; None if it is accepted."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if origin is not None:
            is_own = is_own_page(origin, host, self._public_url)
            return None if is_own else _FOREIGN_PAGE_TEXT.format(origin=origin[:200])
        if path in _PROBE_PATHS or is_own_or_local_host(host, self._public_url):
            return None
        return _UNKNOWN_HOST_TEXT.format(host=host[:200] or "no host")


_CLIENT_LEFT_STATUS = 499  # nobody reads it: it keeps a client that leaves out of what counts as a fault of ours
_MESSAGE_PATH_ENDINGS = ("/message:send", "/message:stream")
_TOO_MANY_LARGE_MESSAGES_TEXT = "this replica reads as many large messages as it can; try again"


class RequestLimits(NamedTuple):
    """Limits of requests for one process. ``open_requests``: how many it answers at once, streams included.

    ``message_bytes``: the largest body of a message, which may hold files; ``large_bodies``: how many bodies over
    ``body_bytes`` may be in memory at once.
    """

    body_bytes: int = 1024 * 1024
    message_bytes: int = 1024 * 1024
    large_bodies: int = 4
    body_seconds: float = 30.0
    header_bytes: int = 32 * 1024
    url_bytes: int = 8 * 1024
    open_requests: int = 2000


class RequestLimiter:
    """Middleware that enforces the limits. A body over a limit raises ``BadCall`` in the application that reads it.

    If the application does not handle that, and no answer has begun, the client gets the error as the answer.
    """

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app, self.limits = app, limits
        self.open_requests, self.large_bodies = 0, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        refusal = self.build_refusal(scope)
        if refusal is not None:
            return await refusal(scope, receive, send)
        self.open_requests += 1
        try:
            return await self._call_app_with_limited_body(scope, receive, send)
        finally:
            self.open_requests -= 1

    def build_refusal(self, scope: Scope) -> JSONResponse | None:
        """The error response to a request that exceeds a limit of URL, headers or open requests; None for any other."""
        limits = self.limits
        if len(scope["raw_path"]) + len(scope["query_string"]) > limits.url_bytes:
            return build_error_reply(414, f"the URL is over the limit of {limits.url_bytes} bytes")
        if sum([len(name) + len(value) for name, value in scope["headers"]]) > limits.header_bytes:
            return build_error_reply(431, f"the headers are over the limit of {limits.header_bytes} bytes together")
        if self.open_requests >= limits.open_requests and scope["path"] not in _PROBE_PATHS:
            return build_error_reply(
                503, "this replica answers as many requests as it can; try again", RETRY_LATER_HEADERS
            )
        return None

    async def _call_app_with_limited_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False
        body = _LimitedBody(receive, scope, self)

        async def send_and_release_body(message: Message) -> None:
            nonlocal has_started
            has_started = True
            body.release_reservation()  # what is answered has been read
            await send(message)

        try:
            await self._app(scope, body.receive, send_and_release_body)
        except BadCall as error:
            if has_started:
                raise
            await build_error_reply(error.status, error.message)(scope, receive, send)
        except ClientDisconnect:
            if not has_started:
                await build_error_reply(_CLIENT_LEFT_STATUS, "the client left before its request was whole")(
                    scope, receive, send
                )
        finally:
            body.release_reservation()


class _LimitedBody:
    """Reads a request's body within the limits; a ``Content-Length`` over the limit is refused at once."""

    def __init__(self, receive: Receive, scope: Scope, limiter: RequestLimiter) -> None:
        self._receive = receive
        self._limiter = limiter
        self._content_length = _read_content_length(scope)
        self._limits = limits = limiter.limits
        is_of_messages = scope["path"] == "/" or scope["path"].endswith(_MESSAGE_PATH_ENDINGS)
        self._most_bytes = limits.message_bytes if is_of_messages else limits.body_bytes
        self._bytes_read = 0
        self._is_complete = False
        self._is_large = False
        self._until = asyncio.get_running_loop().time() + limits.body_seconds

    async def receive(self) -> Message:
        if self._is_complete:
            return await self._receive()
        self._check_and_reserve(self._content_length)
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            seconds = self._limits.body_seconds
            raise BadCall(INVALID_REQUEST, f"the request body took over {seconds:g} seconds", status=408) from None
        self._bytes_read += len(message.get("body", b""))
        self._is_complete = not message.get("more_body", False)
        self._check_and_reserve(self._bytes_read)
        return message

    def _check_and_reserve(self, size: int) -> None:
        """Raises ``BadCall`` for a body over a limit; counts a large body against the number of those at once."""
        check_body_size(size, self._most_bytes)
        if size > self._limits.body_bytes and not self._is_large:
            if self._limiter.large_bodies >= self._limits.large_bodies:
                raise BadCall(INVALID_REQUEST, _TOO_MANY_LARGE_MESSAGES_TEXT, status=503)
            self._limiter.large_bodies += 1
            self._is_large = True

    def release_reservation(self) -> None:
        if self._is_large:
            self._limiter.large_bodies -= 1
            self._is_large = False


async def receive_if_ready(receive: Receive) -> Message | None:
    """The next ASGI message if it has already arrived, else None; ``receive`` then still returns it later."""
    try:
        async with asyncio.timeout(0):
            return await receive()
    except TimeoutError:
        return None


def replay_first_message(first: Message, receive: Receive) -> Receive:
    """A ``receive`` that returns ``first``, which was already taken from ``receive``, and then the later messages."""
    taken_messages = [first]

    async def receive_next() -> Message:
        return taken_messages.pop() if taken_messages else await receive()

    return receive_next


def _read_content_length(scope: Scope) -> int:
    value = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(value) if value.isdigit() and len(value) < 20 else 0
