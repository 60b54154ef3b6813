"""The HTTP line to one agent: to its own origin alone, with the connection's credential, and answers within bounds."""

from urllib.parse import urlsplit

import httpx
from typing_extensions import override

from services.executor.adapters.shown_credential import origin_of, send_with_credential
from services.executor.ports.credentials import Credentials, CredentialUnavailable
from shared.contracts.tenant import Connection
from shared.ports.tracing import Tracer

MAX_ANSWER_BYTES = 1024 * 1024


class NotCalled(httpx.ConnectError):
    """No request was made; the message says why and may be shown to anybody."""


class TooLarge(httpx.ReadError):
    """The answer is larger than anybody reads."""


class AgentTransport(httpx.AsyncBaseTransport):
    """A card may name any address as its agent's: only those of the connection's own origin are called.

    The inner transport is shared, and is not closed here.
    """

    def __init__(
        self, inner: httpx.AsyncBaseTransport, credentials: Credentials, connection: Connection, tracer: Tracer
    ) -> None:
        self._inner, self._credentials, self._connection, self._tracer = inner, credentials, connection, tracer

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if origin_of(str(request.url)) != origin_of(self._connection.url):
            where = urlsplit(str(request.url)).netloc
            raise NotCalled(f"its card names another origin ({where}) than the connection", request=request)
        if self._connection.traceparent and (here := self._tracer.traceparent()):
            request.headers["traceparent"] = here

        async def send() -> httpx.Response:
            return await self._inner.handle_async_request(request)

        try:
            response = await send_with_credential(self._credentials, self._connection, request, str(request.url), send)
        except CredentialUnavailable as error:
            raise NotCalled(str(error), request=request) from None
        return await _read_bounded(response, request)


async def _read_bounded(response: httpx.Response, request: httpx.Request) -> httpx.Response:
    body = bytearray()
    try:
        async for part in response.aiter_raw():
            body += part
            if len(body) > MAX_ANSWER_BYTES:
                raise TooLarge(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", request=request)
    finally:
        await response.aclose()
    kind = response.headers.get("content-type", "application/json")
    return httpx.Response(response.status_code, headers={"content-type": kind}, content=bytes(body), request=request)
