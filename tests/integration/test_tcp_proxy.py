"""The proxy that makes networks fail on purpose."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import cast

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

from shared.infra.tcp_proxy import TcpProxy

PATIENCE = 5.0


@pytest.fixture
async def proxy(redis_server: str) -> AsyncIterator[TcpProxy]:
    upstream = redis_server if redis_server.startswith("unix://") else redis_server.split("/")[2]
    async with TcpProxy(upstream) as running:
        yield running


@pytest.fixture
async def client(proxy: TcpProxy) -> AsyncIterator[Redis]:
    """Never tries twice."""
    redis = Redis(host=proxy.host, port=proxy.port, retry=Retry(NoBackoff(), 0))
    yield redis
    await redis.aclose()


async def test_it_passes_everything_on(client: Redis) -> None:
    text = b"x" * 1_000_000
    assert await client.echo(text.decode()) == text


async def test_an_answer_is_lost_after_its_command_was_applied(proxy: TcpProxy, client: Redis, redis: Redis) -> None:
    await client.ping()
    proxy.answers.cut_at(1)
    with pytest.raises(RedisConnectionError):
        await client.incr("n")
    assert await redis.get("n") == "1"
    assert await client.incr("n") == 2


async def test_a_command_is_lost_before_it_arrives(proxy: TcpProxy, client: Redis, redis: Redis) -> None:
    await client.ping()
    proxy.requests.cut_at(1)
    with pytest.raises(RedisConnectionError):
        await client.incr("n")
    assert await redis.get("n") is None


async def test_a_cut_ends_what_is_under_way(proxy: TcpProxy, client: Redis) -> None:
    await client.ping()
    waiting = asyncio.ensure_future(cast("Awaitable[object]", client.blpop(["nothing"], 5)))
    async with asyncio.timeout(PATIENCE):
        while not proxy.cut():
            await asyncio.sleep(0)
        with pytest.raises(RedisConnectionError):
            await waiting


async def test_it_refuses_and_takes_connections_again(proxy: TcpProxy, client: Redis) -> None:
    await client.ping()
    await proxy.refuse()
    with pytest.raises(RedisConnectionError):
        await client.ping()
    await proxy.accept()
    assert await client.ping()


async def test_a_pause_holds_everything_back(proxy: TcpProxy, client: Redis) -> None:
    await client.ping()
    proxy.pause()
    waiting = asyncio.ensure_future(cast("Awaitable[object]", client.ping()))
    done, _ = await asyncio.wait({waiting}, timeout=0.05)
    assert not done
    proxy.resume()
    async with asyncio.timeout(PATIENCE):
        assert await waiting


async def test_a_delay_is_waited_out(proxy: TcpProxy, client: Redis) -> None:
    await client.ping()
    proxy.answers.delay = 0.05
    loop = asyncio.get_running_loop()
    began = loop.time()
    await client.ping()
    assert loop.time() - began >= 0.05
