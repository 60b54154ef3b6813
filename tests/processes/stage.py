"""A whole process in one event loop: the real worker on a real Redis, the real planner, policy service and company.

The worker speaks HTTP to the planner and the policy service and MCP to the company, which has a database of its own.
What a task left is read straight from that database.
"""

import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pydantic import JsonValue
from redis.asyncio import Redis

from examples.demo.books import BookChange, BooksSnapshot
from services.executor.adapters.policy_http import HttpPolicy
from services.executor.adapters.redis_learned import RedisLearnedStore
from services.executor.adapters.redis_sessions import RedisSessions
from services.executor.adapters.resilience import Resilience
from services.executor.adapters.stored_tenants import FileTenants
from services.executor.adapters.tool_servers import open_servers
from services.executor.core.session.context import Limits, Ports
from services.executor.core.states.prompts import load_prompts
from services.executor.core.turn.worker import Worker
from shared.contracts.task import Principal, TaskRecord, TaskRequest, Turn, TurnKind
from shared.contracts.tenant import TenantRecord
from shared.domain.outgoing import AllowedAddresses
from shared.domain.words import A2aVersion
from shared.infra.channel_listener import ChannelListener
from shared.infra.daily_spend import RedisSpend
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.company_stage import company
from tests.doubles.naming_model import NamingModel
from tests.integration.planner_server import model_at
from tests.processes.mishaps import Mishaps
from tests.processes.people import CLERK
from tests.processes.servers import planner_app, policy_app
from tests.serving import serving

TENANT_FILE = Path("cli/defaults/company_tenant.json")
_LEASE_SECONDS = 30.0
_PAUSES = (0.05, 0.05)  # seconds before a read is made again


@dataclass
class Stage:
    """Change ``tenants.record`` and ``faults`` before a task is sent; everything else is as in a real stack."""

    worker: Worker
    store: TaskStore
    sessions: RedisSessions
    tenants: FileTenants
    faults: Mishaps
    database: Path
    model: NamingModel

    def __post_init__(self) -> None:
        self.before = self.books()

    def books(self) -> BooksSnapshot:
        return BooksSnapshot.read(self.database)

    def arrange(self, sql: str) -> None:
        """Change the company's rows before a task (an empty statement changes nothing); its changes count from here."""
        with closing(sqlite3.connect(self.database, timeout=5)) as connection, connection:
            connection.execute(sql)
        self.before = self.books()

    @property
    def changes(self) -> tuple[BookChange, ...]:
        """Every cell of the company's database that is not what it was when the stage began."""
        return self.books().changes_since(self.before)

    @property
    def writes(self) -> tuple[str, ...]:
        """The tools of the writes that the company applied, in their order."""
        return self.books().writes_since(self.before)

    async def send(
        self, text: str, process: str | None = None, by: Principal = CLERK, session: str = "", **request: JsonValue
    ) -> TaskRecord:
        """The task as it stands when it has ended or waits.

        ``process``: what the model names the task, whatever its words say. ``request``: further fields of the request,
        such as ``policy_doc``.
        """
        record = self._record(text, by, session or f"s-{uuid4().hex[:8]}", request)
        self.model.process = process
        await self.store.accept(record, _turn(record, TurnKind.MESSAGE, by, text=text), dedupe=None)
        return await self.work_off(record)

    async def decide(self, task: TaskRecord, by: Principal, word: str = "approve") -> TaskRecord:
        """The task after somebody decided; a decision is about the question that is asked now."""
        return await self.signal(task, TurnKind.DECISION, by, decision=word)

    async def signal(self, task: TaskRecord, kind: TurnKind, by: Principal = CLERK, **data: JsonValue) -> TaskRecord:
        """The task after a decision, a deadline or another word that goes before the session's inbox."""
        turn = _turn(task, kind, by, data=dict(data))
        assert await self.store.signal(task.tenant, task.session_id, turn)
        return await self.work_off(task)

    async def work_off(self, task: TaskRecord) -> TaskRecord:
        """Every turn that waits in the task's session, and the task as it stands then."""
        lease = await self.sessions.claim(task.tenant, task.session_id)
        assert lease is not None
        while work := await self.sessions.begin_next_turn(lease):
            await self.worker.run(work, self.sessions.turn_store(lease, work))
        stored = await self.store.get_record(task.tenant, task.task_id)
        assert stored is not None
        return stored

    def _record(self, text: str, by: Principal, session: str, request: Mapping[str, JsonValue]) -> TaskRecord:
        now = datetime.now(UTC)
        return TaskRecord(
            tenant=self.tenants.record.id,
            task_id=f"t-{uuid4().hex[:8]}",
            session_id=session,
            dialect=A2aVersion.A2A_1_0,
            requester=by,
            request=TaskRequest.model_validate({"text": text, **request}),
            accepted_at=now,
            updated_at=now,
        )


@asynccontextmanager
async def open_stage(
    folder: Path,
    redis_url: str,
    tenant: TenantRecord | None = None,
    limits: Limits = Limits(),  # noqa: B008  # a frozen value
    planner_faults: str = "",
    patient: bool = False,
) -> AsyncIterator[Stage]:
    """A stage in an empty folder; the tenant is the example company's own, unless another one is given.

    ``planner_faults``: how the planner errs, as its setting of that name says it. ``patient``: reads are made again, as
    in a real stack.
    """
    async with AsyncExitStack() as open_things:
        enter = open_things.enter_async_context
        mishaps = Mishaps()
        office = await enter(company(folder, mishaps))
        planner = await enter(model_at(await enter(serving(planner_app(planner_faults)))))
        model = NamingModel(planner)
        policy = HttpPolicy(await enter(serving(policy_app())))
        open_things.push_async_callback(policy.close)
        tools = await enter(open_servers(AllowedAddresses(), resilience=Resilience(pauses=_PAUSES if patient else ())))
        redis = await enter(_redis(redis_url))
        tenants = FileTenants.read_file(TENANT_FILE, office.url)
        if tenant is not None:
            tenants.record = tenant.model_copy(update={"connections": tenants.record.connections})
        ports = Ports(model, tools, policy, tenants, RedisLearnedStore(redis), RedisSpend(redis))
        yield Stage(
            worker=Worker(ports, limits, load_prompts()),
            store=TaskStore(redis, await enter(ChannelListener(redis))),
            sessions=RedisSessions(redis, f"stage-{uuid4().hex[:8]}", _LEASE_SECONDS),
            tenants=tenants,
            faults=mishaps,
            database=office.database,
            model=model,
        )


@asynccontextmanager
async def _redis(url: str) -> AsyncIterator[Redis]:
    redis = connect(url)
    try:
        yield redis
    finally:
        await redis.aclose()


def _turn(record: TaskRecord, kind: TurnKind, who: Principal, text: str = "", **more: dict[str, JsonValue]) -> Turn:
    return Turn.model_validate(
        {
            "turn_id": f"turn-{uuid4().hex[:8]}",
            "task_id": record.task_id,
            "kind": kind,
            "principal": who,
            "received_at": datetime.now(UTC),
            "text": text,
            **more,
        }
    )
