"""Executors that stop, freeze or die under load: their sessions go on elsewhere, no step is lost or made twice."""

import asyncio
import signal
import socket
import time

import httpx
import pytest
from redis.asyncio import Redis

from services.executor.core.turn.reaper import FaultCounts
from services.executor.entrypoints.http import health_app
from shared.contracts.task import TaskRecord, TaskRequest
from shared.domain.words import TaskState
from shared.infra.journal_rows import read_rows
from shared.infra.keys import task_keys
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from tests.doubles.idle_runner import IdleRunner
from tests.doubles.redis_tasks import a_record, a_turn
from tests.forked_service import ForkedService
from tests.http_client import open_http
from tests.integration.executor_process import executor_process
from tests.integration.state_stage import sessions_of
from tests.integration.task_events import PATIENCE, times
from tools.bench.executor.no_work import STARTED, STEPS, STEPS_OF_A_TURN, WAIT

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
    return [step.key for step in read_rows(rows)]


async def _check_each_step_once(redis: Redis, store: TaskStore, records: list[TaskRecord], attempts: int) -> None:
    for record in records:
        ended = await store.record("acme", record.task_id)
        assert ended is not None
        assert (ended.state, ended.metadata["attempts"]) == (TaskState.COMPLETED, attempts)
        assert await _steps(redis, record) == [str(number) for number in range(STEPS_OF_A_TURN)]


def _wait(process: ForkedService) -> tuple[int, float]:
    began = time.monotonic()
    return process.wait(30), time.monotonic() - began


@pytest.mark.promise("state.drained")
async def test_a_stopped_executor_ends_its_steps_and_its_tasks_end_elsewhere(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
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
async def test_an_executor_that_was_frozen_longer_than_its_lease_writes_nothing_when_it_wakes(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
    with executor_process(redis_url, LEASE_SECONDS="1") as first:
        records = await _load(redis, task_store, STEPS)
        with executor_process(redis_url, LEASE_SECONDS="1"):
            first.signal(signal.SIGSTOP)
            await _all(task_store, records, STARTED, 2)
            first.signal(signal.SIGCONT)
            await _all(task_store, records, "turn_finished", 1)
        assert first.exit_code is None
    await _check_each_step_once(redis, task_store, records, attempts=2)


@pytest.mark.promise("state.recovery")
async def test_the_turns_of_a_killed_executor_run_elsewhere_within_ten_seconds(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
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
    app = health_app(sessions_of(redis, "one").ping, runner, FaultCounts(), lambda: 0)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://executor") as client:
        ready, health = await client.get("/ready"), await client.get("/health")
    assert (ready.status_code, "stops" in ready.text) == (503, True)
    assert (health.status_code, set(health.json())) == (
        200,
        {"status", "sessions", "free", "mended", "outcomes_behind"},
    )
