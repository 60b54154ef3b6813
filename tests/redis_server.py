"""The Redis that tests run on: a container where Docker is at hand, else the embedded server."""

import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shared.infra.embedded_redis import EmbeddedRedis

_ENGINE = "/var/run/docker.sock"
_START_SECONDS = 90  # the image may have to be fetched
_STOP_SECONDS = 30
_MEMORY = Path("/dev/shm")
_ROOM = 2**30


@contextmanager
def short_folder() -> Iterator[str]:
    """A folder with a short path, for a socket's name is limited to about 100 bytes; in memory where there is room.

    A durable server waits for the disk at each write. In memory that takes no time, and a killed server's log is as
    whole as on a disk.
    """
    has_room = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
    with tempfile.TemporaryDirectory(prefix="pa-", dir=_MEMORY if has_room else None) as folder:
        yield folder


@contextmanager
def private_server(*, durable: bool = True, more: Sequence[str] = ()) -> Iterator[EmbeddedRedis]:
    """An embedded server in a folder of its own."""
    with short_folder() as folder, EmbeddedRedis(Path(folder), is_durable=durable, extra_flags=more) as server:
        yield server


@contextmanager
def durable_server() -> Iterator[str]:
    """The URL of a server that forgets nothing, for as long as the context is open."""
    with _container() as url:
        if url:
            yield url
            return
    with private_server() as server:
        yield server.url


def an_engine_listens() -> bool:
    """Whether there is a container engine: one that ``DOCKER_HOST`` names, or one on the usual socket."""
    if os.environ.get("DOCKER_HOST"):
        return True
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(1.0)
        return line.connect_ex(_ENGINE) == 0


@contextmanager
def _container() -> Iterator[str]:
    """The container's URL; empty if there is no engine, or it has no image and cannot fetch one."""
    if not an_engine_listens():
        yield ""
        return
    command = [sys.executable, "-m", "tests.redis_container"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield _first_line(process.stdout)
        finally:
            process.stdin.close()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _first_line(said: IO[str]) -> str:
    ready, _, _ = select.select([said], [], [], _START_SECONDS)
    return said.readline().strip() if ready else ""
