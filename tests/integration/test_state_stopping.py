"""Executors that stop, freeze, die or calculate under load: their sessions go on, no step is lost or made twice."""

import asyncio
import signal
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

import httpx
import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs
from structlog.typing import EventDict

from services.executor.adapters.redis_sessions import RedisSessions
from services.executor.core.session.journal import RepairedFaultCounter
from services.executor.core.turn.heartbeat import KeptLease, LeaseKeeper, make_heartbeat_in_thread
from services.executor.core.turn.runner import Runner
from services.executor.core.turn.session_run import RunnerLimits
from services.executor.hosting import build_executor_health_app
from services.executor.ports.turns import HeartbeatResult, Lease, TurnRunner, TurnStore, TurnWork
from shared.contracts.task import TaskRecord, TaskRequest
from shared.domain.words import TaskState
from shared.infra.journal_rows import parse_steps
from shared.infra.keys import partition_keys_of, task_keys
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from tests.doubles.idle_runner import IdleRunner
from tests.doubles.redis_tasks import a_record, a_turn
from tests.forked_service import ForkedService
from tests.http_client import open_http
from tests.integration.executor_process import executor_process
from tests.integration.state_stage import accepted, an_end, running, sessions_of, stored_record
from tools.bench.executor.no_work import STARTED, STEPS, STEPS_OF_A_TURN, WAIT

PATIENCE = 30.0


async def times(store: TaskStore, record: TaskRecord, kind: str, count: int) -> None:
    """Wait until an event of that kind was seen so often."""
    async with asyncio.timeout(PATIENCE), aclosing(store.watch(record.tenant, record.task_id)) as events:
        async for _, event in events:
            count -= event.kind == kind
            if not count:
                return


SESSIONS = 20
GRACE_SECONDS = 3.0
RECOVERY_SECONDS = 10.0


async def _load(redis: Redis, store: TaskStore, text: str) -> list[TaskRecord]:
    """Sessions that have begun."""
    records = [
        a_record(f"s{number}").model_copy(update={"request": TaskRequest(text=text)}) for number in range(SESSIONS)
    ]
    for record in records:
        await store.accept(record, a_turn(record), dedupe=None)
        await ArqWakes(redis).wake("acme", record.session_id)
    await _all(store, records, STARTED, 1)
    return records


async def _all(store: TaskStore, records: list[TaskRecord], kind: str, count: int) -> None:
    await asyncio.gather(*(times(store, record, kind, count) for record in records))


async def _steps(redis: Redis, record: TaskRecord) -> list[str]:
    rows = await redis.xrange(task_keys("acme", record.session_id, record.task_id).journal)
    return [step.key for step in parse_steps(rows)]


async def _check_each_step_once(redis: Redis, store: TaskStore, records: list[TaskRecord], attempts: int) -> None:
    for record in records:
        ended = await stored_record(store, record)
        assert (ended.state, ended.metadata["attempts"]) == (TaskState.COMPLETED, attempts)
        assert await _steps(redis, record) == [str(number) for number in range(STEPS_OF_A_TURN)]


def _wait(process: ForkedService) -> tuple[int, float]:
    began = time.monotonic()
    return process.wait(30), time.monotonic() - began


@pytest.mark.promise("state.drained")
async def test_a_stopped_executors_tasks_end_elsewhere(redis: Redis, redis_url: str, task_store: TaskStore) -> None:
    """In good time and with exit code 0, although the signal comes twice; no attempt is used up, no step repeated."""
    with executor_process(redis_url, LEASE_SECONDS="600", GRACE_SECONDS=str(GRACE_SECONDS)) as first:
        records = await _load(redis, task_store, STEPS)
        with executor_process(redis_url):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
                first.signal(number)
            code, seconds = await asyncio.to_thread(_wait, first)
            await _all(task_store, records, "turn_finished", 1)
    assert (code, seconds < GRACE_SECONDS) == (0, True)
    await _check_each_step_once(redis, task_store, records, attempts=1)


@pytest.mark.promise("state.fenced")
async def test_an_executor_frozen_too_long_writes_nothing(redis: Redis, redis_url: str, task_store: TaskStore) -> None:
    with executor_process(redis_url, LEASE_SECONDS="3") as first:
        records = await _load(redis, task_store, STEPS)
        with executor_process(redis_url, LEASE_SECONDS="3"):
            first.signal(signal.SIGSTOP)
            await _all(task_store, records, STARTED, 2)
            first.signal(signal.SIGCONT)
            await _all(task_store, records, "turn_finished", 1)
        assert first.exit_code is None
    await _check_each_step_once(redis, task_store, records, attempts=2)


