"""Joins the executor's ports, adapters and worker."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from typing import TypeAlias, cast

from services.executor.adapters.credentials import open_credentials
from services.executor.adapters.policy_http import HttpPolicy, RetryingPolicy
from services.executor.adapters.redis_learned import RedisLearnedStore
from services.executor.adapters.resilience import Resilience
from services.executor.adapters.stored_tenants import FileTenants, StoredTenants
from services.executor.adapters.tool_servers import open_servers
from services.executor.core.process.synthesis import refuse_bad_builtin_processes
from services.executor.core.session.budget import Ceilings, Tariff
from services.executor.core.session.context import AnswerRules, Limits, Ports, run_with_companion
from services.executor.core.session.journal import JournalLimits
from services.executor.core.states.prompts import Prompts, load_prompts
from services.executor.core.tools.listing import ListBounds
from services.executor.hosting import run_sessions
from services.executor.optional_parts import ExecutorPartHost, OpenPart
from services.executor.ports.turns import TurnRunner
from services.executor.settings import ExecutorSettings
from shared.domain.model_price import NANOS_PER_DOLLAR
from shared.infra.daily_spend import RedisSpend
from shared.infra.guard import AddressGuard
from shared.infra.metrics import Metrics
from shared.infra.model_prices import load_prices
from shared.infra.model_wrappers import ClosableModel, CountedModel, LazyModel
from shared.infra.parts import load_optional_part
from shared.infra.redis import connect
from shared.infra.tenant_records import RedisTenantRecords
from shared.ports.models import Tier
from shared.ports.tracing import NO_TRACER, Tracer

_SDK_LOAD_DELAY_SECONDS = 1.0  # of a start, before the model's SDK is loaded beside what the service does
_SESSION_CAP_CACHE_SECONDS = 5.0  # for which a tenant's cap of sessions is believed to be what it was

WorkerFactory: TypeAlias = Callable[[Ports, Limits, Prompts], TurnRunner]


async def run_executor(settings: ExecutorSettings, worker: WorkerFactory, tracer: Tracer = NO_TRACER) -> None:
    """Runs the service until SIGTERM or SIGINT. Raises ``BadTenantFile`` among others.

    ``worker``: the ``Worker`` class of ``core/turn/worker.py``, passed in by ``__main__`` (decision 81).
    """
    tenants = FileTenants.read_file(settings.tenant_file, settings.green_agent_mcp_url)
    bounds = JournalLimits(settings.journal_steps, settings.journal_bytes)
    limits = Limits(
        tool_seconds=settings.tool_timeout,
        task_seconds=settings.task_timeout,
        rest_seconds=settings.task_deadline,
        strategies=settings.strategies,
        audit=settings.compute_audit,
        orchestrators=settings.orchestrators,
        answers=AnswerRules(settings.quality_formula, settings.answer_footer),
        iterations=settings.max_iterations,
        tool_calls=settings.max_tool_calls,
        translator=settings.haiku_model,
        trusts_requests=settings.profile == "embedded",
        journal=bounds,
        lists=ListBounds(settings.list_pages, settings.list_rows, settings.list_bytes),
        ceilings=_build_ceilings(settings),
        file_characters=settings.file_characters,
        practice_servers=settings.practice_servers,
    )
    refuse_bad_builtin_processes()
    policy = HttpPolicy(settings.policy_url, tracer=tracer)
    model = _build_model(settings, tracer)
    metrics = Metrics("executor")
    redis = connect(settings.redis_url)
    try:
        async with (
            open_credentials(settings.credentials_dir, AddressGuard(settings.addresses_for_operators)) as credentials,
            open_servers(
                settings.addresses_for_tools, credentials, tracer, settings.tool_list_seconds, Resilience(metrics)
            ) as tools,
            AsyncExitStack() as parts,
        ):
            make_tenants = partial(StoredTenants, RedisTenantRecords(redis), tenants, settings.green_agent_mcp_url)
            learned, daily = RedisLearnedStore(redis), RedisSpend(redis)
            counted_model = CountedModel(model, _build_tiers(settings), metrics)
            ports = Ports(counted_model, tools, RetryingPolicy(policy, metrics), make_tenants(0.0), learned, daily)
            ports = ports._replace(tracer=tracer, meter=metrics)
            for name in settings.optional_part_names:
                open_part = cast(OpenPart, load_optional_part("executor", name))
                equip_ports = await parts.enter_async_context(open_part(ExecutorPartHost(settings, redis)))
                ports = equip_ports(ports)
            archive, session_archive = settings.open_task_archive(), settings.open_session_archive()
            runner = worker(ports, limits, load_prompts())
            sessions = run_sessions(
                settings, runner, make_tenants(_SESSION_CAP_CACHE_SECONDS), archive, session_archive, tools, metrics
            )
            await run_with_companion(sessions, _load_sdk_after_delay())
    finally:
        await redis.aclose()
        await policy.close()
        await model.close()


async def _load_sdk_after_delay() -> None:
    """Imports the model's SDK after a pause: the first task does not wait for it, and other processes start first."""
    await asyncio.sleep(_SDK_LOAD_DELAY_SECONDS)
    await asyncio.to_thread(import_module, "shared.infra.anthropic_model")


def _build_ceilings(settings: ExecutorSettings) -> Ceilings:
    """The ceilings of a task. Each tier is priced by the dearer of its model and that model's fallback."""
    tiers = {
        Tier.SMALL: (settings.haiku_model, settings.fallback_model),
        Tier.LARGE: (settings.sonnet_model, settings.fallback_model),
    }
    tariff = Tariff(load_prices(settings.model_prices), tiers)
    return Ceilings(settings.task_tokens, int(settings.task_money * NANOS_PER_DOLLAR), tariff)


def choose_fallback_models(settings: ExecutorSettings) -> dict[Tier, str]:
    """The fallback model of each tier's model. The smaller model is never the fallback of one that plans writes."""
    is_small = settings.fallback_model == settings.haiku_model
    return {tier: settings.fallback_model for tier in Tier if not (is_small and tier is Tier.LARGE)}


def _build_tiers(settings: ExecutorSettings) -> dict[Tier, str]:
    return {Tier.SMALL: settings.haiku_model, Tier.LARGE: settings.sonnet_model}


def _build_model(settings: ExecutorSettings, tracer: Tracer) -> LazyModel:
    def load() -> ClosableModel:
        from shared.infra.anthropic_model import AnthropicModel, ModelLimits  # the SDK takes long to load

        return AnthropicModel(
            tiers=_build_tiers(settings),
            fallbacks=choose_fallback_models(settings),
            api_key=settings.anthropic_api_key,
            base_url=settings.anthropic_base_url or None,
            limits=ModelLimits(seconds=settings.model_timeout),
            tracer=tracer,
            sends_trace=settings.traceparent_to_model,
        )

    return LazyModel(load)
