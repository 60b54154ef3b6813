"""A process that starts while Redis is being restarted waits for it a little, instead of refusing."""

import asyncio
from pathlib import Path

import pytest

from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect, until_durable


@pytest.mark.promise("redis.awaited_at_start")
async def test_a_server_that_comes_back_is_waited_for(tmp_path: Path) -> None:
    """Nobody listens when the process asks first; it goes on as soon as the server is there."""
    server = EmbeddedRedis(tmp_path)
    redis = connect(server.url)
    waiting = asyncio.create_task(until_durable(redis))
    await asyncio.sleep(0)
    try:
        server.start()
        await waiting
    finally:
        await redis.aclose()
        server.stop()
