"""Who can read what the embedded Redis keeps: its owner, and nobody else on the machine."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect

pytestmark = pytest.mark.promise("launcher.owners_files")


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


@pytest.mark.usefixtures("open_umask")
def test_files_of_the_embedded_store_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    with EmbeddedRedis(folder) as redis:
        asyncio.run(_write(redis.url))
        assert any(path.suffix == ".aof" for path in folder.rglob("*"))
        assert _readable_by_others(folder) == []


@pytest.mark.usefixtures("open_umask")
def test_a_folder_that_an_older_version_left_open_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir(mode=0o755)
    with EmbeddedRedis(folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
