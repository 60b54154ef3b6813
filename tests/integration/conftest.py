"""Gateways with the usual settings, which most tests of this folder want, and a server that a test may stop."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from redis.asyncio import Redis

from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from tests.http_client import open_http
from tests.integration.gateway_stage import PATIENCE, Locked, Stage, gateway, locked_stage, stage
from tests.redis_server import private_server


@pytest.fixture
async def play(redis: Redis, redis_url: str) -> AsyncIterator[Stage]:
    """A gateway, its worker and a client of it."""
    async with stage(redis, redis_url) as running:
        yield running


@pytest.fixture
async def locked(redis: Redis, redis_url: str) -> AsyncIterator[Locked]:
    """The same, where keys are asked for."""
    async with locked_stage(redis, redis_url) as running:
        yield running


@pytest.fixture
async def url(redis_url: str) -> AsyncIterator[str]:
    """Of a gateway that nobody works for."""
    async with gateway(redis_url) as serving:
        yield serving


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    """Of that gateway."""
    async with open_http(base_url=url, timeout=PATIENCE, trust_env=False) as http:
        yield http


@pytest.fixture
def own_server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own, to stop, kill and spoil."""
    with private_server() as server:
        yield server


@pytest.fixture
async def own_redis(own_server: EmbeddedRedis) -> AsyncIterator[Redis]:
    """A client of it, which connects when it is first used."""
    client = connect(own_server.url)
    yield client
    await client.aclose()