@pytest.mark.promise("state.recovery")
async def test_a_killed_executors_turns_run_elsewhere_soon(redis: Redis, redis_url: str, task_store: TaskStore) -> None:
    """With the lease that is the default."""
    with executor_process(redis_url) as first:
        records = await _load(redis, task_store, WAIT)
        port = _free_port()
        with executor_process(redis_url, PORT=str(port)) as second:
            await _ready(port)
            first.signal(signal.SIGKILL)
            async with asyncio.timeout(RECOVERY_SECONDS):
                await _all(task_store, records, STARTED, 2)
            assert second.exit_code is None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _ready(port: int) -> None:
    async with asyncio.timeout(PATIENCE), open_http(trust_env=False) as client:
        while True:
            try:
                if (await client.get(f"http://127.0.0.1:{port}/ready")).is_success:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.05)


async def test_an_executor_that_stops_lives_but_is_not_ready(redis: Redis) -> None:
    runner = IdleRunner(running=3, free=0, stopping=True)
    app = build_executor_health_app(sessions_of(redis, "one").ping, runner, RepairedFaultCounter(), lambda: 0)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://executor") as client:
        ready, health = await client.get("/ready"), await client.get("/health")
    assert (ready.status_code, "stops" in ready.text) == (503, True)
    assert (health.status_code, set(health.json())) == (
        200,
        {"status", "sessions", "free", "mended", "outcomes_behind"},
    )


LEASE_SECONDS = 1.0
LIMITS = RunnerLimits(lease_seconds=LEASE_SECONDS, attempts=1)


class Calculates(TurnRunner):
    """Holds the event loop for longer than two leases, as no turn should."""

    def __init__(self) -> None:
        self.begun = 0

    async def run(self, work: TurnWork, store: TurnStore) -> None:
        self.begun += 1
        until = time.monotonic() + 2.5 * LEASE_SECONDS
        while time.monotonic() < until:
            sum(range(1000))
        await store.finish(an_end(work))


class Waits(TurnRunner):
    def __init__(self) -> None:
        self.begun, self.cancelled = asyncio.Event(), asyncio.Event()

    async def run(self, work: TurnWork, store: TurnStore) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()


@asynccontextmanager
async def _running(redis: Redis, url: str, worker: TurnRunner) -> AsyncIterator[Runner]:
    @asynccontextmanager
    async def leases() -> AsyncIterator[RedisSessions]:
        other = connect(url)
        try:
            yield RedisSessions(other, "one", LEASE_SECONDS)
        finally:
            await other.aclose()

    async with running(redis, worker, LIMITS, heartbeat=make_heartbeat_in_thread(leases)) as runner:
        yield runner


@pytest.mark.promise("state.heartbeat_beside_work")
async def test_a_long_calculation_costs_no_session_a_lease(redis: Redis, redis_url: str, task_store: TaskStore) -> None:
    await accepted(task_store)
    worker = Calculates()
    async with _running(redis, redis_url, worker) as runner:
        assert await runner.offer("acme", "s1")
        await runner.idle.wait()
    assert worker.begun == 1
    assert await redis.xlen(partition_keys_of("acme", "s1").outcomes) == 1
    assert await redis.xlen(partition_keys_of("acme", "s1").dead_turns) == 0


@pytest.mark.promise("state.heartbeat_beside_work")
async def test_a_lease_that_another_took_ends_a_turn_here(redis: Redis, redis_url: str, task_store: TaskStore) -> None:
    """The heart beats in another thread; what it learns there is told to the sessions' own event loop."""
    await accepted(task_store)
    worker = Waits()
    async with _running(redis, redis_url, worker) as runner:
        assert await runner.offer("acme", "s1")
        await worker.begun.wait()
        async for name in redis.scan_iter("pa:*:s:acme:s1:lease"):
            await redis.hset(name, "owner", "somebody else")  # type: ignore[misc]  # redis-py
        await worker.cancelled.wait()


class CountsBeats:
    def __init__(self) -> None:
        self.beats, self.first = 0, asyncio.Event()

    async def extend_all(self, leases: object) -> HeartbeatResult:
        self.beats += 1
        self.first.set()
        return HeartbeatResult()


@pytest.mark.promise("state.heartbeat_beside_work")
async def test_a_process_that_hangs_keeps_no_lease_for_good() -> None:
    """Nobody notes that the sessions' event loop lives, so the heart ceases to beat."""
    keeper, counting = LeaseKeeper(0.03), CountsBeats()
    kept = KeptLease(keeper, Lease("acme", "s1", 1, "one"))
    ways = keeper.keep_until_lost(kept), keeper.keep_extending(counting), keeper.keep_recording_liveness()
    watching, beating, living = map(asyncio.ensure_future, ways)
    with capture_logs() as told:
        await counting.first.wait()
        living.cancel()
        await _is_told(told, 1)
        before = counting.beats
        await _is_told(told, 5)
    for task in (watching, beating):
        task.cancel()
    await asyncio.wait([watching, beating, living])
    assert counting.beats == before


async def _is_told(told: Sequence[EventDict], times: int) -> None:
    """Until the heart has said so often that the sessions hang."""
    async with asyncio.timeout(PATIENCE):
        while [one["event"] for one in told].count("event_loop_blocked") < times:
            await asyncio.sleep(0.01)  # between two looks
