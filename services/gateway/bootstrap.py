"""Where ports and adapters meet."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from secrets import token_hex
from time import monotonic
from typing import NamedTuple
from uuid import uuid4

from fastapi import FastAPI
from starlette.responses import Response

from services.gateway.a2a.card import ExtendedCard, TenantBook, agent_card, card_routes
from services.gateway.a2a.faults import speak_plainly
from services.gateway.a2a.hot_reads import HotReads, ReadChecks
from services.gateway.a2a.jsonrpc import JsonRpcEndpoint, RpcFirst
from services.gateway.a2a.legacy import LegacyMethods
from services.gateway.a2a.methods import A2aMethods
from services.gateway.a2a.parts import A2aParts
from services.gateway.a2a.profile import GatewayProfile
from services.gateway.a2a.rest import A2aRest
from services.gateway.a2a.tenant_path import TenantPath
from services.gateway.edge.drain import Drain
from services.gateway.edge.leaving import Leaving
from services.gateway.edge.own_pages import OwnPages
from services.gateway.edge.threshold import RequestLimiter
from services.gateway.features.approvals.routes import ApprovalEndpoints
from services.gateway.features.approvals.service import ApprovalService
from services.gateway.features.approvals.store import RedisApprovals
from services.gateway.features.assessments.routes import AssessmentEndpoints
from services.gateway.features.assessments.service import AssessmentService
from services.gateway.features.assessments.store import RedisAssessments
from services.gateway.features.audit.routes import AuditEndpoints
from services.gateway.features.audit.service import AuditService
from services.gateway.features.audit.store import ArchivedAudit, RedisAudit
from services.gateway.features.dead_letters.routes import DeadLetterEndpoints
from services.gateway.features.dead_letters.service import DeadLetterService
from services.gateway.features.dead_letters.store import RedisDeadLetters
from services.gateway.features.identity.api_keys import KeyService
from services.gateway.features.identity.middleware import CallerMiddleware
from services.gateway.features.identity.model import Identity
from services.gateway.features.identity.own_paths import OwnPaths
from services.gateway.features.identity.routes import KeyEndpoints
from services.gateway.features.identity.store import RedisKeyring, RedisMeter
from services.gateway.features.learning.routes import LearningEndpoints
from services.gateway.features.learning.service import LearningFileService
from services.gateway.features.learning.store import RedisLearningFiles, RedisStatistics
from services.gateway.features.made_tools.routes import MadeToolEndpoints
from services.gateway.features.made_tools.service import MadeToolService
from services.gateway.features.made_tools.store import RedisWorkshop
from services.gateway.features.memory.routes import MemoryEndpoints
from services.gateway.features.memory.service import MemoryService
from services.gateway.features.memory.store import RedisForgets, RedisMemories
from services.gateway.features.records.policy_check import HttpPolicyCheck, NoPolicyCheck
from services.gateway.features.records.routes import RecordEndpoints
from services.gateway.features.records.service import Addresses, RecordService
from services.gateway.features.services import FeatureServices
from services.gateway.features.solver.routes import SolverEndpoint
from services.gateway.features.streams.routes import RestEndpoints
from services.gateway.features.tasks.guarded_tasks import BestEffortWakes, CountedTasks, SheddingTasks, traced_tasks
from services.gateway.features.tasks.listing import TaskListService
from services.gateway.features.tasks.model import Readiness
from services.gateway.features.tasks.readiness import LeavingReadiness, RedisReadiness
from services.gateway.features.tasks.routes import resolve_routes
from services.gateway.features.tasks.service import Rules, TaskService
from services.gateway.features.tasks.store import (
    RedisStories,
    RedisTaskLists,
    RedisThreads,
    StoredEndpoints,
)
from services.gateway.features.tenants.routes import TenantEndpoints
from services.gateway.features.tenants.service import TenantService
from services.gateway.features.tenants.store import RedisSpending, RedisTenants
from services.gateway.features.webhooks.routes import WebhookEndpoints
from services.gateway.features.webhooks.service import WebhookService
from services.gateway.first_key import fresh
from services.gateway.openapi.document import DescribedApp
from services.gateway.optional_parts import BuildPart, PartHost
from services.gateway.settings import GatewaySettings
from services.gateway.wiring import (
    IdentityWiring,
    MetricsWiring,
    WebhookWiring,
    message_files,
    noticing,
    participation,
)
from shared.domain.outgoing import operators_reach
from shared.infra.counted_app import CountedApp
from shared.infra.keys import DEDUPE_SECONDS
from shared.infra.live import Live
from shared.infra.parts import PartGroup
from shared.infra.reads import Reads
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from shared.infra.tenant_records import RedisTenantRecords
from shared.infra.wakes import ArqWakes
from shared.ports.tracing import NO_TRACER, Tracer


class _Backing(NamedTuple):
    """What the paths of the protocols stand on."""

    desk: TaskService
    lists: TaskListService
    identity: Identity
    readiness: Readiness
    book: TenantBook


class _A2aBindings(NamedTuple):
    rpc: JsonRpcEndpoint
    methods: A2aMethods


def _add_a2a_routes(app: FastAPI, backing: _Backing, face: GatewayProfile) -> _A2aBindings:
    """Paths that more than one protocol shares stand here once; the first that fits a path answers."""
    desk, identity = backing.desk, backing.identity
    abilities = face.abilities._replace(
        push=face.abilities.push and desk.webhooks is not None, files=desk.files.offered
    )
    push = WebhookService(desk, desk.webhooks if abilities.push else None)
    card = agent_card(face._replace(abilities=abilities))
    extended = ExtendedCard(card, backing.book, face.keys)
    parts = A2aParts(desk, backing.lists, identity, push, extended, face.notice, abilities)
    methods = A2aMethods(parts)
    rest, rpc = A2aRest(methods, face), JsonRpcEndpoint(methods, LegacyMethods(parts), face)
    own = RestEndpoints(desk, identity, backing.readiness, face.notice, rest.task)
    app.add_api_route("/", rpc.__call__, methods=["POST"], response_class=Response, name="jsonrpc")
    for routes in (card_routes(card, _now(), face.card.usual, face.keys), rest.routes(), own.routes()):
        app.include_router(routes)
    return _A2aBindings(rpc, methods)


def leaving_of(settings: GatewaySettings) -> Leaving:
    return Leaving(settings.drain_seconds, settings.grace_seconds)


def build(settings: GatewaySettings, leaving: Leaving | None = None, tracer: Tracer = NO_TRACER) -> FastAPI:
    """The application; its connections are opened when it starts and closed when it stops.

    ``leaving`` is told when that comes.
    """
    leaving = leaving or leaving_of(settings)
    state, queue = connect(settings.redis_url), connect(settings.queue_redis_url or settings.redis_url)
    live, reads = Live(state), Reads(state, settings.redis_url)
    resend_window = settings.message_id_window or DEDUPE_SECONDS
    store = traced_tasks(TaskStore(state, live, resend_window, settings.max_waiting_sessions), tracer)
    keyring = RedisKeyring(state)
    doorway = IdentityWiring(settings, RedisMeter(state), _now)
    identity = doorway.identity
    counting = MetricsWiring(settings, state)
    meter = counting.metrics
    push = WebhookWiring(settings, state, live, _now, embedded=settings.profile == "embedded", meter=meter)
    tasks = CountedTasks(SheddingTasks(store, monotonic), meter)
    wakes = BestEffortWakes(ArqWakes(queue))
    desk = TaskService(
        tasks=tasks,
        wakes=wakes,
        threads=RedisThreads(state, reads),
        clock=_now,
        new_id=lambda: str(uuid4()),
        rules=_rules(settings)._replace(own_endpoints=StoredEndpoints(RedisTenantRecords(state))),
        webhooks=push.book,
        leaving=leaving,
        participating=participation(settings, state, tasks, wakes, _now),
        files=message_files(settings),
    )

    lists = TaskListService(RedisTaskLists(state))
    inbox = ApprovalService(RedisApprovals(state), desk, _now)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        telling = noticing(push, state, live, settings.card_url, _now)
        delivering = push.open(settings.model_notice)
        async with live, doorway.open(), delivering, telling, counting.open(), AsyncExitStack() as opened:
            for part in optional:
                await opened.enter_async_context(part.open())
            yield
        reads.close()
        await state.aclose()
        await queue.aclose()

    readiness = LeavingReadiness(RedisReadiness(state, queue, allow_volatile=settings.allow_volatile_redis), leaving)
    face = GatewayProfile(
        settings.card_url, settings.model_notice, settings.max_body_bytes, abilities=settings.abilities
    )
    face = face._replace(card=settings.card_facts, keys=settings.card_keys, max_message=settings.message_bytes)
    tenants = TenantService(RedisTenants(state), _now)
    statistics = RedisStatistics(state)
    book = TenantBook(RedisTenantRecords(state), RedisWorkshop(state), statistics)
    app = DescribedApp(title="Purple Agent gateway", docs_url=None, redoc_url=None, lifespan=lifespan)
    speak_plainly(app)
    rpc, methods = _add_a2a_routes(app, _Backing(desk, lists, identity, readiness, book), face)
    own = OwnPaths(identity, face.max_body)
    app.include_router(resolve_routes(desk, face.notice, own))
    app.include_router(TenantEndpoints(tenants).routes(own))
    app.include_router(SolverEndpoint(desk, identity, face.max_body).routes())
    callers = CallerMiddleware(TenantPath(RpcFirst(app.serve_routes, rpc)), identity, doorway.watch)
    own_pages = None if settings.ways else OwnPages(callers, settings.card_url)
    limiter = RequestLimiter(own_pages or callers, settings.request_limits)
    common = CountedApp(Drain(limiter, leaving), meter)
    app.entry = HotReads(common, ReadChecks(limiter, own_pages, callers, identity, meter), methods)
    clerk = DeadLetterService(RedisDeadLetters(state), TaskStore(state, live), BestEffortWakes(ArqWakes(queue)), _now)
    app.include_router(DeadLetterEndpoints(clerk).routes(own))
    app.include_router(KeyEndpoints(KeyService(keyring, fresh)).routes(own))
    workshop = MadeToolService(RedisWorkshop(state), _now)
    app.include_router(MadeToolEndpoints(workshop).routes(own))
    memory = MemoryService(RedisMemories(state), RedisForgets(state), _now, lambda: token_hex(16))
    app.include_router(MemoryEndpoints(memory).routes(own))
    app.include_router(LearningEndpoints(LearningFileService(RedisLearningFiles(state)), statistics).routes(own))
    policies = HttpPolicyCheck(settings.policy_url) if settings.policy_url else NoPolicyCheck()
    addresses = Addresses(operators_reach(settings.tools_allowed_hosts), push.urls)
    records = RecordService(RedisTenantRecords(state), policies, addresses, _now)
    app.include_router(RecordEndpoints(records).routes(own))
    app.include_router(WebhookEndpoints(WebhookService(desk, push.book)).routes(own))
    app.include_router(ApprovalEndpoints(inbox).routes(own))
    kept = settings.archive()
    live_tasks = RedisAudit(state, TaskStore(state, live), RedisTaskLists(state))
    audit = AuditService(live_tasks, ArchivedAudit(kept) if kept else None)
    app.include_router(AuditEndpoints(audit, identity).routes())
    measured = AssessmentService(RedisAssessments(state))
    app.include_router(AssessmentEndpoints(measured).routes(own))
    services = FeatureServices(
        tasks=desk,
        lists=lists,
        approvals=inbox,
        tenants=tenants,
        statistics=statistics,
        spending=RedisSpending(state),
        stories=RedisStories(state),
        webhooks=WebhookService(desk, push.book),
        dead_letters=clerk,
        memory=memory,
        audit=audit,
        assessments=measured,
    )
    host = PartHost(settings, state, identity, services, _now)
    group = PartGroup[BuildPart]("gateway")
    optional = [group.load(name)(host) for name in settings.parts]
    for part in optional:
        app.router.routes.extend(part.routes)
    return app


def _now() -> datetime:
    return datetime.now(UTC)


def _rules(settings: GatewaySettings) -> Rules:
    return Rules(
        blocking_limit=settings.blocking_limit,
        loopback_endpoints=settings.profile == "embedded",
        allowed_hosts=settings.tools_allowed_hosts,
        limits=settings.message_limits,
        known_by_id=settings.message_id_window > 0,
    )
