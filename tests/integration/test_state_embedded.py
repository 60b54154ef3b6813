"""The embedded server: private, durable, its files its owner's alone, and gone with its parent."""

import asyncio
import json
import os
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redis.asyncio import Redis

from shared.infra.embedded_redis import EmbeddedRedis, NoRedisServer
from shared.infra.redis import VolatileRedis, connect, require_durable_redis
from shared.ports.store import StoreUnavailable

PARENT = """
import json, sys, time
from pathlib import Path
from shared.infra.embedded_redis import EmbeddedRedis
server = EmbeddedRedis(Path(sys.argv[1]))
server.start()
print(json.dumps({"pid": server.pid, "url": server.url}), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="pa-") as name:
        yield Path(name)


@pytest.mark.promise("state.embedded_no_orphan")
def test_the_server_ends_when_its_parent_is_killed(folder: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    told = json.loads(parent.stdout.readline())
    watched = os.pidfd_open(told["pid"])
    parent.send_signal(signal.SIGKILL)
    ended, _, _ = select.select([watched], [], [], 5.0)
    os.close(watched)
    parent.wait()
    parent.stdout.close()
    parent.stdin.close()
    assert ended


@pytest.mark.promise("waiting.survives_restart", "state.embedded_durable")
async def test_what_was_acknowledged_survives_a_kill_of_the_server(folder: Path) -> None:
    server = EmbeddedRedis(folder)
    server.start()
    client = connect(server.url)
    for number in range(50):
        await client.set(f"k{number}", number)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    server.stop()
    await client.aclose()
    with EmbeddedRedis(folder) as again:
        client = connect(again.url)
        assert len(await client.keys("k*")) == 50
        await client.aclose()


@pytest.mark.promise("state.embedded_durable")
async def test_a_second_server_in_the_same_folder_is_refused_and_the_first_lives_on(folder: Path) -> None:
    """Two servers that append to one file would spoil it."""
    with EmbeddedRedis(folder) as first:
        with pytest.raises(NoRedisServer, match="Another server keeps its data in"):
            EmbeddedRedis(folder).start()
        client = connect(first.url)
        assert await client.ping()
        await client.aclose()


async def test_a_stop_ends_the_server(folder: Path) -> None:
    server = EmbeddedRedis(folder)
    server.start()
    server.stop()
    client = connect(server.url)
    with pytest.raises(StoreUnavailable):
        await require_durable_redis(client)
    await client.aclose()


def test_its_socket_is_private(embedded_redis: EmbeddedRedis) -> None:
    path = Path(embedded_redis.url.removeprefix("unix://"))
    assert path.stat().st_mode & 0o077 == 0


async def test_the_embedded_server_counts_as_durable(redis: Redis) -> None:
    await require_durable_redis(redis)


@pytest.mark.promise("state.refuses_volatile")
async def test_a_server_that_may_forget_is_refused_by_name(folder: Path) -> None:
    with EmbeddedRedis(folder, is_durable=False) as server:
        client = connect(server.url)
        with pytest.raises(VolatileRedis, match=r"REDIS_URL .* appendonly is 'no'"):
            await require_durable_redis(client)
        await require_durable_redis(client, allow_volatile=True)
        await client.aclose()


def _readable_by_others(folder: Path) -> list[str]:
    found = [folder, *folder.rglob("*")]
    return [path.name for path in found if path.lstat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]


async def _write(url: str) -> None:
    redis = connect(url)
    await redis.set("task", "what a client asked for")
    await redis.aclose()


@pytest.fixture
def open_umask() -> Iterator[None]:
    """As most machines have it: new files can be read by everybody."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.promise("launcher.owners_files")
@pytest.mark.usefixtures("open_umask")
def test_files_of_the_embedded_store_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    with EmbeddedRedis(folder) as redis:
        asyncio.run(_write(redis.url))
        assert any(path.suffix == ".aof" for path in folder.rglob("*"))
        assert _readable_by_others(folder) == []


@pytest.mark.promise("launcher.owners_files")
@pytest.mark.usefixtures("open_umask")
def test_a_folder_that_an_older_version_left_open_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir(mode=0o755)
    with EmbeddedRedis(folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
