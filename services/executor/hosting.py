"""Joins what running sessions needs, whatever worker runs them: store, queue, upkeep loops, health pages."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Never
from uuid import uuid4

import structlog
from pydantic import JsonValue
from starlette.applications import Starlette

from services.executor.adapters.redis_idle import Archiver, Evictor
from services.executor.adapters.redis_learned import RedisLearned
from services.executor.adapters.redis_sessions import RedisSessions, RedisSlots
from services.executor.adapters.redis_upkeep import Reaper
from services.executor.adapters.shared_texts import SharedTexts
from services.executor.adapters.tool_servers import ConnectedServers
from services.executor.core.process.synthesis import import_processes
from services.executor.core.session.journal import FaultCounts
from services.executor.core.turn.heartbeat import make_heartbeat_in_thread
from services.executor.core.turn.runner import FairShareSlots, LocalFirstWakes, Runner
from services.executor.core.turn.session_run import RunnerLimits, SessionRunDependencies
from services.executor.entrypoints import upkeep_loop
from services.executor.entrypoints.arq_worker import WakeWorker, open_queue_pool
from services.executor.ports.services import Tenants
from services.executor.ports.turns import TurnRunner
from services.executor.settings import RunSettings
from shared.contracts.learning_files import LearningFile
from shared.domain import metric_names as names
from shared.infra import side_server
from shared.infra.installation import InstallationGaugeReader
from shared.infra.metrics import GaugeReader, Metrics, MetricsPage, make_metrics_route
from shared.infra.process import make_stop_event, tune_gc
from shared.infra.redis import check_durable_at_start, connect
from shared.infra.rpc import RpcQueue, serve_imports
from shared.infra.side_server import QuietServer, make_side_server
from shared.infra.tenant_records import TenantStops
from shared.infra.wakes import ArqWakes
from shared.ports.archive import Archive

log = structlog.get_logger()


async def run_sessions(
    settings: RunSettings,
    worker: TurnRunner,
    tenants: Tenants,
    archive: Archive | None,
    session_archive: Archive | None,
    servers: ConnectedServers | None,
    metrics: Metrics,
) -> None:
    """Runs sessions with the given worker until SIGTERM or SIGINT. Raises ``VolatileRedis`` and ``StoreUnavailable``.

    Without ``archive``, ended tasks expire in Redis; without ``session_archive``, idle sessions do.
    """
    state, queue = connect(settings.redis_url), connect(settings.queue_url)
    try:
        await check_durable_at_start(
            state, allow_volatile=settings.allow_volatile_redis, seconds=settings.redis_start_seconds
        )
        shared, wakes, fault_counts = SharedTexts(state), ArqWakes(queue), FaultCounts(metrics)
        owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"  # no later process gets it again
        sessions = RedisSessions(state, owner, settings.lease_seconds, session_archive, shared)
        # A slot outlives its session's lease, lest one slow heartbeat gives a slot to two.
        slots = FairShareSlots(RedisSlots(state), tenants, wakes, 2 * settings.lease_seconds)
        heartbeat = make_heartbeat_in_thread(lambda: _open_leases(settings, owner))
        news = upkeep_loop.PartitionsToArchive()
        limits = RunnerLimits(
            settings.lease_seconds,
            settings.executor_capacity,
            settings.turn_attempts,
            session_seconds=settings.memory_wait_seconds,
        )
        dependencies = SessionRunDependencies(
            sessions,
            wakes,
            worker,
            limits,
            fault_counts,
            metrics,
            news.add_partition_of,
        )
        runner = Runner(dependencies, slots, heartbeat)
        reaper = Reaper(state, LocalFirstWakes(runner, wakes), fault_counts)
        page = MetricsPage(metrics, (InstallationGaugeReader(state), ExecutorGauges(runner, servers)))
        app = health_app(sessions.ping, runner, fault_counts, lambda: reaper.outcomes_behind, servers, page)
        server = make_side_server(app, settings.host, settings.port)
        wake_worker = WakeWorker(open_queue_pool(settings.queue_url), runner, wakes)
        archiver = Archiver(state, archive, shared)
        evictor = Evictor(state, session_archive, settings.session_idle_seconds)
        has_looked = asyncio.Event()
        loops = (
            upkeep_loop.keep_reaping(reaper, has_looked),
            upkeep_loop.keep_copying_tenant_stops(TenantStops(state)),
            _serve_queue(wake_worker, has_looked),
            upkeep_loop.keep_archiving(archiver.archive_once, news),
            upkeep_loop.keep_evicting(evictor.evict_once, settings.session_idle_seconds),
            serve_imports(
                RpcQueue(state, "executor"), LearningFile.SYNTHESIZED, partial(import_processes, RedisLearned(state))
            ),
        )
        await _serve(settings, runner, wake_worker, server, loops)
    finally:
        await state.aclose()
        await queue.aclose()


@asynccontextmanager
async def _open_leases(settings: RunSettings, owner: str) -> AsyncIterator[RedisSessions]:
    """The leases of this process, on a connection that belongs to the caller."""
    redis = connect(settings.redis_url)
    try:
        yield RedisSessions(redis, owner, settings.lease_seconds)
    finally:
        await redis.aclose()


async def _serve(
    settings: RunSettings,
    runner: Runner,
    queue: WakeWorker,
    server: QuietServer,
    loops: Iterable[Coroutine[object, Never, None]],
) -> None:
    """Runs the sessions, the health port and the ``loops`` beside them until a signal; then stops them in order."""
    stop = make_stop_event()
    tune_gc()
    async with asyncio.TaskGroup() as group:
        group.create_task(runner.serve())
        group.create_task(server.serve())
        tasks = [group.create_task(loop) for loop in loops]
        await stop.wait()
        await _stop_in_order(settings, runner, queue, server, tasks)


async def _serve_queue(queue: WakeWorker, has_looked: asyncio.Event) -> None:
    """Takes wakes from the queue, once the reaper has looked for sessions of dead executors."""
    await has_looked.wait()
    await queue.main()


async def _stop_in_order(
    settings: RunSettings, runner: Runner, queue: WakeWorker, server: QuietServer, loops: Iterable[asyncio.Task[None]]
) -> None:
    """Stops in order: readiness and wakes first, then the running turns, the health port last.

    A second signal changes nothing.
    """
    deadline = asyncio.get_running_loop().time() + settings.grace_seconds
    runner.refuse_new_sessions()
    log.info("stopping", sessions=runner.running_count)
    for loop in loops:
        loop.cancel()
    await queue.close_quietly()
    await runner.stop(max(0.0, deadline - asyncio.get_running_loop().time()))
    server.should_exit = True


def health_app(
    ping_store: Callable[[], Awaitable[None]],
    runner: Runner,
    fault_counts: FaultCounts,
    count_behind: Callable[[], int],
    servers: ConnectedServers | None = None,
    metrics: MetricsPage | None = None,
) -> Starlette:
    """The app with the paths for health and metrics.

    ``fault_counts``: repaired faults by kind; ``count_behind``: outcomes not learned yet; ``servers``: tool servers by
    state of their circuit breakers.
    """

    def describe_health() -> dict[str, JsonValue]:
        work = {"sessions": runner.running_count, "free": runner.free_capacity, "outcomes_behind": count_behind()}
        circuits: dict[str, JsonValue] = {"tool_servers": {**servers.circuit_counts}} if servers else {}
        return {**work, "mended": {**fault_counts.counts}, **circuits}

    def why_not_ready() -> str:
        return "the process stops and takes no more sessions" if runner.is_stopping else ""

    return side_server.health_app(
        describe_health, why_not_ready, ping_store, [make_metrics_route(metrics)] if metrics else []
    )


class ExecutorGauges(GaugeReader):
    def __init__(self, runner: Runner, servers: ConnectedServers | None) -> None:
        self._runner, self._servers = runner, servers

    async def set_gauges(self, metrics: Metrics) -> None:
        metrics.set_gauge(names.EXECUTOR_SESSIONS, self._runner.running_count)
        metrics.set_gauge(names.EXECUTOR_FREE, self._runner.free_capacity)
        for state, count in (self._servers.circuit_counts if self._servers else {}).items():
            metrics.set_gauge(names.TOOL_CIRCUITS, count, state=state)
