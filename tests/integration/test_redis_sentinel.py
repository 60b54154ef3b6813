"""A service that sentinels watch: found by name, followed through a real failover."""

import asyncio
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from services.executor.ports.turns import JournalEntry
from shared.infra.embedded_redis import server_program
from shared.infra.lineage import lineage_of
from shared.infra.live import Live
from shared.infra.lua import Scripts
from shared.infra.process import dies_with_parent
from shared.infra.redis import connect, queue_connections
from shared.infra.task_store import TaskStore
from shared.ports.store import StoreUnavailable
from tests.integration.redis_pair import PATIENCE, Pair, free_ports, pair_of_servers
from tests.integration.state_stage import accepted, begin, sessions_of


@pytest.fixture
def pair() -> Iterator[Pair]:
    with pair_of_servers() as servers:
        yield servers


@pytest.fixture
async def sentinel(pair: Pair) -> AsyncIterator[int]:
    """The port of one sentinel that knows the pair as ``orders``."""
    await pair.replicate()
    with _sentinel(pair.first.port) as port:
        watcher = Redis(port=port, decode_responses=True)
        await _until(watcher, "num-slaves", "1")
        yield port
        await watcher.aclose()


def _url(sentinel: int) -> str:
    nobody = free_ports(1)[0]  # a sentinel that is down is passed over
    return f"redis+sentinel://127.0.0.1:{nobody},127.0.0.1:{sentinel}/orders/0"


@pytest.mark.promise("redis.sentinel")
async def test_a_turn_goes_on_through_a_failover(pair: Pair, sentinel: int) -> None:
    """The primary is killed; the sentinel promotes the replica; nothing but the name leads there."""
    client = connect(_url(sentinel))
    async with Live(client) as live:
        await accepted(TaskStore(client, live))
        begun = await begin(sessions_of(client, "one"))
        await begun.store.append([JournalEntry("k1", "note", "{}")])
        await pair.first.say("WAIT", 1, 1000)
        pair.first.server.kill()
        async with asyncio.timeout(PATIENCE):
            await begun.store.append([JournalEntry("k2", "note", "{}")])
        keys = [step.key for step in await begun.store.journal()]
    assert keys == ["k1", "k2"]
    assert lineage_of(client).failed_over is not None
    await client.aclose()


@pytest.mark.promise("redis.sentinel")
async def test_the_queue_is_found_by_name_too(sentinel: int) -> None:
    pool = queue_connections(_url(sentinel))
    queue = Redis.from_pool(pool)
    assert await queue.ping()
    await queue.aclose()


async def test_a_service_that_no_sentinel_knows_is_said_by_name(sentinel: int) -> None:
    client = connect(f"redis+sentinel://127.0.0.1:{sentinel}/other/0")
    with pytest.raises(StoreUnavailable, match="no sentinel knows the primary of 'other'"):
        await Scripts(client).command("PING")
    await client.aclose()


@contextmanager
def _sentinel(primary: int) -> Iterator[int]:
    (port,) = free_ports(1)
    lines = [
        f"port {port}",
        "bind 127.0.0.1",
        f"sentinel monitor orders 127.0.0.1 {primary} 1",
        "sentinel down-after-milliseconds orders 500",
        "sentinel failover-timeout orders 3000",
    ]
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        config = Path(folder) / "sentinel.conf"
        config.write_text("\n".join([*lines, f"dir {folder}", ""]))
        process = subprocess.Popen(
            [server_program(), str(config), "--sentinel"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=dies_with_parent(),  # noqa: PLW1509  # no other thread runs in the tests
        )
        try:
            yield port
        finally:
            process.kill()
            process.wait()


async def _until(watcher: Redis, field: str, value: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while await _said(watcher, field) != value:
            await asyncio.sleep(0.05)  # between two looks


async def _said(watcher: Redis, field: str) -> str:
    try:
        masters = await watcher.sentinel_masters()  # type: ignore[no-untyped-call]  # redis-py
    except RedisError:  # it has not begun to listen
        return ""
    return str(masters.get("orders", {}).get(field))
