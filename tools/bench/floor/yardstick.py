"""The floor as a process beside what is measured: batches of the same tasks, on a Redis as durable as ours."""

import asyncio
import json
import statistics
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from redis.asyncio import Redis

from cli.console import CommandError
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.process import make_parent_death_hook
from tools.bench.overhead.spending import OfRedis

_MOST_BYTES = 2**24  # of a line
_SECONDS = 120.0


class FloorCosts(NamedTuple):
    """Of a task: CPU milliseconds of the floor's process and its Redis, round trips, bytes of log, p50 on the clock."""

    cpu_ms: float
    round_trips: float
    log_bytes: float
    p50_ms: float


class FloorProcess:
    """Raises ``CommandError`` if the floor's process ends before its answer."""

    def __init__(self, process: asyncio.subprocess.Process, redis: Redis) -> None:
        self._process, self._redis = process, redis

    async def play(self, tasks: Mapping[str, str], at_once: int) -> FloorCosts:
        """``tasks``: text by name; no name twice in a yardstick's life."""
        before = await OfRedis.read(self._redis)
        spent = json.loads(await self._send_line(json.dumps({"tasks": dict(tasks), "at_once": at_once})))
        after = await OfRedis.read(self._redis)
        return FloorCosts(
            (spent["cpu_ms"] + after.cpu_ms - before.cpu_ms) / len(tasks),
            (after.reads - before.reads) / len(tasks),
            (after.aof_bytes - before.aof_bytes) / len(tasks),
            statistics.median(spent["took_ms"]),
        )

    async def measure_sdk_call(self, calls: int) -> float:
        """CPU milliseconds of a call of a model by the official SDK."""
        return float(json.loads(await self._send_line(json.dumps({"sdk_calls": calls})))["cpu_ms"])

    async def _send_line(self, line: str) -> bytes:
        assert self._process.stdin  # noqa: S101  started with a pipe
        self._process.stdin.write(line.encode() + b"\n")
        return await self._read_line()

    async def wait_until_ready(self) -> None:
        await self._read_line()

    async def _read_line(self) -> bytes:
        assert self._process.stdout  # noqa: S101  started with a pipe
        async with asyncio.timeout(_SECONDS):
            line = await self._process.stdout.readline()
        if not line:
            raise CommandError("The floor's worker ended; what it said stands above.")
        return line


@asynccontextmanager
async def start_floor(folder: Path, model_port: int, company_port: int) -> AsyncIterator[FloorProcess]:
    with EmbeddedRedis(folder) as state:
        redis = Redis.from_url(state.url, decode_responses=True)
        ports = (str(model_port), str(company_port))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tools.bench.floor.worker", state.url, *ports),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_MOST_BYTES,
            preexec_fn=make_parent_death_hook(),
        )
        try:
            floor = FloorProcess(process, redis)
            await floor.wait_until_ready()
            yield floor
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await redis.aclose()
