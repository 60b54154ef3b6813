"""One pool of connections for many short-lived clients, whose answers come to an end."""

from collections.abc import AsyncIterator

import httpx
from typing_extensions import override

MAX_ANSWER_BYTES = 16 * 1024 * 1024  # a whole mailbox


class SharedLine(httpx.AsyncBaseTransport):
    """Stays open when a client that uses it is closed."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _Counted(response.stream)
        return response

    async def close(self) -> None:
        await self._inner.aclose()


class _Counted(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for part in self._inner:
            seen += len(part)
            if seen > MAX_ANSWER_BYTES:
                raise httpx.ReadError(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
            yield part

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()
