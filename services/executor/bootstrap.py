"""Joins the executor's parts."""

import asyncio
import os
import signal
import socket
from uuid import uuid4

import structlog
from redis.asyncio import Redis

from services.executor.adapters.anthropic_model import AnthropicModel
from services.executor.adapters.file_tenants import FileTenants
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.policy_http import HttpPolicy
from services.executor.adapters.redis_sessions import RedisSessions
from services.executor.adapters.redis_upkeep import RedisUpkeep
from services.executor.core.context import Limits, Ports
from services.executor.core.prompts.texts import load as load_prompts
from services.executor.core.reaper import Reaper
from services.executor.core.runner import Runner, RunnerLimits, RunsTurns
from services.executor.core.worker import Worker
from services.executor.entrypoints.arq_worker import WakeWorker, queue_pool
from services.executor.entrypoints.http import QuietServer, health_app, health_server
from services.executor.entrypoints.upkeep_loop import keep_up
from services.executor.ports import Tier
from services.executor.settings import RunSettings, Settings
from shared.infra.process import tune_gc
from shared.infra.redis import check_durable, connect
from shared.infra.wakes import ArqWakes

log = structlog.get_logger()


async def carry_out_turns(settings: Settings) -> None:
    """The service: the real worker on its ports, until SIGTERM or SIGINT. Also raises ``BadTenantFile``."""
    tenants = FileTenants.read(settings.tenant_file, settings.green_agent_mcp_url)
    limits = Limits(tool_seconds=settings.tool_timeout, task_seconds=settings.task_timeout)
    policy, model = HttpPolicy(settings.policy_url), _model(settings)
    try:
        async with McpTools() as tools:
            await run_sessions(settings, Worker(Ports(model, tools, policy, tenants), limits, load_prompts()))
    finally:
        await policy.close()
        await model.close()


def _model(settings: Settings) -> AnthropicModel:
    return AnthropicModel(
        tiers={Tier.HAIKU: settings.haiku_model, Tier.SONNET: settings.sonnet_model},
        fallbacks=dict.fromkeys(Tier, settings.fallback_model),
        api_key=settings.anthropic_api_key,
        base_url=settings.anthropic_base_url or None,
    )


async def run_sessions(settings: RunSettings, worker: RunsTurns) -> None:
    """Run sessions with that worker until SIGTERM or SIGINT. Raises ``VolatileRedis`` and ``StoreUnavailable``."""
    state, queue = connect(settings.redis_url), connect(settings.queue_url)
    try:
        await check_durable(state, allow_volatile=settings.allow_volatile_redis)
        await _serve(settings, worker, state, ArqWakes(queue))
    finally:
        await state.aclose()
        await queue.aclose()


async def _serve(settings: RunSettings, worker: RunsTurns, state: Redis, wakes: ArqWakes) -> None:
    sessions = RedisSessions(state, _owner(), settings.lease_seconds)
    limits = RunnerLimits(settings.lease_seconds, settings.executor_capacity, settings.turn_attempts)
    runner = Runner(sessions, wakes, worker, limits)
    queue = WakeWorker(queue_pool(settings.queue_url), runner)
    server = health_server(health_app(sessions, runner), settings.host, settings.port)
    stop = _on_signals()
    tune_gc()
    async with asyncio.TaskGroup() as group:
        group.create_task(runner.serve())
        group.create_task(server.serve())
        upkeep = group.create_task(keep_up(Reaper(RedisUpkeep(state), wakes)))
        listening = group.create_task(queue.main())
        await stop.wait()
        await _wind_down(settings, runner, queue, server, upkeep, listening)


async def _wind_down(
    settings: RunSettings, runner: Runner, queue: WakeWorker, server: QuietServer, *loops: asyncio.Task[None]
) -> None:
    """First no more wakes, then the turns that run, last the health port."""
    log.info("stopping", sessions=runner.running)
    for loop in loops:
        loop.cancel()
    await queue.close_quietly()
    await runner.stop(settings.grace_seconds)
    server.should_exit = True


def _on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _owner() -> str:
    """No two processes ever have the same name, not even one after the other."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
