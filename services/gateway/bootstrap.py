"""Builds the gateway's application from its settings: connections, services, routes and middleware."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import NamedTuple, cast
from uuid import uuid4

import httpx
from fastapi import APIRouter, FastAPI
from redis.asyncio import Redis
from starlette.responses import Response
from starlette.types import ASGIApp

from services.gateway import wiring
from services.gateway.a2a.card import build_agent_card, build_card_routes
from services.gateway.a2a.get_task_fast_path import GetTaskFastPath
from services.gateway.a2a.jsonrpc import JsonRpcEndpoint, JsonRpcFastPath
from services.gateway.a2a.methods import A2aMethods
from services.gateway.a2a.rest import A2aRest, TenantPathMiddleware
from services.gateway.edge.home_redirect import HomeRedirect
from services.gateway.edge.keep_alive import SHUTDOWN_KEY, ShutdownState
from services.gateway.edge.replies import add_error_handlers
from services.gateway.edge.request_limits import OriginGuard, RequestLimiter
from services.gateway.features.approvals.approvals import ApprovalEndpoints, ApprovalService
from services.gateway.features.assessments import AssessmentEndpoints, AssessmentRepository
from services.gateway.features.audit import ArchivedTaskReader, AuditEndpoints, AuditExport
from services.gateway.features.dead_letters import DeadLetterEndpoints, DeadLetters
from services.gateway.features.identity.api_keys import KeyEndpoints
from services.gateway.features.identity.api_paths import build_api_router
from services.gateway.features.identity.middleware import CallerMiddleware
from services.gateway.features.identity.model import Identity
from services.gateway.features.identity.signing_keys import SigningKeys
from services.gateway.features.identity.store import Keyring, RateMeter
from services.gateway.features.learning import LearnedData, LearningEndpoints
from services.gateway.features.made_tools import MadeToolEndpoints, MadeToolRepository
from services.gateway.features.memory import MemoryEndpoints, TenantMemories
from services.gateway.features.records import TenantRecordEndpoints, TenantRecordService, find_policy_problems
from services.gateway.features.services import FeatureServices
from services.gateway.features.solver import SolverEndpoint
from services.gateway.features.streams.routes import TaskAndProbeEndpoints
from services.gateway.features.tasks.intake import TimeAndFreshId
from services.gateway.features.tasks.listing import TaskLists
from services.gateway.features.tasks.service import MessageRules, TaskService
from services.gateway.features.tasks.signals import ResolutionEndpoints, TaskSignals
from services.gateway.features.tasks.store import RedisClientIds, RedisReadiness
from services.gateway.features.tasks.waking_tasks import BestEffortWakes, WakingTasks
from services.gateway.features.tenants import TenantEndpoints, TenantStates
from services.gateway.features.webhooks.routes import WebhookEndpoints
from services.gateway.openapi import DescribedApp, build_docs_page
from services.gateway.optional_parts import BuildPart, GatewayPart, PartHost
from services.gateway.settings import GatewaySettings
from shared.domain.outgoing import addresses_for_operators, addresses_for_tools
from shared.infra.channel_listener import ChannelListener
from shared.infra.counted_app import CountedApp, RequestCounts
from shared.infra.keys import DEDUPE_SECONDS, NOTICES_CHANNEL
from shared.infra.metrics import Metrics
from shared.infra.parts import load_optional_part
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from shared.infra.tenant_records import RedisTenantRecords
from shared.infra.tls import load_client_tls_context
from shared.ports.tracing import NO_TRACER, Tracer


class _Connections(NamedTuple):
    """The connections, which are opened when the application starts and closed when it stops."""

    state: Redis
    queue: Redis
    listener: ChannelListener
    http: httpx.AsyncClient
    signing_keys: SigningKeys | None
    identity: Identity
    metrics: Metrics
    webhooks: wiring.WebhookWiring


def build_shutdown_state(settings: GatewaySettings) -> ShutdownState:
    return ShutdownState(settings.drain_seconds, settings.grace_seconds)


def build_app(settings: GatewaySettings, shutdown: ShutdownState | None = None, tracer: Tracer = NO_TRACER) -> FastAPI:
    """Build the application; its connections are opened when it starts and closed when it stops.

    ``shutdown``: tells the application that the server is stopping; a new one if None.
    """
    shutdown = shutdown or build_shutdown_state(settings)
    opened = _build_connections(settings)
    services = _build_services(settings, opened, shutdown, tracer)
    host = PartHost(settings, opened.state, opened.identity, services, wiring.utc_now)
    parts = [cast(BuildPart, load_optional_part("gateway", name))(host) for name in settings.parts]
    lifespan = _make_lifespan(settings, opened, parts, shutdown)
    app = DescribedApp(title="Purple Agent gateway", docs_url=None, redoc_url=None, lifespan=lifespan)
    add_error_handlers(app)
    rpc = _add_a2a_routes(app, settings, opened, services, shutdown)
    for router in _build_own_routers(settings, opened, services):
        app.router.routes.extend(router.routes)
    for part in parts:
        app.router.routes.extend(part.routes)
    app.add_api_route("/docs", lambda: build_docs_page(app.openapi()), include_in_schema=False, response_model=None)
    app.outermost_app = _add_middleware(app, settings, opened, rpc)
    return app


def _build_connections(settings: GatewaySettings) -> _Connections:
    state, queue = connect(settings.redis_url), connect(settings.queue_url)
    listener = ChannelListener(state)
    metrics = Metrics("gateway")
    is_embedded = settings.profile == "embedded"
    webhooks = wiring.WebhookWiring(settings, state, listener, is_embedded=is_embedded, meter=metrics)
    # Of the environment: a proxy to the issuer is the operator's choice.
    http = httpx.AsyncClient(trust_env=True, verify=load_client_tls_context())
    signing_keys = wiring.build_signing_keys(settings, http)
    identity = wiring.build_identity(settings, RateMeter(state), signing_keys)
    return _Connections(state, queue, listener, http, signing_keys, identity, metrics, webhooks)


def _make_lifespan(
    settings: GatewaySettings, opened: _Connections, parts: Sequence[GatewayPart], shutdown: ShutdownState
) -> Callable[[FastAPI], AbstractAsyncContextManager[dict[str, object]]]:
    state = opened.state
    listener = opened.listener
    webhooks = opened.webhooks

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, object]]:
        notifier = wiring.build_notifier(webhooks, state, settings.card_url)
        deliveries = webhooks.open(settings.model_notice)
        metrics_server = wiring.serve_metrics(settings, state, opened.metrics)
        async with listener, opened.http, deliveries, metrics_server, AsyncExitStack() as stack:
            for part in parts:
                await stack.enter_async_context(part.open())
            async with asyncio.TaskGroup() as group:
                loops = [group.create_task(notifier.run(partial(listener.open_news_event, NOTICES_CHANNEL)))]
                if opened.signing_keys is not None:
                    loops.append(group.create_task(opened.signing_keys.keep_renewed()))
                yield {SHUTDOWN_KEY: shutdown}
                for loop in loops:
                    loop.cancel()
        await state.aclose()
        await opened.queue.aclose()

    return lifespan


def _build_services(
    settings: GatewaySettings, opened: _Connections, shutdown: ShutdownState, tracer: Tracer
) -> FeatureServices:
    """The services that several groups of routes use."""
    state, archive = opened.state, settings.open_task_archive()
    resend_window = settings.message_id_window or DEDUPE_SECONDS
    stored = TaskStore(
        state,
        opened.listener,
        resend_window,
        most_waiting=settings.max_waiting_sessions,
        most_in_session=settings.max_waiting_messages,
    )
    wakes = BestEffortWakes(opened.queue)
    store = WakingTasks(stored, wakes, opened.metrics, tracer)
    rules = MessageRules(
        most_parts=settings.max_parts,
        most_characters=settings.max_text_characters,
        most_metadata=settings.max_metadata_characters,
        tool_addresses=addresses_for_tools(
            settings.tools_allowed_hosts, permits_loopback=settings.profile == "embedded"
        ),
        read_tenant_record=RedisTenantRecords(state).get_current_record,
        files=wiring.build_message_files(settings),
        webhooks=opened.webhooks.service,
        ids_mark_repeats=settings.message_id_window > 0,
    )
    tasks = TaskService(
        tasks=store,
        client_ids=RedisClientIds(state, store),
        take_time_and_id=_make_time_and_fresh_id,
        rules=rules,
        wait_seconds=settings.blocking_limit,
        shutdown=shutdown,
        handle_assessor_message=wiring.build_assessor_message_handler(settings, state, store),
    )
    signals = TaskSignals(store, tasks, _make_time_and_fresh_id)
    return FeatureServices(
        tasks=tasks,
        signals=signals,
        lists=TaskLists(state),
        approvals=ApprovalService(state, signals.send_signal, wiring.utc_now),
        tenants=TenantStates(state),
        learned=LearnedData(state),
        webhooks=opened.webhooks.service,
        dead_letters=DeadLetters(state, TaskStore(state, opened.listener), wakes, wiring.utc_now),
        memory=TenantMemories(state),
        audit=AuditExport(state, stored, TaskLists(state), ArchivedTaskReader(archive) if archive else None),
        assessments=AssessmentRepository(state),
    )


def _add_a2a_routes(
    app: FastAPI, settings: GatewaySettings, opened: _Connections, services: FeatureServices, shutdown: ShutdownState
) -> JsonRpcEndpoint:
    """Add the routes of the A2A protocols, and the gateway's own routes for tasks; returns the JSON-RPC endpoint."""
    identity, card = opened.identity, build_agent_card(settings)
    methods = A2aMethods(services, identity, settings, card)
    rest_endpoint, rpc = A2aRest(methods, settings), JsonRpcEndpoint(methods, settings)
    readiness = RedisReadiness(opened.state, opened.queue, shutdown, allow_volatile=settings.allow_volatile_redis)
    task_paths = TaskAndProbeEndpoints(
        services.tasks, identity, readiness.find_problems, settings.model_notice, rest_endpoint.get_task_in_1_0
    )
    card_paths = build_card_routes(card, wiring.utc_now(), settings)
    # Described like any path; a request takes the short way of ``JsonRpcFastPath``.
    app.add_api_route("/", rpc.__call__, methods=["POST"], response_class=Response, name="jsonrpc")
    for router in (card_paths, rest_endpoint.list_routes(), task_paths.list_routes()):
        app.router.routes.extend(router.routes)
    return rpc


