"""Redis killed and started again, short of memory, or its queue gone: nothing acknowledged is lost."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.core.turn.runner import Runner, RunnerLimits
from services.executor.ports.sessions import RunsTurns, Work
from services.executor.ports.turns import JournalEntry, TurnStore
from services.gateway.features.solver.routes import PATH as SOLVER
from services.learner.adapters.redis_outcomes import RedisOutcomes
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import JsonObject, loads_object
from shared.infra import keys
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.live import Live
from shared.infra.redis import check_durable_at_start, connect
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from shared.ports.store import StoreUnavailable
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.redis_tasks import a_record, a_turn
from tests.doubles.runners import a_runner
from tests.http_client import open_http
from tests.integration.executor_process import executor_process
from tests.integration.gateway_stage import at, gateway
from tests.integration.state_stage import accepted, an_end, begin, sessions_of

PATIENCE = 30.0
DOWN_SECONDS = 3.0
STEPS = 60


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    with tempfile.TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder)) as running:
        yield running


@pytest.fixture
def queue() -> Iterator[EmbeddedRedis]:
    with tempfile.TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder), durable=False) as running:
        yield running


@pytest.fixture
async def client(server: EmbeddedRedis) -> AsyncIterator[Redis]:
    redis = connect(server.url)
    yield redis
    await redis.aclose()


@pytest.mark.promise("redis.short_cut")
async def test_a_turn_outlasts_a_restart_of_redis_in_its_first_attempt(server: EmbeddedRedis, client: Redis) -> None:
    """Redis is killed in the middle of the turn's steps and is away for longer than a heart beats."""
    wanted = [JournalEntry(f"k{number}", "note", "{}") for number in range(STEPS)]
    half = asyncio.Event()
    journals: list[tuple[JournalEntry, ...]] = []

    async def steps(work: Work, store: TurnStore) -> None:
        for number, step in enumerate(wanted):
            await store.append([step])
            if number == STEPS // 2:
                half.set()
                await asyncio.sleep(0)
        journals.append(await store.journal())
        await store.finish(an_end(work))

    async with Live(client) as live:
        await accepted(TaskStore(client, live))
    async with _serving(client, Acts(steps)) as runner:
        assert await runner.offer("acme", "s1")
        await half.wait()
        server.kill()
        await asyncio.sleep(DOWN_SECONDS)  # how long the outage lasts
        server.start()
        await runner.idle.wait()
    assert journals == [tuple(wanted)]


@pytest.mark.promise("redis.restart_loses_nothing")
async def test_no_acknowledged_task_is_lost_when_redis_is_killed_under_load(
    server: EmbeddedRedis, client: Redis
) -> None:
    """Sixteen senders accept tasks all the time; whatever was answered is there, with its turn, once."""
    kept: list[str] = []

    async def send(store: TaskStore, sender: int) -> None:
        for number in range(40):
            record = a_record(f"s{sender}-{number}")
            turn = a_turn(record)
            while True:
                try:
                    await store.accept(record, turn, dedupe=None)
                    break
                except StoreUnavailable:
                    await asyncio.sleep(0.05)  # until it is back
            kept.append(record.task_id)

    async with Live(client) as live:
        store = TaskStore(client, live)
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for sender in range(16):
                group.create_task(send(store, sender))
            for _ in range(2):
                before = len(kept)
                while len(kept) < before + 100:
                    await asyncio.sleep(0.005)  # until there is load
                server.kill()
                server.start()
        found = [await store.record("acme", task_id) for task_id in kept]
        inboxes = [await client.llen(keys.session_keys("acme", r.session_id).inbox) for r in found if r]  # type: ignore[misc]  # redis-py's union
    assert len(kept) == len(set(kept)) == 640
    assert inboxes == [1] * 640


@pytest.mark.promise("redis.out_of_memory")
async def test_without_memory_the_gateway_says_try_later_and_nothing_is_half_done(
    server: EmbeddedRedis, client: Redis
) -> None:
    async with (
        gateway(server.url, blocking_limit=0.1) as url,
        open_http(base_url=url, timeout=PATIENCE) as http,
    ):
        await client.ping()
        before = set(await client.keys("*"))
        async with no_memory(client):
            solved = await http.post(SOLVER, json={"task_id": "t0", "task": "Sort: pear, apple"})
            reply = await _send(http, "t1")
            left = set(await client.keys("*"))
        again = await _send(http, "t1")
    assert (solved.status_code, solved.headers["retry-after"]) == (503, "2")
    assert at(reply, "error.code") == -32603
    assert "OutOfMemoryError" in str(at(reply, "error.message"))
    assert left == before
    assert at(again, "result.status.state") == "submitted"


