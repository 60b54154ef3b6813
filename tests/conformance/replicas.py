"""What conformance tests run against: two gateway replicas behind a round-robin proxy, and the scripted worker."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from services.gateway.bootstrap import build_app
from services.gateway.settings import GatewaySettings
from shared.domain.words import Role
from shared.infra.archive_open import generate_encryption_key
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from tests.e2e.haproxy import UNCHECKED, haproxy_or_skip, reserved_port, round_robin
from tests.http_client import open_http
from tests.redis_server import short_folder
from tests.scripted_agent import WEBHOOK_SECRET, make_keys, start_worker
from tests.scripted_worker import ConformanceWorker
from tests.serving import listening, serving_on

PATIENCE = 60.0  # a busy machine may take long; nothing waits for it to be over
_SLOW = 2.0
HOOKS = "127.0.0.1"  # the only host that webhooks may lead to
EVERYTHING: Mapping[str, object] = {
    "profile": "production",
    "authentication": "keys",
    "webhook_secret": WEBHOOK_SECRET,
    "webhook_allowed_hosts": HOOKS,
}
NOTHING_OPTIONAL: Mapping[str, object] = {
    "profile": "embedded",
    "a2a_streaming": "off",
    "a2a_push": "off",
    "a2a_extended_card": "off",
}
_PEOPLE = {"casey": ("acme", (Role.CLIENT,)), "robin": ("acme", (Role.CLIENT,)), "other": ("rival", (Role.CLIENT,))}


class Replicas(NamedTuple):
    """``http`` speaks through the proxy at ``url``, as casey where keys are asked for; ``tokens`` are people's keys."""

    url: str
    http: httpx.AsyncClient
    worker: ConformanceWorker
    tokens: Mapping[str, str]

    def headers_of(self, person: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[person]}"} if person in self.tokens else {}


@asynccontextmanager
async def replicas(**settings: object) -> AsyncIterator[Replicas]:
    """Two gateways, the proxy before them, a Redis of their own and the worker. Skipped where there is no haproxy."""
    haproxy_or_skip()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(short_folder()))
        server = stack.enter_context(EmbeddedRedis(folder))
        redis = connect(server.url)
        stack.push_async_callback(redis.aclose)
        tokens = await make_keys(redis, _PEOPLE) if settings.get("authentication") == "keys" else {}
        port = stack.enter_context(reserved_port())
        if settings.get("authentication"):
            settings |= {"archive_url": f"file://{folder}/archive", "archive_key": generate_encryption_key()}
        said = {"redis_url": server.url, "purple_agent_card_url": f"http://127.0.0.1:{port}/", **settings}
        ports = {name: await _serve(stack, said) for name in ("one", "two")}
        url = await stack.enter_async_context(round_robin(ports, folder, port, UNCHECKED))
        worker = await start_worker(stack, redis, server.url, _SLOW)
        http = open_http(base_url=url, timeout=PATIENCE, trust_env=False)
        await stack.enter_async_context(http)
        found = Replicas(url, http, worker, tokens)
        http.headers.update(found.headers_of("casey"))
        yield found


async def _serve(stack: AsyncExitStack, said: Mapping[str, object]) -> int:
    """One replica; its port."""
    listener, origin = stack.enter_context(listening())
    await stack.enter_async_context(serving_on(listener, build_app(GatewaySettings.model_validate(said))))
    return int(origin.rpartition(":")[2])
