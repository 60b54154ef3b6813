"""Joins the service's ports and adapters."""

import asyncio
import os
import socket
from uuid import uuid4

import structlog
from redis.asyncio import Redis

from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.adapters.redis_outcomes import RedisOutcomes
from services.learner.jobs import build_file_jobs, build_memory_jobs
from services.learner.settings import LearnerSettings
from services.learner.workers.health import LearnerGauges, build_learner_health_app
from services.learner.workers.learner import Learner
from services.learner.workers.loops import keep_adjusting_share, keep_learning
from shared.infra.metrics import Metrics, MetricsPage
from shared.infra.process import freeze_startup_objects, make_stop_event
from shared.infra.redis import connect, require_durable_redis_at_start
from shared.infra.side_server import make_side_server
from shared.ports.store import StoreUnavailable
from shared.ports.tracing import NO_TRACER, Tracer

log = structlog.get_logger()


async def run_learner(settings: LearnerSettings, tracer: Tracer = NO_TRACER) -> None:
    """Runs the service until SIGTERM or SIGINT. Raises ``CannotStart``, ``VolatileRedis`` and ``StoreUnavailable``."""
    redis = connect(settings.redis_url)
    try:
        await require_durable_redis_at_start(
            redis, allow_volatile=settings.allow_volatile_redis, seconds=settings.redis_start_seconds
        )
        await _serve(settings, redis, tracer)
    finally:
        await redis.aclose()


async def _serve(settings: LearnerSettings, redis: Redis, tracer: Tracer) -> None:
    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"  # unique to this process
    outcomes = RedisOutcomes(redis, owner, settings.lease_seconds)
    learner = Learner(outcomes, RedisLessons(redis), tracer)
    metrics = Metrics("learner")
    memory = build_memory_jobs(settings, redis, owner, settings.lease_seconds, learner, metrics)
    files = build_file_jobs(settings, redis)
    page = MetricsPage(metrics, (LearnerGauges(learner, memory.describe_status),))
    server = make_side_server(
        build_learner_health_app(outcomes.ping, learner, files.seeding, memory.describe_status, page),
        settings.host,
        settings.port,
    )
    every = settings.lease_seconds / 3
    stop = make_stop_event()
    freeze_startup_objects()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        sharing = group.create_task(keep_adjusting_share(learner, every))
        consuming = group.create_task(keep_learning(learner, outcomes, every, stop))
        remembering = group.create_task(memory.run(learner, every, stop))
        filing = group.create_task(files.run())
        await stop.wait()
        log.info("shutdown_started", partitions=len(learner.partitions))
        sharing.cancel()
        filing.cancel()
        await consuming
        await remembering
        await files.close()
        await _release_partitions(learner, outcomes)
        server.should_exit = True


async def _release_partitions(learner: Learner, outcomes: RedisOutcomes) -> None:
    """Releases the partitions, so that other learners take over at once instead of waiting for the locks to expire."""
    try:
        await learner.release_partitions()
        await outcomes.remove_from_learners()
    except StoreUnavailable as error:
        log.warning("partitions_not_released", error=str(error))
