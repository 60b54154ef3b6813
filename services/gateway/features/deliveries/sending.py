"""Webhooks over HTTP, by a client that is guarded against addresses inside our own network."""

import asyncio
from collections.abc import Mapping
from http.cookiejar import DefaultCookiePolicy

import httpx
from typing_extensions import override

from services.gateway.features.deliveries.model import Post, ReceiverAnswer, Undelivered
from services.gateway.features.webhooks.model import UrlCheck
from shared.domain.outgoing import Reach, Refused, check_url
from shared.infra.guard import Guard
from shared.infra.guarded_http import RefusedConnection, guarded_client

_OURS = {"User-Agent": "purple-agent-webhook/1", "Accept-Encoding": "identity"}
_DIGITS = 6  # of the length of a short answer: less than 100 kB


class ReachCheck(UrlCheck):
    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    @override
    def problem(self, url: str) -> str | None:
        try:
            check_url(url, self._reach)
        except Refused as refused:
            return refused.message
        return None


class WebhookHttp(Post):
    """Close it with ``aclose``. Of an answer only the status counts; a short one is read, to keep its connection."""

    def __init__(self, guard: Guard, seconds: float, connections: int) -> None:
        self._seconds = seconds
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=5.0)
        self._client = guarded_client(guard, httpx.Timeout(seconds), limits)
        self._client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))  # one tenant's are no other's

    async def aclose(self) -> None:
        await self._client.aclose()

    @override
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        request = self._client.build_request("POST", url, headers={**headers, **_OURS}, content=body)
        try:
            async with asyncio.timeout(self._seconds):
                response = await self._client.send(request, stream=True)
                await _drain_answer(response)
                return ReceiverAnswer(response.status_code, response.headers.get("retry-after", ""))
        except RefusedConnection as refused:
            raise Undelivered(str(refused)) from refused
        except (TimeoutError, httpx.TimeoutException) as error:
            raise Undelivered(f"no answer within {self._seconds:g} seconds") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Undelivered(f"no answer: {type(error).__name__}") from error


async def _drain_answer(response: httpx.Response) -> None:
    """Read a short answer, as it is on the line, so that its connection can be used again; close any other."""
    length = response.headers.get("content-length", "")
    if len(length) < _DIGITS and length.isdecimal():
        async for _ in response.aiter_raw():
            continue
    await response.aclose()
