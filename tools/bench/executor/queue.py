"""From accepting a task to starting it: real queue, real store, a separate executor process."""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, aclosing, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from shared.contracts.task import Principal, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.exact_json import Json, dumps, to_exact
from shared.domain.words import A2aVersion
from shared.infra.channel_listener import ChannelListener
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.process import make_parent_death_hook
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from tools.bench.executor.no_work import STARTED, WAIT

TENANT = "bench"
IDLE_ROUNDS = 300
BUSY_ROUNDS = 100
WARM_ROUNDS = 20
SESSIONS = 200
AT_ONCE = 50  # tasks sent side by side while the sessions are filled
SPARE = 100  # sessions beyond those that run
CPU_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
P50_TARGET_MS = 5.0
CPU_TARGET_PERCENT = 2.0
HEARTBEAT_TARGET_PERCENT = 5.0


class QueueFigures(NamedTuple):
    """Milliseconds from the accepting to the beginning script, both on Redis time; CPU of the executor.

    ``busy_``: while so many ``sessions`` run that only wait: what is left then is heartbeats and upkeep.
    """

    idle_p50_ms: float
    idle_p99_ms: float
    idle_cpu_percent: float | None
    busy_p50_ms: float
    busy_p99_ms: float
    sessions: int
    busy_cpu_percent: float | None
    busy_commands_per_second: float
    fsync_p50_ms: float

    @property
    def missed(self) -> list[str]:
        """A sentence for each target that was not met."""
        found = []
        if self.idle_p50_ms >= P50_TARGET_MS:
            found.append(
                f"accept to start on an idle executor: p50 {self.idle_p50_ms} ms, target under {P50_TARGET_MS} ms"
            )
        if self.busy_p50_ms >= P50_TARGET_MS:
            found.append(
                f"{self.sessions} running: accept to start p50 {self.busy_p50_ms} ms, target under {P50_TARGET_MS} ms"
            )
        if self.idle_cpu_percent is not None and self.idle_cpu_percent >= CPU_TARGET_PERCENT:
            found.append(f"idle CPU {self.idle_cpu_percent} %, target under {CPU_TARGET_PERCENT} %")
        if self.busy_cpu_percent is not None and self.busy_cpu_percent >= HEARTBEAT_TARGET_PERCENT:
            target = f"target under {HEARTBEAT_TARGET_PERCENT} %"
            found.append(f"{self.sessions} sessions kept alive: CPU {self.busy_cpu_percent} %, {target}")
        return found


class QueueClient:
    """Does what a gateway does: accept, wake, watch."""

    def __init__(self, store: TaskStore, wakes: ArqWakes) -> None:
        self._store = store
        self._wakes = wakes

    async def send(self, text: str) -> TaskRecord:
        record, turn = _make_task(text)
        await self._store.accept(record, turn, None)
        await self._wakes.wake(TENANT, record.session_id)
        return record

    async def await_event(self, record: TaskRecord, kind: str) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), aclosing(self._store.watch(TENANT, record.task_id)) as events:
            async for _, event in events:
                if event.kind == kind:
                    return

    async def waited_ms(self) -> float:
        """How long one new task waited for its beginning, in ms; raises ``LookupError`` if its record is gone."""
        record = await self.send("go")
        await self.await_event(record, "turn_finished")
        ended = await self._store.get_record(TENANT, record.task_id)
        if ended is None:
            raise LookupError(record.task_id)
        return int(str(ended.metadata["waited_us"])) / 1000

    async def fill(self, sessions: int) -> None:
        """So many sessions that have begun and wait."""
        for first in range(0, sessions, AT_ONCE):
            async with asyncio.TaskGroup() as group:
                for _ in range(min(AT_ONCE, sessions - first)):
                    group.create_task(self._await_start())

    async def _await_start(self) -> None:
        await self.await_event(await self.send(WAIT), STARTED)

    async def measure(self, rounds: int) -> list[float]:
        return [await self.waited_ms() for _ in range(rounds)]


def bench_queue(arguments: Sequence[str]) -> int:
    """Measure and say the figures on stdout; with ``--check``, 1 if a target is missed, each named on stderr."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.executor queue")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="how many run while a new one is measured")
    parser.add_argument("--one-redis", action="store_true", help="the queue beside the state, as without a launcher")
    options = parser.parse_args(arguments)
    with _start_servers(one=options.one_redis) as urls:
        figures = asyncio.run(_measure_with_executor(urls, options.sessions))
    sys.stdout.write(_show_figures(figures, as_json=options.json))
    if not (options.check and figures.missed):
        return 0
    sys.stderr.write("".join(f"Missed: {sentence}\n" for sentence in figures.missed))
    return 1


class RedisUrls(NamedTuple):
    """Where state and queue are kept."""

    state: str
    queue: str


@contextmanager
def _start_servers(*, one: bool) -> Iterator[RedisUrls]:
    """As the launcher arranges them: the queue waits for no disk."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="pa-bench-")))
        state = held.enter_context(EmbeddedRedis(folder / "redis"))
        queue = state if one else held.enter_context(EmbeddedRedis(folder / "queue", is_durable=False))
        yield RedisUrls(state.url, queue.url)


