"""The proxy that makes networks fail on purpose."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import cast

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

from tools.tcp_proxy import TcpProxy

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


async def test_what_was_to_be_lost_may_be_taken_back(proxy: TcpProxy, client: Redis) -> None:
    proxy.answers.cut_at(1)
    proxy.answers.cut_never()
    assert await client.ping()
    assert proxy.open_connections == 1


async def test_who_listens_hears_each_request_although_it_goes_nowhere(proxy: TcpProxy) -> None:
    """Before it goes on, each connection by itself; what is swallowed counts as what came."""
    heard: list[bytearray] = []

    def listen() -> Callable[[bytes], None]:
        heard.append(bytearray())
        return heard[-1].extend

    async with TcpProxy(proxy.upstream, listen=listen) as line:
        line.requests.cut_at(1)
        for command in (b"PING\r\n", b"ECHO x\r\n"):
            reader, writer = await asyncio.open_connection(line.host, line.port)
            writer.write(command)
            async with asyncio.timeout(PATIENCE):
                await reader.read(5)
            writer.close()
        assert line.requests.pieces == 2

    assert [bytes(one) for one in heard] == [b"PING\r\n", b"ECHO x\r\n"]
