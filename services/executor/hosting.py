"""Joins what running sessions needs, whatever worker runs in them: store, queue, upkeep, health."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import structlog
from redis.asyncio import Redis

from services.executor.adapters.redis_ended import RedisEndedTasks
from services.executor.adapters.redis_idle import RedisIdleSessions
from services.executor.adapters.redis_learned import RedisLearned
from services.executor.adapters.redis_sessions import RedisSessions, RedisSlots
from services.executor.adapters.redis_upkeep import RedisUpkeep, name_owner
from services.executor.adapters.shared_texts import SharedTexts
from services.executor.core.process.synthesis import import_processes
from services.executor.core.turn.fair_share import Shares
from services.executor.core.turn.heartbeat import Beats
from services.executor.core.turn.runner import Runner, RunnerLimits
from services.executor.core.turn.upkeep import Archiver, Evictor, FaultCounts, NearFirst, Reaper
from services.executor.entrypoints import upkeep_loop
from services.executor.entrypoints.arq_worker import WakeWorker, queue_pool
from services.executor.entrypoints.heartbeat_thread import beats_in_thread
from services.executor.entrypoints.http import Circuits, ExecutorGauges, health_app
from services.executor.ports.policy import Tenants
from services.executor.ports.sessions import RunsTurns, SessionSlots
from services.executor.ports.upkeep import Upkeep
from services.executor.settings import RunSettings
from shared.contracts.learning_files import LearningFile
from shared.infra.installation import InstallationReading
from shared.infra.metrics import Metrics, MetricsPage
from shared.infra.process import set_on_signals, tune_gc
from shared.infra.redis import connect, until_durable
from shared.infra.rpc import RpcQueue, keep_importing
from shared.infra.side_server import QuietServer, side_server
from shared.infra.tenant_records import TenantStops
from shared.infra.wakes import ArqWakes
from shared.ports.archive import Archive

log = structlog.get_logger()


async def run_sessions(
    settings: RunSettings,
    worker: RunsTurns,
    archive: Archive | None = None,
    tenants: Tenants | None = None,
    memories: Archive | None = None,
    servers: Circuits | None = None,
    metrics: Metrics | None = None,
) -> None:
    """Run sessions with that worker until SIGTERM or SIGINT. Raises ``VolatileRedis`` and ``StoreUnavailable``.

    Without an archive ended tasks leave when their time in Redis is over; without ``memories``, which is the archive of
    what idle sessions remember, that stays there for its time; without ``tenants`` nobody has a cap.
    """
    state, queue = connect(settings.redis_url), connect(settings.queue_url)
    try:
        await until_durable(state, allow_volatile=settings.allow_volatile_redis, seconds=settings.redis_start_seconds)
        shared = SharedTexts(state)
        archiver = Archiver(RedisEndedTasks(state, shared), archive)
        evictor = Evictor(RedisIdleSessions(state), memories, settings.session_idle_seconds)
        owner = name_owner()
        sessions = RedisSessions(state, owner, settings.lease_seconds, memories, shared)
        beats = beats_in_thread(lambda: _leases(settings, owner))
        upkeep = RedisUpkeep(state, owner)
        parts = (archiver, tenants, evictor, sessions, upkeep, beats, servers, metrics)
        await _serve(settings, worker, state, ArqWakes(queue), *parts)
    finally:
        await state.aclose()
        await queue.aclose()


@asynccontextmanager
async def _leases(settings: RunSettings, owner: str) -> AsyncIterator[RedisSessions]:
    """The leases of this process over a connection that belongs to the caller."""
    redis = connect(settings.redis_url)
    try:
        yield RedisSessions(redis, owner, settings.lease_seconds)
    finally:
        await redis.aclose()


async def _serve(
    settings: RunSettings,
    worker: RunsTurns,
    state: Redis,
    wakes: ArqWakes,
    archiver: Archiver,
    tenants: Tenants | None,
    evictor: Evictor,
    sessions: RedisSessions,
    mending: Upkeep,
    beats: Beats,
    servers: Circuits | None,
    metrics: Metrics | None,
) -> None:
    news, plan = (
        upkeep_loop.ArchiveNews(),
        upkeep_loop.UpkeepPlan(min(upkeep_loop.SWEEP_SECONDS, settings.lease_seconds / 2)),
    )
    limits = RunnerLimits(
        settings.lease_seconds,
        settings.executor_capacity,
        settings.turn_attempts,
        memory_seconds=settings.memory_wait_seconds,
    )
    mended = FaultCounts()
    slots = _slots(settings, state, wakes, tenants)
    runner = Runner(sessions, wakes, worker, limits, mended, slots, beats, (news, plan))
    reaper = Reaper(mending, NearFirst(runner, wakes), mended)
    queue = WakeWorker(queue_pool(settings.queue_url), runner, wakes)
    page = MetricsPage(
        metrics or Metrics("executor"), (InstallationReading(state), ExecutorGauges(runner, mended, servers))
    )
    server = side_server(health_app(sessions, runner, mended, reaper, servers, page), settings.host, settings.port)
    stop = set_on_signals()
    tune_gc()
    async with asyncio.TaskGroup() as group:
        group.create_task(runner.serve())
        group.create_task(server.serve())
        looked_once = asyncio.Event()
        upkeep = group.create_task(upkeep_loop.keep_up(reaper, plan, looked_once))
        stopping = group.create_task(upkeep_loop.keep_stops_spread(TenantStops(state)))
        listening = group.create_task(_listen(queue, looked_once))
        archiving = group.create_task(upkeep_loop.keep_archived(archiver, news))
        evicting = group.create_task(upkeep_loop.keep_idle_away(evictor, settings.session_idle_seconds))
        import_file = partial(import_processes, RedisLearned(state))
        importing = group.create_task(
            keep_importing(RpcQueue(state, "executor"), LearningFile.SYNTHESIZED, import_file)
        )
        await stop.wait()
        await _wind_down(settings, runner, queue, server, upkeep, listening, archiving, stopping, evicting, importing)


async def _listen(queue: WakeWorker, looked_once: asyncio.Event) -> None:
    """Takes wakes from the queue, once what dead executors left behind has been taken up."""
    await looked_once.wait()
    await queue.main()


def _slots(settings: RunSettings, state: Redis, wakes: ArqWakes, tenants: Tenants | None) -> SessionSlots | None:
    """The tenants' slots; None without tenants. A slot outlives its session's lease, lest one slow heartbeat gives a
    slot to two.
    """
    if tenants is None:
        return None
    return Shares(RedisSlots(state), tenants, wakes, 2 * settings.lease_seconds)


async def _wind_down(
    settings: RunSettings, runner: Runner, queue: WakeWorker, server: QuietServer, *loops: asyncio.Task[None]
) -> None:
    """Stops in order: no longer ready and no more wakes, then the running turns, last the health port.

    A second signal changes nothing.
    """
    ends = asyncio.get_running_loop().time() + settings.grace_seconds
    runner.refuse_new_sessions()
    log.info("stopping", sessions=runner.running)
    for loop in loops:
        loop.cancel()
    await queue.close_quietly()
    await runner.stop(max(0.0, ends - asyncio.get_running_loop().time()))
    server.should_exit = True
