"""Joins what running sessions needs, whatever worker runs them: store, queue, upkeep loops, health pages."""

import asyncio
import itertools
import os
import random
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
from services.executor.adapters.redis_learned import RedisLearnedStore
from services.executor.adapters.redis_sessions import RedisSessions, RedisSlots
from services.executor.adapters.redis_upkeep import Reaper
from services.executor.adapters.shared_texts import SharedTexts
from services.executor.adapters.tool_servers import ConnectedServers
from services.executor.core.process.synthesis import import_processes
from services.executor.core.session.journal import RepairedFaultCounter
from services.executor.core.turn.heartbeat import make_heartbeat_in_thread
from services.executor.core.turn.runner import FairShareSlots, LocalFirstWakes, Runner
from services.executor.core.turn.session_run import RunnerLimits, SessionRunDependencies
from services.executor.entrypoints.arq_worker import WakeWorker, open_queue_pool
from services.executor.ports.services import Tenants
from services.executor.ports.turns import TurnRunner
from services.executor.settings import RunSettings
from shared.contracts.learning_files import LearningFile
from shared.domain import metric_names as names
from shared.infra import side_server
from shared.infra.installation import InstallationGaugeReader
from shared.infra.metrics import GaugeReader, Metrics, MetricsPage, make_metrics_route
from shared.infra.process import freeze_startup_objects, make_stop_event
from shared.infra.redis import connect, require_durable_redis_at_start
from shared.infra.rpc import RpcQueue, serve_imports
from shared.infra.side_server import ServerWithoutSignals, make_side_server
from shared.infra.tenant_records import TenantStops
from shared.infra.wakes import ArqWakes
from shared.ports.archive import Archive
from shared.ports.store import StoreUnavailable

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
        await require_durable_redis_at_start(
            state, allow_volatile=settings.allow_volatile_redis, seconds=settings.redis_start_seconds
        )
        shared = SharedTexts(state)
        wakes = ArqWakes(queue)
        fault_counts = RepairedFaultCounter(metrics)
        owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"  # no later process gets it again
        sessions = RedisSessions(state, owner, settings.lease_seconds, session_archive, shared)
        # A slot lasts longer than its session's lease, so that one slow heartbeat does not give it to a second session.
        slots = FairShareSlots(RedisSlots(state), tenants, wakes, 2 * settings.lease_seconds)
        heartbeat = make_heartbeat_in_thread(lambda: _open_sessions_for_heartbeat(settings, owner))
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
        )
        runner = Runner(dependencies, slots, heartbeat)
        reaper = Reaper(state, LocalFirstWakes(runner, wakes), fault_counts)
        page = MetricsPage(metrics, (InstallationGaugeReader(state), ExecutorGauges(runner, servers)))
        app = build_executor_health_app(
            sessions.ping, runner, fault_counts, lambda: reaper.outcomes_behind, servers, page
        )
        server = make_side_server(app, settings.host, settings.port)
        wake_worker = WakeWorker(open_queue_pool(settings.queue_url), runner, wakes)
        archiver = Archiver(state, archive, shared)
        evictor = Evictor(state, session_archive, settings.session_idle_seconds)
        has_looked = asyncio.Event()
        loops = (
            keep_reaping(reaper, has_looked),
            _keep_copying_tenant_stops(TenantStops(state)),
            _serve_queue(wake_worker, has_looked),
            keep_repeating(archiver.archive_once, "archiving"),
            _keep_evicting(evictor, settings.session_idle_seconds),
            serve_imports(
                RpcQueue(state, "executor"),
                LearningFile.SYNTHESIZED,
                partial(import_processes, RedisLearnedStore(state)),
            ),
        )
        await _serve(settings, runner, wake_worker, server, loops)
    finally:
        await state.aclose()
        await queue.aclose()


@asynccontextmanager
async def _open_sessions_for_heartbeat(settings: RunSettings, owner: str) -> AsyncIterator[RedisSessions]:
    """Yields a second store of this process's sessions, with a connection that is its own."""
    redis = connect(settings.redis_url)
    try:
        yield RedisSessions(redis, owner, settings.lease_seconds)
    finally:
        await redis.aclose()


