"""Where ports and adapters meet."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from secrets import token_hex, token_urlsafe
from time import monotonic
from uuid import uuid4

from fastapi import FastAPI

from services.gateway.adapters.approvals.redis_approvals import RedisApprovals
from services.gateway.adapters.identity.redis_keyring import RedisKeyring
from services.gateway.adapters.identity.redis_meter import RedisMeter
from services.gateway.adapters.operating.archived_audit import ArchivedAudit
from services.gateway.adapters.operating.leaving_readiness import LeavingReadiness
from services.gateway.adapters.operating.policy_check import HttpPolicyCheck, NoPolicyCheck
from services.gateway.adapters.operating.readiness import RedisReadiness
from services.gateway.adapters.operating.redis_assessments import RedisAssessments
from services.gateway.adapters.operating.redis_audit import RedisAudit
from services.gateway.adapters.operating.redis_dead_letters import RedisDeadLetters
from services.gateway.adapters.operating.redis_learning_files import RedisLearningFiles
from services.gateway.adapters.operating.redis_memories import RedisForgets, RedisMemories
from services.gateway.adapters.operating.redis_spending import RedisSpending
from services.gateway.adapters.operating.redis_statistics import RedisStatistics
from services.gateway.adapters.operating.redis_tenants import RedisTenants
from services.gateway.adapters.operating.redis_workshop import RedisWorkshop
from services.gateway.adapters.tasks.counted_tasks import CountedTasks
from services.gateway.adapters.tasks.redis_backlog import RedisBacklog
from services.gateway.adapters.tasks.redis_stories import RedisStories
from services.gateway.adapters.tasks.redis_task_lists import RedisTaskLists
from services.gateway.adapters.tasks.redis_threads import RedisThreads
from services.gateway.adapters.tasks.shedding_tasks import SheddingTasks
from services.gateway.adapters.tasks.stored_endpoints import StoredEndpoints
from services.gateway.adapters.tasks.traced_tasks import traced_tasks
from services.gateway.adapters.tasks.wakes import BestEffortWakes
from services.gateway.core.approvals.desk import ApprovalDesk
from services.gateway.core.audit.desk import AuditDesk
from services.gateway.core.identity.api_keys import Fresh, KeyDesk
from services.gateway.core.leaving import Leaving
from services.gateway.core.operating.assessments import AssessmentDesk
from services.gateway.core.operating.dead_letters import Clerk
from services.gateway.core.operating.learning_files import FileDesk
from services.gateway.core.operating.made_tools import WorkshopDesk
from services.gateway.core.operating.memory_desk import MemoryDesk
from services.gateway.core.operating.tenant_desk import TenantDesk
from services.gateway.core.operating.tenant_facts import TenantBook
from services.gateway.core.operating.tenant_records import Addresses, RecordDesk
from services.gateway.core.push.desk import PushDesk
from services.gateway.core.tasks.desk import Rules, TaskDesk
from services.gateway.core.tasks.task_list import TaskListDesk
from services.gateway.entrypoints.a2a.routes import Backing
from services.gateway.entrypoints.app import create_app
from services.gateway.entrypoints.approvals.endpoints import ApprovalEndpoints
from services.gateway.entrypoints.console.room import Desks
from services.gateway.entrypoints.edge.drain import Drain
from services.gateway.entrypoints.edge.face import Face
from services.gateway.entrypoints.edge.own_pages import OwnPages
from services.gateway.entrypoints.edge.threshold import Threshold
from services.gateway.entrypoints.operating.api_keys import KeyEndpoints
from services.gateway.entrypoints.operating.assessments import AssessmentEndpoints
from services.gateway.entrypoints.operating.audit import AuditEndpoints
from services.gateway.entrypoints.operating.dead_letters import DeadLetterEndpoints
from services.gateway.entrypoints.operating.learning_files import LearningFileEndpoints
from services.gateway.entrypoints.operating.made_tools import MadeToolEndpoints
from services.gateway.entrypoints.operating.memory import MemoryEndpoints
from services.gateway.entrypoints.operating.tenant_records import RecordEndpoints
from services.gateway.entrypoints.push.endpoints import WebhookEndpoints
from services.gateway.rooms.console import console_routes
from services.gateway.rooms.door import Doorway
from services.gateway.rooms.metrics import MetricsRoom
from services.gateway.rooms.notices import noticing
from services.gateway.rooms.participation import participation
from services.gateway.rooms.push import PushRoom
from services.gateway.settings import Settings
from shared.domain.outgoing import operators_reach
from shared.infra.counted_app import CountedApp
from shared.infra.keys import DEDUPE_SECONDS
from shared.infra.live import Live
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from shared.infra.tenant_records import RedisTenantRecords
from shared.infra.wakes import ArqWakes
from shared.ports.tracing import NO_TRACER, Tracer


def leaving_of(settings: Settings) -> Leaving:
    return Leaving(settings.drain_seconds, settings.grace_seconds)


def build(settings: Settings, leaving: Leaving | None = None, tracer: Tracer = NO_TRACER) -> FastAPI:
    """The application; its connections are opened when it starts and closed when it stops.

    ``leaving`` is told when that comes.
    """
    leaving = leaving or leaving_of(settings)
    state, queue = connect(settings.redis_url), connect(settings.queue_redis_url or settings.redis_url)
    live = Live(state)
    store = traced_tasks(TaskStore(state, live, settings.message_id_window or DEDUPE_SECONDS), tracer)
    keyring = RedisKeyring(state)
    doorway = Doorway(settings, RedisMeter(state), _now)
    identity = doorway.identity
    counting = MetricsRoom(settings, state)
    meter = counting.metrics
    push = PushRoom(settings, state, live, _now, embedded=settings.profile == "embedded", meter=meter)
    shedding = SheddingTasks(store, RedisBacklog(state), settings.max_waiting_sessions, monotonic)
    tasks = CountedTasks(shedding, meter)
    wakes = BestEffortWakes(ArqWakes(queue))
    desk = TaskDesk(
        tasks=tasks,
        wakes=wakes,
        threads=RedisThreads(state),
        clock=_now,
        new_id=lambda: str(uuid4()),
        rules=_rules(settings)._replace(own_endpoints=StoredEndpoints(RedisTenantRecords(state))),
        webhooks=push.book,
        leaving=leaving,
        participating=participation(settings, state, tasks, wakes, _now),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        telling = noticing(push, state, live, settings.card_url, _now)
        async with live, doorway.open(), push.open(settings.model_notice), telling, counting.open():
            yield
        await state.aclose()
        await queue.aclose()

    readiness = LeavingReadiness(RedisReadiness(state, queue, allow_volatile=settings.allow_volatile_redis), leaving)
    face = Face(settings.card_url, settings.model_notice, settings.max_body_bytes, settings.abilities)
    face = face._replace(card=settings.card_facts)
    tenants = TenantDesk(RedisTenants(state), _now)
    lists = TaskListDesk(RedisTaskLists(state))
    statistics = RedisStatistics(state)
    book = TenantBook(RedisTenantRecords(state), RedisWorkshop(state), statistics)
    parts = Backing(desk, lists, identity, readiness, book)
    app = create_app(parts, statistics, tenants, face, lifespan, doorway.watch)
    if not settings.ways:
        app.add_middleware(OwnPages, public=settings.card_url)
    app.add_middleware(Threshold, limits=settings.request_limits)
    app.add_middleware(Drain, leaving=leaving)
    app.add_middleware(CountedApp, meter=meter)
    clerk = Clerk(RedisDeadLetters(state), TaskStore(state, live), BestEffortWakes(ArqWakes(queue)), _now)
    app.include_router(DeadLetterEndpoints(clerk, identity, face.max_body).routes())
    app.include_router(KeyEndpoints(KeyDesk(keyring, fresh), identity, face.max_body).routes())
    workshop = WorkshopDesk(RedisWorkshop(state), _now)
    app.include_router(MadeToolEndpoints(workshop, identity, face.max_body).routes())
    memory = MemoryDesk(RedisMemories(state), RedisForgets(state), _now, lambda: token_hex(16))
    app.include_router(MemoryEndpoints(memory, identity, face.max_body).routes())
    app.include_router(LearningFileEndpoints(FileDesk(RedisLearningFiles(state)), identity, face.max_body).routes())
    policies = HttpPolicyCheck(settings.policy_url) if settings.policy_url else NoPolicyCheck()
    addresses = Addresses(operators_reach(settings.tools_allowed_hosts), push.urls)
    records = RecordDesk(RedisTenantRecords(state), policies, addresses, _now)
    app.include_router(RecordEndpoints(records, identity, face.max_body).routes())
    inbox = ApprovalDesk(RedisApprovals(state), desk, _now)
    app.include_router(WebhookEndpoints(PushDesk(desk, push.book), identity, face.max_body).routes())
    app.include_router(ApprovalEndpoints(inbox, identity, face.max_body).routes())
    kept = settings.archive()
    audit = AuditDesk(RedisAudit(state, TaskStore(state, live)), ArchivedAudit(kept) if kept else None)
    app.include_router(AuditEndpoints(audit, identity).routes())
    measured = AssessmentDesk(RedisAssessments(state))
    app.include_router(AssessmentEndpoints(measured, identity, face.max_body).routes())
    stories, webhooks = RedisStories(state), PushDesk(desk, push.book)
    spending = RedisSpending(state)
    desks = Desks(desk, lists, inbox, tenants, statistics, spending, stories, webhooks, clerk, memory, audit, measured)
    app.router.routes.extend(console_routes(desks, state, identity, settings, _now))
    return app


def fresh() -> Fresh:
    return Fresh(_now(), token_hex(6), token_urlsafe(32))


def _now() -> datetime:
    return datetime.now(UTC)


def _rules(settings: Settings) -> Rules:
    return Rules(
        blocking_limit=settings.blocking_limit,
        loopback_endpoints=settings.profile == "embedded",
        allowed_hosts=settings.tools_allowed_hosts,
        limits=settings.message_limits,
        known_by_id=settings.message_id_window > 0,
    )
