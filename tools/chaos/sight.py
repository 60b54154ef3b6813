"""What chaos sees of Redis, past every line that it cuts: states, owners, doubts, and what the learner has counted."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar, cast

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

from shared.domain.exact_json import dumps, loads, loads_object
from shared.domain.words import WriteStatus
from shared.infra import keys
from shared.infra.journal_rows import ROW_FIELD, TEXT_KIND, StoredStep, StreamRow, pack_steps, parse_steps
from shared.infra.lua import bounded_redis_calls
from shared.ports.store import StoreUnavailable
from tools.chaos.gateway_caller import AcceptedTask

_AGAIN = 0.05
_PUT_OFF_SECONDS = 5  # a session whose turn comes later than that was put off
_CHECKPOINT = "checkpoint"
_SENDING = WriteStatus.SENDING.value

T = TypeVar("T")


class HeldSession(NamedTuple):
    """A session whose owner was struck while it had work in hand. ``doubtful``: a write of it was under way."""

    tenant: str
    session_id: str
    fence: int
    doubtful: bool


class Counted(NamedTuple):
    """What the learner says that it has counted: ids of outcomes, how many altogether, and those of the case log."""

    ids: frozenset[str]
    events: int
    cases: tuple[str, ...] = ()


class Sight:
    """Each look is repeated until the server answers: it may be dead by now. Only what alters or limits writes."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def states(self, tasks: Sequence[AcceptedTask]) -> tuple[str, ...]:
        """The state of each task; "" for one that Redis does not know."""

        def ask(pipe: Pipeline) -> None:
            for task in tasks:
                pipe.hget(keys.task_keys(task.tenant, task.session_id, task.task_id).record, "state")

        return tuple(str(state or "") for state in await self._run_pipeline(ask)) if tasks else ()

    async def sessions_of(self, pid: int) -> tuple[HeldSession, ...]:
        """The sessions that a process of this machine owns, and in which work waits or is under way."""
        partitions = tuple(keys.all_partitions())
        found = await self._run_pipeline(lambda pipe: _queue(pipe.zrange, ((one.leased, 0, -1) for one in partitions)))
        members = [keys.unpack_member(keys.SessionMember, member) for row in found for member in cast("list[str]", row)]
        return tuple([held for member in members if (held := await self._find_session(*member, pid)) is not None])

    async def fences(self, sessions: Sequence[HeldSession]) -> tuple[int, ...]:
        """The fence of each session's lease: it grows with every owner."""
        leases = [keys.session_keys(held.tenant, held.session_id).lease for held in sessions]
        found = await self._run_pipeline(lambda pipe: _queue(pipe.hget, ((lease, "fence") for lease in leases)))
        return tuple(int(str(fence or 0)) for fence in found)

    async def have_work(self, sessions: Sequence[HeldSession]) -> tuple[bool, ...]:
        """Whether a turn waits or is under way in each session."""
        inboxes = [keys.session_keys(held.tenant, held.session_id).inbox for held in sessions]
        found = await self._run_pipeline(lambda pipe: _queue(pipe.llen, ((inbox,) for inbox in inboxes)))
        return tuple(bool(count) for count in found)

    async def count_waiting(self) -> int:
        """How many sessions wait for an executor, without those that were put off."""
        (now,) = await self._run_pipeline(lambda pipe: _queue(pipe.time, ((),)))
        seconds, _ = cast("tuple[int, int]", now)
        soon = (seconds + _PUT_OFF_SECONDS) * 1000
        partitions = tuple(keys.all_partitions())
        found = await self._run_pipeline(
            lambda pipe: _queue(pipe.zcount, ((one.waiting, "-inf", soon) for one in partitions))
        )
        return sum(cast("list[int]", found))

    async def known_tasks(self) -> frozenset[str]:
        """The ids of all tasks of which Redis has a record."""
        found: set[str] = set()

        async def look() -> None:
            async for key in self._redis.scan_iter(match="pa:*:record", count=1000):
                found.add(str(key).split(":")[-2])

        await self._look_again(look)
        return frozenset(found)

    async def count_all(self, tenants: Sequence[str]) -> Counted:
        """What was counted for all of these tenants."""
        found = [await self._count(tenant) for tenant in tenants]
        ids = frozenset(event_id for one in found for event_id in one.ids)
        return Counted(ids, sum(one.events for one in found), tuple(case for one in found for case in one.cases))

    async def _count(self, tenant: str) -> Counted:
        learned = keys.learned_keys(tenant)

        def ask(pipe: Pipeline) -> None:
            pipe.zrange(learned.applied, 0, -1)
            pipe.hget(learned.counts, "events")
            pipe.lrange(learned.cases, 0, -1)

        ids, events, cases = await self._run_pipeline(ask)
        kept = tuple(str(loads_object(case).get("case_id")) for case in cast("list[str]", cases))
        return Counted(frozenset(cast("list[str]", ids)), int(str(events or 0)), kept)

    async def alter_plan(self, task: AcceptedTask, before: str, after: str) -> None:
        """Put another text into a task's stored plan, as somebody could who can write to Redis."""
        journal = keys.task_keys(task.tenant, task.session_id, task.task_id).journal
        (rows,) = await self._run_pipeline(lambda pipe: _queue(pipe.xrange, ((journal,),)))
        found = parse_steps(cast("list[StreamRow]", rows))
        texts = {
            step.key: step.join_data({}) for step in found if step.kind == TEXT_KIND
        }  # it has its own while it waits
        steps = [loads_object(step.join_data(texts)) for step in found if step.kind == _CHECKPOINT]
        plan = [step["dossier.plan"] for step in steps if step.get("dossier.plan")][-1]
        altered = dumps({"dossier.plan": loads(dumps(plan).replace(before, after))})

        def ask(pipe: Pipeline) -> None:
            pipe.xadd(journal, {ROW_FIELD: pack_steps([StoredStep("altered", _CHECKPOINT, (altered,))])})

        await self._run_pipeline(ask)

    async def limit_memory(self, megabytes: int) -> bool:
        """Let Redis use so much and no more; 0 is no limit. Whether it was more by then, so that it refuses writes."""

        def ask(pipe: Pipeline) -> None:
            pipe.config_set("maxmemory", f"{megabytes}mb")
            pipe.info("memory")

        _, memory = await self._run_pipeline(ask)
        return 0 < megabytes * 1024 * 1024 < cast("dict[str, int]", memory)["used_memory"]

    async def _find_session(self, tenant: str, session: str, pid: int) -> HeldSession | None:
        own = keys.session_keys(tenant, session)

        def ask(pipe: Pipeline) -> None:
            pipe.hmget(own.lease, ["owner", "fence"])
            pipe.llen(own.inbox)
            pipe.llen(own.signals)
            pipe.smembers(own.open)

        lease, inbox, signals, tasks = await self._run_pipeline(ask)
        owner, fence = cast("list[str | None]", lease)
        if owner is None or owner.split(":")[1] != str(pid) or not (inbox or signals):
            return None
        doubtful = await self._in_doubt(tenant, session, cast("set[str]", tasks))
        return HeldSession(tenant, session, int(fence or 0), doubtful)

    async def _in_doubt(self, tenant: str, session: str, tasks: Iterable[str]) -> bool:
        ledgers = [keys.task_keys(tenant, session, task).ledger for task in tasks]
        found = await self._run_pipeline(lambda pipe: _queue(pipe.hvals, ((ledger,) for ledger in ledgers)))
        entries = [entry for row in found for entry in cast("list[str]", row)]
        return any(entry.startswith(f"{_SENDING}\n") for entry in entries)

    async def _run_pipeline(self, ask: Callable[[Pipeline], None]) -> list[object]:
        async def look() -> list[object]:
            async with self._redis.pipeline(transaction=False) as pipe:
                ask(pipe)
                return cast("list[object]", await pipe.execute())

        return await self._look_again(look)

    async def _look_again(self, look: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                async with bounded_redis_calls():
                    return await look()
            except (StoreUnavailable, TimeoutError):
                await asyncio.sleep(_AGAIN)


def _queue(command: Callable[..., object], calls: Iterable[tuple[str | int, ...]]) -> None:
    for call in calls:
        command(*call)
