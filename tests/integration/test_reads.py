"""Reads that are asked at the same time share one connection, and are answered by redis-py where there is none."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from shared.infra.reads import PackedReads, Reads
from shared.ports.store import StoreUnavailable
from tools.tcp_proxy import TcpProxy

pytestmark = pytest.mark.promise("gateway.threads_bounded")


@pytest.fixture
async def reads(redis: Redis, redis_url: str) -> AsyncIterator[Reads]:
    found = Reads(redis, redis_url)
    yield found
    found.close()


async def test_each_gets_its_own_replies_of_those_that_ask_together(redis: Redis, reads: Reads) -> None:
    await redis.mset({f"k{number}": f"v{number}" * 5000 for number in range(20)})
    await redis.hset("h", "a", "1")  # type: ignore[misc]  # redis-py
    asked = [PackedReads.pack(("GET", f"k{number}"), ("HMGET", "h", "a", "b"), ("GET", "none")) for number in range(20)]
    for _ in range(3):
        found = await asyncio.gather(*map(reads.ask, asked))
        assert list(found) == [[f"v{number}".encode() * 5000, [b"1", None], None] for number in range(20)]


async def test_together_they_cost_redis_few_packets(redis: Redis, reads: Reads) -> None:
    asked = PackedReads.pack(("GET", "a"), ("GET", "b"))
    await reads.ask(asked)
    before = int((await redis.info("stats"))["total_reads_processed"])
    await asyncio.gather(*(reads.ask(asked) for _ in range(50)))
    assert int((await redis.info("stats"))["total_reads_processed"]) - before <= 10


async def test_what_the_server_refuses_is_the_stores_fault(redis: Redis, reads: Reads) -> None:
    await redis.set("text", "x")
    with pytest.raises(StoreUnavailable, match="WRONGTYPE"):
        await reads.ask(PackedReads.pack(("HGET", "text", "field")))
    assert await reads.ask(PackedReads.pack(("GET", "text"))) == [b"x"]


async def test_a_cut_is_bridged_and_a_client_that_left_disturbs_nobody(redis: Redis, redis_url: str) -> None:
    await redis.set("k", "v")
    asked = PackedReads.pack(("GET", "k"))
    async with TcpProxy(_upstream(redis_url)) as proxy:
        reads = Reads(redis, f"redis://{proxy.address}/0")
        assert await reads.ask(asked) == [b"v"]
        proxy.answers.pause()
        left = asyncio.create_task(reads.ask(asked))
        stays = asyncio.create_task(reads.ask(asked))
        await asyncio.sleep(0)
        left.cancel()
        proxy.answers.resume()
        assert await stays == [b"v"]
        proxy.cut()
        assert [await reads.ask(asked) for _ in range(3)] == [[b"v"]] * 3
        reads.close()


async def test_a_password_and_a_database_are_heeded(redis: Redis, redis_url: str) -> None:
    await redis.execute_command("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+select")  # type: ignore[no-untyped-call]  # redis-py
    await redis.set("where", "0")
    asked = PackedReads.pack(("GET", "where"))
    async with TcpProxy(_upstream(redis_url)) as proxy:
        right = Reads(redis, f"redis://reader:secret@{proxy.address}/1")
        wrong = Reads(redis, f"redis://reader:wrong@{proxy.address}/1")
        found = [await one.ask(asked) for one in (right, wrong)]
        right.close()
        wrong.close()
    await redis.execute_command("ACL", "DELUSER", "reader")  # type: ignore[no-untyped-call]  # redis-py
    assert found == [[None], [b"0"]]  # the second by the client, which has other credentials


def _upstream(redis_url: str) -> str:
    return redis_url if redis_url.startswith("unix:") else redis_url.removeprefix("redis://").partition("/")[0]
