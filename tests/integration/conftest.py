"""Gateways with the usual settings, which most tests of this folder want."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from tests.integration.gateway_stage import Stage, gateway, stage


@pytest.fixture
async def play(redis: Redis, redis_url: str) -> AsyncIterator[Stage]:
    """A gateway, its worker and a client of it."""
    async with stage(redis, redis_url) as running:
        yield running


@pytest.fixture
async def url(redis_url: str) -> AsyncIterator[str]:
    """Of a gateway that nobody works for."""
    async with gateway(redis_url) as serving:
        yield serving
