"""A receiver of webhooks on a real socket, that answers as it is told, and a gateway that sends them soon."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple, cast

from standardwebhooks import Webhook as Verifier
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.gateway.features.webhooks.settings import parse_master_secrets
from shared.domain.exact_json import JsonObject
from tests.serving import serving

PATIENCE = 20.0
SECRET = "whsec_" + "c2VjcmV0IG9mIHRoZSBpbnN0YWxsYXRpb24="  # "secret of the installation"
SOON = {"webhook_secret": SECRET, "push_first_pause": 0.02, "push_longest_pause": 0.05, "push_timeout": 20}
Answer = Callable[["Taken"], Awaitable[Response]]


class Taken(NamedTuple):
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> JsonObject:
        return cast(JsonObject, json.loads(self.body))

    @property
    def delivery_id(self) -> str:
        return self.headers["webhook-id"]

    def verify(self, tenant: str = "default") -> None:
        """Raises unless the signature is that of the tenant's secret."""
        Verifier(parse_master_secrets(SECRET).derive_secrets(tenant)[0]).verify(self.body, dict(self.headers))


class Receiver:
    """``answers`` are given in turn, then 200 for ever; a number is a status."""

    def __init__(self, url: str, answers: tuple[int | Answer, ...] = ()) -> None:
        self.url = url
        self.taken: list[Taken] = []
        self._answers = deque(answers)
        self._news = asyncio.Condition()

    async def take(self, request: Request) -> Response:
        one = Taken(request.url.path, dict(request.headers), await request.body())
        async with self._news:
            self.taken.append(one)
            self._news.notify_all()
        answer = self._answers.popleft() if self._answers else 200
        return Response(status_code=answer) if isinstance(answer, int) else await answer(one)

    async def until(self, is_so: Callable[[list[Taken]], bool]) -> list[Taken]:
        """What was taken, once that is so."""
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: is_so(self.taken))
        return list(self.taken)

    async def has(self, count: int) -> list[Taken]:
        return await self.until(lambda taken: len(taken) >= count)


@asynccontextmanager
async def receiving(*answers: int | Answer) -> AsyncIterator[Receiver]:
    receiver = Receiver("", answers)
    async with serving(Starlette(routes=[Route("/{rest:path}", receiver.take, methods=["GET", "POST"])])) as url:
        receiver.url = f"{url}/hook"
        yield receiver
