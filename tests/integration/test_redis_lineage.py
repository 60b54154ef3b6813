"""A server that does not say whether it has failed over is not relied on: not at a start, nor for any write."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from shared.infra import keys
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.live import Live
from shared.infra.redis import VolatileRedis, check_durable, connect
from shared.infra.redis_pools import FollowingPool
from shared.infra.task_store import TaskStore
from shared.ports.store import StoreUnavailable
from tests.integration.redis_pair import free_ports
from tests.integration.state_stage import accepted, an_entry, begin, sessions_of

pytestmark = pytest.mark.promise("redis.failover_unknown")

_MUTE = ("~*", "&*", "+@all", "-info")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server of these tests' own: they change its users and its memory."""
    port = free_ports(1)[0]
    more = ["--port", str(port), "--bind", "127.0.0.1"]
    with tempfile.TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder), more=more):
        yield f"127.0.0.1:{port}/0"


@pytest.fixture
async def admin(address: str) -> AsyncIterator[Redis]:
    client = connect(f"redis://{address}")
    await client.flushall()
    await client.execute_command("ACL", "SETUSER", "mute", "on", ">secret", *_MUTE)  # type: ignore[no-untyped-call]  # redis-py
    yield client
    await client.config_set("maxmemory", "0")
    await client.aclose()


async def test_a_server_that_may_not_say_is_refused_at_a_start_by_name(admin: Redis, address: str) -> None:
    client = connect(f"redis://mute:secret@{address}")
    with pytest.raises(VolatileRedis, match=r"REDIS_URL .* INFO, or end REDIS_URL with \?confirm_replicas=1"):
        await check_durable(client)
    with pytest.raises(StoreUnavailable, match="INFO"):
        await sessions_of(client, "one").ping()
    await check_durable(client, allow_volatile=True)
    await sessions_of(client, "one").ping()
    await client.aclose()


async def test_with_confirmed_intents_it_need_not_say(admin: Redis, address: str) -> None:
    client = connect(f"redis://mute:secret@{address}?confirm_replicas=1")
    await check_durable(client)
    await client.aclose()


async def test_no_write_leaves_while_nobody_knows_of_failovers(admin: Redis, address: str) -> None:
    """The right was taken away while the turn ran, and its connection was lost."""
    client = connect(f"redis://mute:secret@{address}")
    await admin.execute_command("ACL", "SETUSER", "mute", "+info")  # type: ignore[no-untyped-call]  # redis-py
    async with Live(admin) as live:
        await accepted(TaskStore(admin, live))
        begun = await begin(sessions_of(client, "one"))
        await admin.execute_command("ACL", "SETUSER", "mute", "-info")  # type: ignore[no-untyped-call]  # redis-py
        await client.connection_pool.disconnect()
        with pytest.raises(StoreUnavailable, match="failed over"):
            await begun.store.open_write(an_entry(), 1.0)
        assert [entry.status for entry in (await begun.store.ledger()).values()] in ([], ["unsent"])
    await client.aclose()


async def test_what_could_not_be_said_for_want_of_memory_is_asked_again(admin: Redis, address: str) -> None:
    """On the connection that is there: nobody may come to make another."""
    await admin.execute_command("HSET", keys.SERVER, "id", "another")  # type: ignore[no-untyped-call]  # redis-py
    await admin.config_set("maxmemory", "1")
    client = connect(f"redis://{address}")
    with pytest.raises(StoreUnavailable, match="cannot say whether it has failed over"):
        await check_durable(client)
    await admin.config_set("maxmemory", "0")
    await check_durable(client)
    assert isinstance(client.connection_pool, FollowingPool)
    noted = await admin.execute_command("HGET", keys.SERVER, "id")  # type: ignore[no-untyped-call]  # redis-py
    assert noted != "another"
    await client.aclose()