def _build_own_routers(settings: GatewaySettings, opened: _Connections, services: FeatureServices) -> list[APIRouter]:
    """The routers of the gateway's own API, with the services that only they use."""
    identity, state = opened.identity, opened.state
    records = TenantRecordService(
        RedisTenantRecords(state),
        partial(find_policy_problems, settings.policy_url),
        addresses_for_operators(settings.tools_allowed_hosts),
        opened.webhooks.addresses,
        wiring.utc_now,
    )
    endpoints = (
        ResolutionEndpoints(services.signals, settings.model_notice),
        TenantEndpoints(services.tenants),
        DeadLetterEndpoints(services.dead_letters),
        KeyEndpoints(Keyring(state)),
        MadeToolEndpoints(MadeToolRepository(state)),
        MemoryEndpoints(services.memory),
        LearningEndpoints(services.learned),
        TenantRecordEndpoints(records),
        WebhookEndpoints(services.webhooks),
        ApprovalEndpoints(services.approvals),
        AuditEndpoints(services.audit),
        AssessmentEndpoints(services.assessments),
    )
    solver = SolverEndpoint(services.tasks, identity, settings.max_body_bytes)
    return [*map(partial(build_api_router, identity, settings.max_body_bytes), endpoints), solver.list_routes()]


def _add_middleware(
    app: DescribedApp, settings: GatewaySettings, opened: _Connections, rpc: JsonRpcEndpoint
) -> ASGIApp:
    """Wrap the application in its middleware, the innermost first; returns the ASGI app that requests enter."""
    rpc_first = JsonRpcFastPath(app.serve_routes, rpc)  # a call of JSON-RPC needs no look at the routes
    tenant_path = TenantPathMiddleware(rpc_first)  # the tenant that a path begins with
    callers = CallerMiddleware(tenant_path, opened.identity, settings)  # who calls
    origin_guard = None if settings.auth_methods else OriginGuard(callers, settings.card_url)  # no page of another site
    home = HomeRedirect(origin_guard or callers, "/console/" if "console" in settings.parts else "/docs")
    limiter = RequestLimiter(home, settings.request_limits)  # not too large, slow or many
    counted = CountedApp(limiter, opened.metrics)  # counts and times
    counts = RequestCounts(opened.metrics)
    # the same for a usual read, which passes them in one step
    return GetTaskFastPath(counted, rpc.a2a_methods, limiter, origin_guard, callers, opened.identity, counts)


def _make_time_and_fresh_id() -> TimeAndFreshId:
    return TimeAndFreshId(wiring.utc_now(), str(uuid4()))
