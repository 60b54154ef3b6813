"""Fixtures that more than one room uses."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.live import Live
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore


@pytest.fixture(scope="session")
def embedded_redis() -> Iterator[EmbeddedRedis]:
    """One durable server for the whole run, in a short path (a socket's name is limited to about 100 bytes)."""
    with tempfile.TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder)) as server:
        yield server


@pytest.fixture
async def redis(embedded_redis: EmbeddedRedis) -> AsyncIterator[Redis]:
    """A client on an empty database."""
    client = connect(embedded_redis.url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
def redis_url(embedded_redis: EmbeddedRedis, redis: Redis) -> str:
    """The URL of a real server whose database is empty."""
    return embedded_redis.url


@pytest.fixture
async def task_store(redis: Redis) -> AsyncIterator[TaskStore]:
    """What gateways use, on an empty database."""
    async with Live(redis) as live:
        yield TaskStore(redis, live)
