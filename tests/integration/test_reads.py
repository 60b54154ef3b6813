"""Commands that are asked at the same time share one trip, and nothing else."""

import asyncio
from typing import cast

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from shared.infra import keys
from shared.infra.lua import Scripts
from shared.infra.redis import connect
from shared.infra.redis_pools import PrimaryPool
from shared.ports.store import StoreUnavailable


async def _reads(redis: Redis) -> int:
    return int(cast("dict[str, int]", await redis.info("stats"))["total_reads_processed"])


@pytest.mark.promise("state.shared_trips")
async def test_what_is_asked_at_once_takes_one_round_trip(redis: Redis) -> None:
    """By whichever adapter of the client: scripts and plain commands alike."""
    one, other = Scripts(redis), Scripts(redis)
    await one.run("probe", [keys.PROBE_KEY], [])
    before = await _reads(redis)
    await asyncio.gather(
        one.execute("SET", "a", "1"), other.run("probe", [keys.PROBE_KEY], []), one.execute("GET", "a")
    )
    assert await _reads(redis) - before <= 2  # this question is one of them


@pytest.mark.promise("state.shared_trips")
async def test_what_one_is_refused_the_others_are_not(redis: Redis) -> None:
    scripts = Scripts(redis)
    wrong, right = await asyncio.gather(
        scripts.execute("LPUSH", keys.PROBE_KEY, "1"),
        scripts.execute("HGET", keys.PROBE_KEY, "f"),
        return_exceptions=True,
    )
    assert wrong == 1
    assert isinstance(right, StoreUnavailable)


@pytest.mark.promise("state.shared_trips")
async def test_who_gives_up_takes_nobody_along(redis: Redis) -> None:
    """Not even the one who sends for all."""
    scripts = Scripts(redis)
    sender = asyncio.create_task(scripts.execute("SET", "a", "1"))
    followers = [asyncio.create_task(scripts.execute("SET", f"b{number}", "2")) for number in range(3)]
    await asyncio.sleep(0)
    sender.cancel()
    followers[1].cancel()
    results = await asyncio.gather(sender, *followers, return_exceptions=True)
    assert [isinstance(one, asyncio.CancelledError) for one in results] == [True, False, True, False]
    assert await redis.mget("b0", "b2") == ["2", "2"]


@pytest.mark.promise("state.shared_trips")
async def test_a_server_that_is_away_is_away_for_each() -> None:
    scripts = Scripts(connect("unix:///nowhere.sock"), patience=0)
    results = await asyncio.gather(*(scripts.execute("GET", "a") for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in results] == [StoreUnavailable] * 3


@pytest.mark.promise("state.shared_trips")
async def test_a_reply_that_does_not_come_in_time_is_nobody_elses(redis: Redis) -> None:
    """The connection that waited for it is closed; whoever asks next has another."""
    pool = redis.connection_pool
    assert isinstance(pool, PrimaryPool)
    await pool.send_commands([("SET", "a", "1")], 5.0)
    with pytest.raises(TimeoutError):
        await pool.send_commands([("BLPOP", "nothing", 5)], 0.1)
    value, refusal = await pool.send_commands([("GET", "a"), ("HGET", "a", "f")], 5.0)
    assert (value, type(refusal)) == ("1", ResponseError)