async def _serve(
    settings: RunSettings,
    runner: Runner,
    queue: WakeWorker,
    server: ServerWithoutSignals,
    loops: Iterable[Coroutine[object, Never, None]],
) -> None:
    """Runs the sessions, the health port and the ``loops`` beside them until a signal; then stops them in order."""
    stop = make_stop_event()
    freeze_startup_objects()
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
    settings: RunSettings,
    runner: Runner,
    queue: WakeWorker,
    server: ServerWithoutSignals,
    loops: Iterable[asyncio.Task[None]],
) -> None:
    """Stops in order: readiness and wakes first, then the running turns, the health port last.

    A second signal changes nothing.
    """
    deadline = asyncio.get_running_loop().time() + settings.grace_seconds
    runner.refuse_new_sessions()
    log.info("shutdown_started", sessions=runner.running_count)
    for loop in loops:
        loop.cancel()
    await queue.drain_and_close()
    await runner.stop(max(0.0, deadline - asyncio.get_running_loop().time()))
    server.should_exit = True


def build_executor_health_app(
    ping_store: Callable[[], Awaitable[None]],
    runner: Runner,
    fault_counts: RepairedFaultCounter,
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

    return side_server.build_health_app(
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


_PAUSE_SECONDS = 1.0
_MOST_IDLE_SECONDS = 30.0
_OUTCOMES_BEHIND_TO_WARN = 10_000  # ended tasks that no learner has applied: somebody should know
_TICKS_BETWEEN_COUNTS, _TICKS_BETWEEN_WARNINGS = 30, 60


async def keep_reaping(reaper: Reaper, has_looked: asyncio.Event) -> None:
    """Runs the reaper until cancelled; ``has_looked`` is set after its first pass, whether that succeeded or failed."""
    numbers = itertools.count()

    async def repair() -> None:
        tick = next(numbers)
        try:
            if woken := await reaper.repair_once():
                log.info("sessions_woken", sessions=woken)
        finally:
            has_looked.set()
        if tick % _TICKS_BETWEEN_COUNTS == 0:
            await reaper.update_outcomes_behind()
        if reaper.outcomes_behind > _OUTCOMES_BEHIND_TO_WARN and tick % _TICKS_BETWEEN_WARNINGS == 0:
            log.warning("outcome_backlog_exceeded", outcomes=reaper.outcomes_behind)

    await keep_repeating(repair, "upkeep")


async def _keep_copying_tenant_stops(stops: TenantStops) -> None:
    """Copies the stops and releases of tenants to all partitions where that is missing, until cancelled."""

    async def copy_stops() -> None:
        if count := await stops.copy_missing_stops():
            log.info("tenant_stops_copied", tenants=count)

    await keep_repeating(copy_stops, "tenant stops")


async def _keep_evicting(evictor: Evictor, idle_seconds: float) -> None:
    """Evicts idle sessions at intervals until cancelled; the shorter ``idle_seconds``, the more often."""

    async def evict_idle() -> None:
        if count := await evictor.evict_once():
            log.info("sessions_evicted", sessions=count)

    seconds = min(_MOST_IDLE_SECONDS, idle_seconds / 2)
    await _sleep_with_jitter(seconds)  # all executors of a roll-out start at once
    await keep_repeating(evict_idle, "eviction", seconds)


async def keep_repeating(one_pass: Callable[[], Awaitable[object]], loop: str, seconds: float = _PAUSE_SECONDS) -> None:
    """Runs passes of a loop until cancelled, about that many ``seconds`` apart, with jitter, so that executors do not
    look all at once. If a pass fails, that is logged with ``loop``, the loop's name.
    """
    while True:
        try:
            await one_pass()
        except StoreUnavailable as error:
            log.warning("background_loop_postponed", loop=loop, error=str(error))
        except Exception as error:  # one bad row must not end the loop, or hold up what else it mends
            log.exception("background_loop_failed", loop=loop, error=repr(error))
        await _sleep_with_jitter(seconds)


async def _sleep_with_jitter(seconds: float) -> None:
    await asyncio.sleep(seconds * random.uniform(0.8, 1.2))  # noqa: S311  # not a secret
