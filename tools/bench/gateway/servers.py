"""The gateway and the SDK's own server, each as a process of its own, and what stands for an executor."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from redis.asyncio import Redis

from cli.stack.plan import find_free_ports
from services.executor.adapters.redis_sessions import RedisSessions
from services.executor.ports.turns import SessionState, TurnEnd
from shared.contracts.task import TaskEvent
from shared.domain.words import TaskState
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.process import make_parent_death_hook
from shared.infra.redis import connect

_START_SECONDS = 30.0
_TICKS = os.sysconf("SC_CLK_TCK")
_TENANT = "default"


class Server(NamedTuple):
    """``redis``: None for a server that keeps everything in its own memory."""

    name: str
    port: int
    pid: int
    redis: Redis | None = None

    def cpu_ms(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return 1000 * (int(fields[11]) + int(fields[12])) / _TICKS

    def memory_mb(self) -> float:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


@asynccontextmanager
async def serving_both() -> AsyncIterator[tuple[Server, Server]]:
    """Ours, on durable Redis with default settings, and the SDK's."""
    ours, theirs = find_free_ports(2)
    with tempfile.TemporaryDirectory(prefix="purple-bench-") as folder, EmbeddedRedis(Path(folder) / "state") as state:
        settings = {
            "REDIS_URL": state.url,
            "PROFILE": "embedded",
            "A2A_PUSH": "off",
            "DRAIN_SECONDS": "0",
            "MAX_WAITING_SESSIONS": "1000000",
            "LOG_LEVEL": "ERROR",
        }
        gateway = run_module(["services.gateway", "--port", str(ours)], settings)
        sdk = run_module(["tools.bench.gateway.sdk_server", str(theirs)], {})
        redis = connect(state.url)
        with gateway as first, sdk as second:
            try:
                await await_open(ours, first)
                await await_open(theirs, second)
                yield Server("gateway", ours, first.pid, redis), Server("sdk", theirs, second.pid)
            finally:
                await redis.aclose()


@contextmanager
def run_module(
    module: list[str], settings: Mapping[str, str], python: str = sys.executable
) -> Iterator["subprocess.Popen[bytes]"]:
    """``python -m`` with these arguments and settings, ended with its context."""
    process = subprocess.Popen(  # noqa: S603  our own modules
        [python, "-m", *module],
        env={**os.environ, **settings},
        preexec_fn=make_parent_death_hook(),  # noqa: PLW1509  the only way to be told of a parent's kill -9
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def await_open(port: int, process: "subprocess.Popen[bytes]") -> None:
    async with asyncio.timeout(_START_SECONDS):
        while process.poll() is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            return
    raise ChildProcessError(f"a server ended with exit code {process.returncode}")


async def end_turn(redis: Redis, session_id: str, statuses: int = 0) -> None:
    """Ends the session's turn as an executor does, after so many events of progress in one step.

    Raises ``LookupError`` if nothing waits in the session.
    """
    sessions = RedisSessions(redis, owner="bench", lease_seconds=60)
    lease = await sessions.claim(_TENANT, session_id)
    work = await sessions.begin_next_turn(lease) if lease else None
    if lease is None or work is None:
        raise LookupError(f"nothing waits in session {session_id}")
    store, now = sessions.turn_store(lease, work), datetime.now(UTC)
    told = [TaskEvent(kind="state", at=now, data={"state": f"S{number}"}) for number in range(statuses)]
    record = work.record
    if told:
        await store.append((), told, record)
    done = (*record.turns_done, work.turn.turn_id)
    ended = record.model_copy(update={"state": TaskState.COMPLETED, "answer": "done: hello", "turns_done": done})
    await store.finish(TurnEnd(record=ended, session=SessionState()))
