"""Webhooks over HTTP, signed as Standard Webhooks are, and only to where the guard lets them go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx
from standardwebhooks import Webhook
from typing_extensions import override

from services.simulator.ports.sending import Sender, SendResult
from shared.domain.outgoing import AllowedAddresses
from shared.infra.guard import AddressGuard
from shared.infra.guarded_http import RefusedConnection, make_guarded_client

_TIMEOUT = httpx.Timeout(5)


class HttpSender(Sender):
    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    @override
    async def send(self, url: str, secret: str, notice_id: str, body: str) -> SendResult:
        try:
            async with self._client.stream("POST", url, content=body, headers=_headers(secret, notice_id, body)) as got:
                return SendResult(got.status_code)
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            is_final = isinstance(problem, RefusedConnection | httpx.InvalidURL)
            return SendResult(None, f"{type(problem).__name__}: {problem}"[:300], is_final)


@asynccontextmanager
async def open_http_sender(reach: AllowedAddresses) -> AsyncIterator[HttpSender]:
    async with make_guarded_client(AddressGuard(reach), _TIMEOUT) as client:
        yield HttpSender(client)


def _headers(secret: str, notice_id: str, body: str) -> dict[str, str]:
    now = datetime.now(UTC)
    return {
        "Content-Type": "application/json",
        "webhook-id": notice_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(notice_id, now, body),
    }
