"""What is remembered of the ids that clients choose stays small."""

import pytest
from redis.asyncio import Redis

from services.gateway.features.tasks.store import MOST, RedisThreads
from shared.infra.keys import thread_key


@pytest.mark.promise("gateway.threads_bounded")
async def test_a_client_that_uses_one_id_for_ever_does_not_fill_the_store(redis: Redis) -> None:
    """Its newest task and the last answer are never among what is forgotten."""
    threads, key = RedisThreads(redis), thread_key("acme", "daily")
    await threads.points_to("acme", "daily", "t9")
    await redis.hset(key, mapping={f"answered:{number}": "turn" for number in range(MOST)})  # type: ignore[misc]  # redis-py
    await threads.answered("acme", "daily", "new", "turn-new")
    noted = await redis.hlen(key)  # type: ignore[misc]  # redis-py
    kept = await threads.of("acme", "daily", "new")
    assert MOST // 2 < noted < MOST
    assert (kept.task_id, kept.answered) == ("t9", "turn-new")