@pytest.mark.promise("ready.refused_writes")
async def test_without_memory_nobody_is_ready_and_with_it_everybody_is_again(
    server: EmbeddedRedis, client: Redis
) -> None:
    """Redis answers every PING meanwhile."""
    learner = RedisOutcomes(client, "learner", 5.0)
    async with (
        gateway(server.url) as url,
        open_http(base_url=url, timeout=PATIENCE) as http,
    ):
        async with no_memory(client):
            assert await client.ping()
            refused = await http.get("/ready")
            for store in (sessions_of(client, "one"), learner):
                with pytest.raises(StoreUnavailable, match="OutOfMemory"):
                    await store.ping()
        ready = await http.get("/ready")
        for store in (sessions_of(client, "one"), learner):
            await store.ping()
    assert (refused.status_code, ready.status_code) == (503, 200)
    assert "OutOfMemoryError" in refused.text


@pytest.mark.promise("redis.out_of_memory")
async def test_a_turn_without_memory_changes_nothing_and_ends_when_there_is_some(
    server: EmbeddedRedis, client: Redis
) -> None:
    async with Live(client) as live:
        record = await accepted(TaskStore(client, live))
        begun = await begin(sessions_of(client, "one"))
        async with no_memory(client):
            with pytest.raises(StoreUnavailable, match="OutOfMemory"):
                await begun.store.append([JournalEntry("k1", "note", "{}")])
            with pytest.raises(StoreUnavailable, match="OutOfMemory"):
                await begun.store.finish(an_end(begun.work))
            await begun.store.pulse()
            assert await begun.store.journal() == ()
        await begun.store.finish(an_end(begun.work))
        stored = await TaskStore(client, live).record("acme", record.task_id)
    assert stored is not None
    assert stored.state.is_terminal


@pytest.mark.promise("redis.queue_may_go")
async def test_tasks_end_though_the_queue_forgets_all_wakes_and_is_restarted(
    server: EmbeddedRedis, client: Redis, queue: EmbeddedRedis
) -> None:
    """Nothing is woken at first: the queue forgets, goes away, and comes back empty."""
    wakes = connect(queue.url)
    async with Live(client) as live:
        store = TaskStore(client, live)
        records = [await accepted(store, f"s{number}") for number in range(5)]
        for record in records:
            await ArqWakes(wakes).wake("acme", record.session_id)
        await wakes.flushall()
        with executor_process(server.url, QUEUE_REDIS_URL=queue.url):
            await _until_ended(store, records[:1])
            queue.kill()
            late = [await accepted(store, f"late{number}") for number in range(5)]
            queue.start()
            await _until_ended(store, [*records, *late])
    await wakes.aclose()


class Acts(RunsTurns):
    def __init__(self, run: Callable[[Work, TurnStore], Awaitable[None]]) -> None:
        self._run = run

    @override
    async def run(self, work: Work, store: TurnStore) -> None:
        await self._run(work, store)


@asynccontextmanager
async def _serving(client: Redis, worker: RunsTurns) -> AsyncIterator[Runner]:
    limits = RunnerLimits()
    runner = a_runner(sessions_of(client, "one", limits.lease_seconds), HeardWakes(), worker, limits)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(runner.serve())
        await asyncio.sleep(0)
        yield runner
        await runner.stop(0.0)


@asynccontextmanager
async def no_memory(client: Redis) -> AsyncIterator[None]:
    await client.config_set("maxmemory", "1mb")
    try:
        yield
    finally:
        await client.config_set("maxmemory", "0")


async def _until_ended(store: TaskStore, records: Sequence[TaskRecord]) -> None:
    async with asyncio.timeout(PATIENCE):
        for record in records:
            while (stored := await store.record("acme", record.task_id)) is None or not stored.state.is_terminal:
                await asyncio.sleep(0.02)  # between two looks


async def _send(http: httpx.AsyncClient, task_id: str) -> JsonObject:
    params = {"id": task_id, "message": {"parts": [{"text": "x"}]}}
    response = await http.post("/", json={"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": params})
    return loads_object(response.text)


@pytest.mark.promise("redis.awaited_at_start")
async def test_a_server_that_comes_back_is_waited_for(tmp_path: Path) -> None:
    """Nobody listens when the process asks first; it goes on as soon as the server is there."""
    server = EmbeddedRedis(tmp_path)
    redis = connect(server.url)
    waiting = asyncio.create_task(check_durable_at_start(redis))
    await asyncio.sleep(0)
    try:
        server.start()
        await waiting
    finally:
        await redis.aclose()
        server.stop()