async def _measure_with_executor(urls: RedisUrls, sessions: int) -> QueueFigures:
    with _start_executor(urls, sessions + SPARE) as pid:
        async with _open_client(urls) as client:
            return await _measure_figures(client, pid, urls.state, sessions)


async def _measure_figures(client: QueueClient, pid: int, url: str, sessions: int) -> QueueFigures:
    fsync_ms = await _fsync_ms(url)
    await client.measure(WARM_ROUNDS)
    idle = await client.measure(IDLE_ROUNDS)
    cpu = await _cpu_percent(pid)
    await client.fill(sessions)
    busy = await client.measure(BUSY_ROUNDS)
    before = await _count_commands(url)
    busy_cpu = await _cpu_percent(pid)
    commands = round((await _count_commands(url) - before) / CPU_SECONDS, 1)
    shown = (_percentile(idle, 50), _percentile(idle, 99), cpu, _percentile(busy, 50), _percentile(busy, 99))
    return QueueFigures(*shown, sessions, busy_cpu, commands, fsync_ms)


@asynccontextmanager
async def _open_client(urls: RedisUrls) -> AsyncIterator[QueueClient]:
    state, queue = connect(urls.state), connect(urls.queue)
    try:
        async with ChannelListener(state) as live:
            yield QueueClient(TaskStore(state, live), ArqWakes(queue))
    finally:
        await state.aclose()
        await queue.aclose()


@contextmanager
def _start_executor(urls: RedisUrls, capacity: int) -> Iterator[int]:
    process = subprocess.Popen(  # this interpreter and a module of ours
        [sys.executable, "-m", "tools.bench.executor.no_work"],
        env={
            **os.environ,
            "REDIS_URL": urls.state,
            "QUEUE_REDIS_URL": urls.queue,
            "PORT": "0",
            "GRACE_SECONDS": "0",
            "EXECUTOR_CAPACITY": str(capacity),
        },
        preexec_fn=make_parent_death_hook(),  # noqa: PLW1509  # no thread runs yet
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


async def _fsync_ms(url: str) -> float:
    """What one acknowledged write costs here: accept to start takes several of them one after the other."""
    redis = connect(url)
    loop, took = asyncio.get_running_loop(), []
    for number in range(100):
        began = loop.time()
        await redis.set("pa:queue:probe", number, ex=60)
        took.append((loop.time() - began) * 1000)
    await redis.aclose()
    return _percentile(took, 50)


async def _count_commands(url: str) -> int:
    """How many commands the server has carried out so far, those inside scripts included."""
    redis = connect(url)
    found = await redis.info("stats")
    await redis.aclose()
    return int(found["total_commands_processed"])


async def _cpu_percent(pid: int) -> float | None:
    """Processor time of a process over a few seconds; None where the system does not show it."""
    before = _cpu_seconds(pid)
    await asyncio.sleep(CPU_SECONDS)
    after = _cpu_seconds(pid)
    return None if before is None or after is None else round((after - before) / CPU_SECONDS * 100, 2)


def _cpu_seconds(pid: int) -> float | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _make_task(text: str) -> tuple[TaskRecord, Turn]:
    now = datetime.now(UTC)
    task_id = f"t-{uuid4().hex}"
    caller = Principal(id="bench")
    request = TaskRequest(text=text)
    record = TaskRecord(
        tenant=TENANT,
        task_id=task_id,
        session_id=task_id,
        dialect=A2aVersion.LEGACY,
        requester=caller,
        request=request,
        accepted_at=now,
        updated_at=now,
    )
    turn_id = f"turn-{uuid4().hex}"
    return record, Turn(turn_id=turn_id, task_id=task_id, kind=TurnKind.MESSAGE, principal=caller, received_at=now)


def _percentile(values: Sequence[float], percent: int) -> float:
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 2)


def _show_figures(figures: QueueFigures, *, as_json: bool) -> str:
    rows: dict[str, Json] = {name: to_exact(value) for name, value in figures._asdict().items()}
    rows["missed"] = list(figures.missed)
    if as_json:
        return f"{dumps(rows)}\n"
    return "".join(f"{name:24} {value if isinstance(value, str) else dumps(value)}\n" for name, value in rows.items())
