"""The steps that tests of the durable state share."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from redis.asyncio import Redis

from services.executor.adapters.redis_sessions import RedisSessions
from services.executor.core.session.journal import RepairedFaultCounter
from services.executor.core.turn.heartbeat import RunHeartbeat
from services.executor.core.turn.runner import Runner
from services.executor.core.turn.session_run import RunnerLimits
from services.executor.ports.turns import Lease, SessionState, TurnEnd, TurnRunner, TurnStore, TurnWork
from shared.contracts.approval import Approval
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import TaskOutcome
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.task import TaskEvent, TaskRecord, Turn, TurnKind
from shared.domain.words import Strategy, TaskState, ToolClass, WriteStatus
from shared.infra.channel_listener import ChannelListener
from shared.infra.keys import SessionMember, pack_member, partition_keys_of, session_keys
from shared.infra.task_store import TaskStore
from shared.ports.meter import Meter, NoMeter
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.doubles.runners import a_runner

NOTE = TaskEvent(kind="note", at=NOON)
LEASE_SECONDS = 5.0
PATIENCE = 30.0


def sessions_of(redis: Redis, owner: str, lease_seconds: float = LEASE_SECONDS) -> RedisSessions:
    return RedisSessions(redis, owner, lease_seconds)


class Begun(NamedTuple):
    """A turn in the hands of one executor."""

    lease: Lease
    work: TurnWork
    store: TurnStore

    @property
    def record(self) -> TaskRecord:
        return self.work.record


async def accepted(store: TaskStore, session_id: str = "s1", text: str = "") -> TaskRecord:
    record = a_record(session_id)
    await store.accept(record, a_turn(record, text=text), dedupe=None)
    return record


async def stored_record(store: TaskStore, record: TaskRecord) -> TaskRecord:
    """As the record stands now."""
    found = await store.get_record(record.tenant, record.task_id)
    assert found is not None
    return found


async def begin(sessions: RedisSessions, session_id: str = "s1") -> Begun:
    lease = await sessions.claim("acme", session_id)
    assert lease is not None
    return await begin_next(sessions, lease)


async def begin_next(sessions: RedisSessions, lease: Lease) -> Begun:
    work = await sessions.begin_next_turn(lease)
    assert work is not None
    return Begun(lease, work, sessions.turn_store(lease, work))


async def begun_turn(redis: Redis, store: TaskStore, session_id: str = "s1") -> Begun:
    """A message is accepted, and its turn begun by the executor "one"."""
    await accepted(store, session_id)
    return await begin(sessions_of(redis, "one"), session_id)


async def turn_on(redis: Redis) -> Begun:
    """The same on a server of the test's own."""
    async with ChannelListener(redis) as live:
        return await begun_turn(redis, TaskStore(redis, live))


class Acts(TurnRunner):
    """Does with each turn what the test says, and notes what became of it."""

    def __init__(self, act: Callable[[TurnWork, TurnStore], Awaitable[None]]) -> None:
        self._act = act
        self.texts: list[str] = []
        self.cancelled = 0
        self.begun = asyncio.Event()

    async def run(self, work: TurnWork, store: TurnStore) -> None:
        self.texts.append(work.turn.text)
        self.begun.set()
        try:
            await self._act(work, store)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


async def finish(work: TurnWork, store: TurnStore) -> None:
    await store.finish(an_end(work))


async def wait_for_ever(work: TurnWork, store: TurnStore) -> None:
    await asyncio.Event().wait()


async def break_down(work: TurnWork, store: TurnStore) -> None:
    raise RuntimeError("the bug that kills")


@asynccontextmanager
async def running(
    redis: Redis,
    worker: TurnRunner,
    limits: RunnerLimits,
    *,
    owner: str = "one",
    mended: RepairedFaultCounter | None = None,
    heartbeat: RunHeartbeat | None = None,
    meter: Meter = NoMeter(),  # noqa: B008  # it has no state
) -> AsyncIterator[Runner]:
    """An executor's runner that serves, and at last stops without a grace."""
    sessions = sessions_of(redis, owner, limits.lease_seconds)
    runner = a_runner(sessions, HeardWakes(), worker, limits, mended, heartbeat=heartbeat, meter=meter)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(runner.serve())
        await asyncio.sleep(0)
        yield runner
        await runner.stop(0.0)


def an_end(work: TurnWork, state: TaskState = TaskState.COMPLETED) -> TurnEnd:
    record = work.record.model_copy(update={"state": state})
    return TurnEnd(record=record, session=SessionState(), outcome=an_outcome(record) if state.is_terminal else None)


def an_outcome(record: TaskRecord) -> TaskOutcome:
    return TaskOutcome(
        event_id=f"{record.task_id}:1",
        tenant=record.tenant,
        session_id=record.session_id,
        task_id=record.task_id,
        state=record.state,
        process_type="general",
        strategy=Strategy.FSM,
        quality=0.5,
        summary="",
        tool_calls=0,
        model_calls=0,
        writes={},
        policy_passed=None,
        reason=None,
        duration_ms=1,
        ended_at=NOON,
    )


def an_approval(task_id: str, **known: object) -> Approval:
    facts: dict[str, object] = {
        "approval_id": "a1",
        "task_id": task_id,
        "plan": WritePlan(task_id=task_id),
        "plan_hash": "h",
        "verdict_hash": "v",
        "level": "manager",
        "requester_id": "anna",
        "reasons": ("over the limit",),
        "asked_at": NOON,
        "deadline": NOON,
    }
    return Approval.model_validate({**facts, **known})


def an_entry(status: WriteStatus = WriteStatus.SENDING) -> LedgerEntry:
    call = PlannedCall(
        call_id="c1", connection_id="co", tool="approve_expense", tool_class=ToolClass.CHANGE, arguments_json="{}"
    )
    return LedgerEntry(key="t:h:c1", call=call, arguments_json="{}", plan_hash="h", status=status)


async def signalled(store: TaskStore, record: TaskRecord, kind: TurnKind = TurnKind.DECISION) -> Turn:
    turn = a_turn(record, kind)
    assert await store.signal(record.tenant, record.session_id, turn)
    return turn


async def take_over(redis: Redis) -> Begun:
    """Take the session as if its owner had been silent too long; again where its heart beat just then."""
    two = sessions_of(redis, "two", 60.0)
    while True:
        await break_lease(redis, Lease("acme", "s1", 1, "one"))
        if (lease := await two.claim("acme", "s1")) is not None:
            return await begin_next(two, lease)


async def break_lease(redis: Redis, lease: Lease) -> None:
    """Let the lease run out at once, as if its owner had been silent for its whole length."""
    name, member = (
        session_keys(lease.tenant, lease.session_id).lease,
        pack_member(SessionMember(lease.tenant, lease.session_id)),
    )
    async with redis.pipeline() as pipe:
        pipe.hset(name, "until", "1")
        pipe.zadd(partition_keys_of(lease.tenant, lease.session_id).leased, {member: 1})
        await pipe.execute()
