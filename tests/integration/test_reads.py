"""Reads and commands that are asked at the same time share one connection and one trip, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from shared.infra import keys
from shared.infra.lua import Scripts
from shared.infra.reads import PackedReads, ReadPipeline
from shared.infra.redis import connect
from shared.infra.redis_pools import FollowingPool
from shared.ports.store import StoreUnavailable
from tools.tcp_proxy import TcpProxy


@pytest.fixture
async def reads(redis: Redis, redis_url: str) -> AsyncIterator[ReadPipeline]:
    found = ReadPipeline(redis, redis_url)
    yield found
    found.close()


@pytest.mark.promise("gateway.threads_bounded")
async def test_each_gets_its_own_replies_of_those_that_ask_together(redis: Redis, reads: ReadPipeline) -> None:
    await redis.mset({f"k{number}": f"v{number}" * 5000 for number in range(20)})
    await redis.hset("h", "a", "1")  # type: ignore[misc]  # redis-py
    asked = [PackedReads.pack(("GET", f"k{number}"), ("HMGET", "h", "a", "b"), ("GET", "none")) for number in range(20)]
    for _ in range(3):
        found = await asyncio.gather(*map(reads.fetch, asked))
        assert list(found) == [[f"v{number}" * 5000, ["1", None], None] for number in range(20)]


@pytest.mark.promise("gateway.threads_bounded")
async def test_together_they_cost_redis_few_packets(redis: Redis, reads: ReadPipeline) -> None:
    asked = PackedReads.pack(("GET", "a"), ("GET", "b"))
    await reads.fetch(asked)
    before = int((await redis.info("stats"))["total_reads_processed"])
    await asyncio.gather(*(reads.fetch(asked) for _ in range(50)))
    assert int((await redis.info("stats"))["total_reads_processed"]) - before <= 10


@pytest.mark.promise("gateway.threads_bounded")
async def test_what_the_server_refuses_is_the_stores_fault(redis: Redis, reads: ReadPipeline) -> None:
    await redis.set("text", "x")
    with pytest.raises(StoreUnavailable, match="WRONGTYPE"):
        await reads.fetch(PackedReads.pack(("HGET", "text", "field")))
    assert await reads.fetch(PackedReads.pack(("GET", "text"))) == ["x"]


@pytest.mark.promise("gateway.threads_bounded")
async def test_a_cut_is_bridged_and_a_client_that_left_disturbs_nobody(redis: Redis, redis_url: str) -> None:
    await redis.set("k", "v")
    asked = PackedReads.pack(("GET", "k"))
    async with TcpProxy(_upstream(redis_url)) as proxy:
        reads = ReadPipeline(redis, f"redis://{proxy.address}/0")
        assert await reads.fetch(asked) == ["v"]
        proxy.answers.pause()
        left = asyncio.create_task(reads.fetch(asked))
        stays = asyncio.create_task(reads.fetch(asked))
        await asyncio.sleep(0)
        left.cancel()
        proxy.answers.resume()
        assert await stays == ["v"]
        proxy.cut()
        assert [await reads.fetch(asked) for _ in range(3)] == [["v"]] * 3
        reads.close()


@pytest.mark.promise("gateway.threads_bounded")
async def test_a_password_and_a_database_are_heeded(redis: Redis, redis_url: str) -> None:
    await redis.execute_command("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+select")  # type: ignore[no-untyped-call]  # redis-py
    await redis.set("where", "0")
    asked = PackedReads.pack(("GET", "where"))
    async with TcpProxy(_upstream(redis_url)) as proxy:
        right = ReadPipeline(redis, f"redis://reader:secret@{proxy.address}/1")
        wrong = ReadPipeline(redis, f"redis://reader:wrong@{proxy.address}/1")
        found = [await one.fetch(asked) for one in (right, wrong)]
        right.close()
        wrong.close()
    await redis.execute_command("ACL", "DELUSER", "reader")  # type: ignore[no-untyped-call]  # redis-py
    assert found == [[None], ["0"]]  # the second by the client, which has other credentials


def _upstream(redis_url: str) -> str:
    return redis_url if redis_url.startswith("unix:") else redis_url.removeprefix("redis://").partition("/")[0]


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
    assert isinstance(pool, FollowingPool)
    await pool.exchange([("SET", "a", "1")], 5.0)
    with pytest.raises(TimeoutError):
        await pool.exchange([("BLPOP", "nothing", 5)], 0.1)
    value, refusal = await pool.exchange([("GET", "a"), ("HGET", "a", "f")], 5.0)
    assert (value, type(refusal)) == ("1", ResponseError)
