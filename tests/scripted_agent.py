"""A scripted agent for conformance suites: the real gateway and stores, and a worker that plays what suites ask for.

``python -m tests.scripted_agent [--port 9010] [--card 1.0|0.3|merged] [--keys]`` serves until it is stopped, and says
first where, and with which key. ``tests.scripted_worker`` says which message does what.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from redis.asyncio import Redis

from services.gateway.bootstrap import build_app
from services.gateway.features.identity.api_keys import KeyRequest, make_api_key
from services.gateway.features.identity.store import Keyring
from services.gateway.settings import GatewaySettings
from shared.domain.words import Role
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from tests.redis_server import short_folder
from tests.scripted_worker import SLOW_SECONDS, ConformanceWorker
from tests.serving import listening, serving_on

WEBHOOK_SECRET = "whsec_c2NyaXB0ZWQtd29ya2VyLXNlY3JldC1mb3ItdGVzdHM="


class Agent(NamedTuple):
    """``key`` is empty where nobody is asked for one."""

    url: str
    key: str


@asynccontextmanager
async def scripted_agent(port: int = 0, *, card: str = "1.0", keys: bool = False) -> AsyncIterator[Agent]:
    """Everything that the protocols know is on, ids of messages may repeat, webhooks may call this machine."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(short_folder()))
        server = stack.enter_context(EmbeddedRedis(folder))
        redis = connect(server.url)
        stack.push_async_callback(redis.aclose)
        listener, url = stack.enter_context(listening(port))
        key = (await make_keys(redis, {"suite": ("acme", (Role.CLIENT,))}))["suite"] if keys else ""
        said = {
            **({"authentication": "keys"} if keys else {"profile": "embedded"}),
            "redis_url": server.url,
            "purple_agent_card_url": f"{url}/",
            "a2a_card": card,
            "message_id_window": 0,
            "webhook_secret": WEBHOOK_SECRET,
            "webhook_allowed_hosts": "127.0.0.1,localhost",
        }
        await stack.enter_async_context(serving_on(listener, build_app(GatewaySettings.model_validate(said))))
        await start_worker(stack, redis, server.url, SLOW_SECONDS)
        yield Agent(url, key)


async def start_worker(stack: AsyncExitStack, redis: Redis, url: str, slow: float) -> ConformanceWorker:
    worker = ConformanceWorker(redis, url, slow=slow)
    stack.push_async_callback(worker.aclose)
    group = await stack.enter_async_context(asyncio.TaskGroup())
    stack.callback(group.create_task(worker.run()).cancel)
    return worker


async def make_keys(redis: Redis, people: Mapping[str, tuple[str, tuple[Role, ...]]]) -> dict[str, str]:
    """A key for everybody, without limits. ``people``: of each the tenant and the roles."""
    keyring, tokens = Keyring(redis), dict[str, str]()
    for person, (tenant, roles) in people.items():
        wish = KeyRequest(person, roles, requests_a_minute=0, messages_a_minute=0, messages_a_day=0)
        made = make_api_key(wish, tenant, "olga")
        await keyring.add_key(made.key)
        tokens[person] = made.token
    return tokens


async def serve(port: int, card: str, *, keys: bool) -> None:
    """Until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with scripted_agent(port, card=card, keys=keys) as agent:
        key = f"  with Authorization: Bearer {agent.key}" if agent.key else ""
        sys.stdout.write(f"{agent.url}/{key}\n")
        sys.stdout.flush()
        await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.scripted_agent", description=__doc__)
    parser.add_argument("--port", type=int, default=9010, help="0: any that is free")
    parser.add_argument("--card", choices=("1.0", "0.3", "merged"), default="1.0", help="of which generation")
    parser.add_argument("--keys", action="store_true", help="let nobody in without a key")
    given = parser.parse_args()
    asyncio.run(serve(given.port, given.card, keys=given.keys))


if __name__ == "__main__":
    main()
