"""The Redis server of a run's state: the end of its log is cut, or a replica takes its place."""

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from cli.stack.plan import find_free_ports
from shared.infra.embedded_redis import EmbeddedRedis, NoRedisServer
from tools.tcp_proxy import TcpProxy

_HOST = "127.0.0.1"
_LINKED_SECONDS = 8.0  # in which a new replica must have everything
_COMMAND_SECONDS = 2.0
_LOOK_EVERY = 0.02
_QUICK = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")


class LogEnd(NamedTuple):
    """Where a log ended at a moment."""

    file: Path
    size: int


class ServerNode(NamedTuple):
    server: EmbeddedRedis
    port: int
    folder: Path


class Replica(NamedTuple):
    """A server that follows the present one over ``line``, which can be paused."""

    node: ServerNode
    line: TcpProxy


class StateServer:
    """``server`` serves. ``on_change`` is called with the one that serves from then on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)
        self._serving = self._make()
        self._replicas: list[Replica] = []
        self.on_change: Callable[[EmbeddedRedis], None] = lambda _: None

    @property
    def server(self) -> EmbeddedRedis:
        return self._serving.server

    def stop(self) -> None:
        """End the server and every replica."""
        for node in (*(replica.node for replica in self._replicas), self._serving):
            node.server.stop()

    def log_end(self) -> LogEnd | None:
        """Where the log of the server ends now; None where none is written."""
        logs = sorted((self._serving.folder / "appendonlydir").glob("*.incr.aof"), key=lambda log: log.stat().st_mtime)
        return LogEnd(logs[-1], logs[-1].stat().st_size) if logs else None

    def cut_log(self, end: LogEnd) -> int:
        """Take from the log of the dead server what was written after ``end``; how many bytes that was."""
        now = self.log_end()
        if now is None or now.file != end.file or now.size <= end.size:
            return 0
        os.truncate(end.file, end.size)
        return now.size - end.size

    async def replicate(self) -> Replica | None:
        """A new replica that has what was written before; None where it has not in time."""
        replica = Replica(self._make(), TcpProxy(f"{_HOST}:{self._serving.port}"))
        self._replicas.append(replica)
        await replica.line.accept()
        with suppress(TimeoutError, NoRedisServer):
            async with asyncio.timeout(_LINKED_SECONDS):
                replica.node.server.launch()
                await self._follow(replica)
                return replica
        await self.drop(replica)
        return None

    async def catch_up(self, replica: Replica) -> bool:
        """Whether the replica has, within some time, everything that was written before this was called."""
        written = (await _read_replication(self._serving.port)).get("master_repl_offset")
        if not isinstance(written, int):
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(_COMMAND_SECONDS):
                while _replicated_offset(await _read_replication(replica.node.port)) < written:  # noqa: ASYNC110  # nobody tells
                    await asyncio.sleep(_LOOK_EVERY)
                return True
        return False

    async def drop(self, replica: Replica) -> None:
        """End a replica that nobody needs."""
        await replica.line.refuse()
        self._replicas.remove(replica)
        _remove(replica.node)

    async def promote(self, replica: Replica) -> bool:
        """Let the replica serve in place of the present server, which must be dead; whether it does."""
        await replica.line.refuse()
        if await _run_command(replica.node.port, "REPLICAOF", "NO", "ONE") is None:
            return False
        self._replicas.remove(replica)
        old, self._serving = self._serving, replica.node
        self.on_change(self.server)
        _remove(old)
        return True

    async def _follow(self, replica: Replica) -> None:
        port = replica.node.port
        while await _run_command(port, "REPLICAOF", _HOST, replica.line.port) is None:  # noqa: ASYNC110  # it starts
            await asyncio.sleep(_LOOK_EVERY)
        while (await _read_replication(port)).get("master_link_status") != "up":  # noqa: ASYNC110  # it is sent everything
            await asyncio.sleep(_LOOK_EVERY)

    def _make(self) -> ServerNode:
        folder = self._folder / str(next(self._numbers))
        (port,) = find_free_ports(1)
        return ServerNode(
            EmbeddedRedis(folder, extra_flags=("--port", str(port), "--bind", _HOST, *_QUICK)), port, folder
        )


def _remove(node: ServerNode) -> None:
    node.server.kill()
    shutil.rmtree(node.folder, ignore_errors=True)


def _replicated_offset(report: Mapping[str, object]) -> int:
    found = report.get("slave_repl_offset")
    return found if isinstance(found, int) else -1


async def _read_replication(port: int) -> Mapping[str, object]:
    found = await _run_command(port, "INFO", "replication")
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


async def _run_command(port: int, *words: str | int) -> object:
    """What the server answers; None where it does not."""
    client = Redis(host=_HOST, port=port, decode_responses=True, socket_timeout=_COMMAND_SECONDS)
    try:
        with suppress(RedisError, OSError):
            return cast("object", await client.execute_command(*words))  # type: ignore[no-untyped-call]  # redis-py
        return None
    finally:
        await client.aclose()
