"""Joins the executor's ports, adapters and worker."""

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from typing import TypeAlias, cast

from services.executor.adapters.credentials import open_credentials
from services.executor.adapters.policy_http import HttpPolicy, RetryingPolicy
from services.executor.adapters.redis_learned import RedisLearned
from services.executor.adapters.resilience import Resilience
from services.executor.adapters.stored_tenants import BadTenantFile, FileTenants, StoredTenants
from services.executor.adapters.tool_servers import open_servers
from services.executor.core.process.synthesis import refuse_bad_builtin_processes
from services.executor.core.session.budget import Ceilings, Tariff
from services.executor.core.session.context import AnswerRules, Limits, Ports, run_with_companion
from services.executor.core.session.journal import JournalLimits
from services.executor.core.states.prompts import Prompts, load_prompts
from services.executor.core.tools.listing import ListBounds
from services.executor.core.tools.toolbox import build_record_keys
from services.executor.entrypoints.tools import (
    CatalogueExists,
    ServerListing,
    ToolsOptions,
    format_report,
    parse_arguments,
    refuse_overwriting,
    write_catalogue_file,
)
from services.executor.hosting import run_sessions
from services.executor.optional_parts import BuildPart, ExecutorPartHost
from services.executor.ports.tools import ToolSilent, ToolUnreachable
from services.executor.ports.turns import TurnRunner
from services.executor.settings import CredentialSettings, ExecutorSettings
from shared.contracts.tenant import Connection, TenantRecord
from shared.domain.model_price import NANOS_PER_DOLLAR
from shared.domain.outgoing import AllowedAddresses
from shared.infra.daily_spend import RedisSpend
from shared.infra.guard import Guard
from shared.infra.metrics import Metrics
from shared.infra.model_prices import read_prices
from shared.infra.model_wrappers import ClosableModel, CountedModel, LazyModel
from shared.infra.parts import load_part
from shared.infra.process import configure_logging
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
    tenants = FileTenants.read(settings.tenant_file, settings.green_agent_mcp_url)
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
            open_credentials(settings.credentials_dir, Guard(settings.addresses_for_operators)) as credentials,
            open_servers(
                settings.addresses_for_tools, credentials, tracer, settings.tool_list_seconds, Resilience(metrics)
            ) as tools,
            AsyncExitStack() as parts,
        ):
            make_tenants = partial(StoredTenants, RedisTenantRecords(redis), tenants, settings.green_agent_mcp_url)
            learned, daily = RedisLearned(redis), RedisSpend(redis)
            counted_model = CountedModel(model, _build_tiers(settings), metrics)
            ports = Ports(counted_model, tools, RetryingPolicy(policy, metrics), make_tenants(0.0), learned, daily)
            ports = ports._replace(tracer=tracer, meter=metrics)
            for name in settings.optional_part_names:
                build_part = cast(BuildPart, load_part("executor", name))
                equip_ports = await parts.enter_async_context(build_part(ExecutorPartHost(settings, redis)))
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


def show_tools(arguments: Sequence[str]) -> int:
    """Prints an endpoint's tools as the worker sees them; returns the exit code. Needs no Redis, model or settings."""
    options = parse_arguments(arguments)
    configure_logging("executor-tools", logging.CRITICAL)  # what went wrong is said in one sentence
    file = options.write_catalogue
    try:
        if file:
            refuse_overwriting(file, options.force)
        listing = asyncio.run(_discover_tools(options))
        if file:
            write_catalogue_file(file, listing, options.force)
    except (BadTenantFile, CatalogueExists) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"The catalogue cannot be written to {file}: {error}\n")
        return 2
    except (ToolUnreachable, ToolSilent) as error:
        sys.stderr.write(f"No tools could be listed at {options.endpoint}: {error}\n")
        return 1
    sys.stdout.write(format_report(options, listing) + "\n")
    return 0


async def _discover_tools(options: ToolsOptions) -> ServerListing:
    tenant = FileTenants.read(options.tenant_file).record if options.tenant_file else TenantRecord(id="default")
    connection = _find_connection(options, tenant)
    async with (
        open_credentials(CredentialSettings().credentials_dir) as credentials,
        open_servers(AllowedAddresses(), credentials) as servers,
    ):
        tools = await servers.discover(connection)
        protocol, is_open = servers.protocol_of(connection), servers.may_have_unlisted_tools(connection)
        keys = build_record_keys(tenant.records, {tool.name: tool for tool in tools})
        return ServerListing(protocol, is_open, tools, connection, keys, tenant.policies)


def _find_connection(options: ToolsOptions, tenant: TenantRecord) -> Connection:
    """The connection to the endpoint from a tenant's record, with its catalogue; else a bare one to the endpoint."""
    fallback = Connection.model_validate({"id": "default", "url": options.endpoint, "protocol": options.protocol})
    endpoint = options.endpoint.rstrip("/")
    known_connections = (connection for connection in tenant.connections if connection.url.rstrip("/") == endpoint)
    return next(known_connections, fallback)


def _build_ceilings(settings: ExecutorSettings) -> Ceilings:
    """The ceilings of a task. Each tier is priced by the dearer of its model and that model's fallback."""
    tiers = {
        Tier.SMALL: (settings.haiku_model, settings.fallback_model),
        Tier.LARGE: (settings.sonnet_model, settings.fallback_model),
    }
    tariff = Tariff(read_prices(settings.model_prices), tiers)
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
