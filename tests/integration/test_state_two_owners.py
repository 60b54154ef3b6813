"""Two executors that both believe they own one session: whatever they do in whatever order, the newest fence writes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, strategies as st
from redis.asyncio import Redis

from services.executor.adapters.redis_sessions import RedisSessions
from services.executor.ports.turns import JournalEntry, LeaseLost, LedgerConflict
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import TaskState, WriteStatus
from shared.infra.channel_listener import ChannelListener
from shared.infra.journal_rows import parse_steps
from shared.infra.keys import partition_keys_of, task_keys
from shared.infra.lua import Scripts
from shared.infra.redis import connect
from shared.infra.stored_tasks import parse_task_events
from shared.infra.task_store import TaskStore
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.examples import examples
from tests.integration.state_stage import Begun, an_end, an_entry, break_lease, sessions_of
from tests.redis_server import private_server

OWNERS = ("one", "two")
BELIEVERS = (*OWNERS, "one before", "two before")  # "before": the same process with the lease of its last claim
WRITES = ("append", "publish", "open_write", "settle_write", "stop_state", "next", "extend", "finish", "abandon")
Step = tuple[str, str]  # who, what; "claim" takes the session as if the other had been silent for too long
STEPS = st.lists(
    st.tuples(st.sampled_from(BELIEVERS), st.sampled_from((*WRITES, "claim", "claim"))), min_size=2, max_size=16
)


@dataclass
class World:
    """One session, its two owners, and a model of what may have taken hold."""

    redis: Redis
    record: TaskRecord
    sessions: dict[str, RedisSessions]
    begun: dict[str, Begun] = field(default_factory=dict)
    owner: str | None = None  # whose fence is the newest
    given_back: bool = False
    journal: list[str] = field(default_factory=list)
    ledger: WriteStatus | None = None
    told: list[str] = field(default_factory=list)  # events
    stored: int = 1  # the record's version
    ended: bool = False
    made: int = 0

    async def take(self, step: Step) -> None:
        who, what = step
        if what == "claim" and who in OWNERS:
            await self._claim(who)
        elif what == "claim":
            return
        elif who in self.begun:
            await self._act(who, what)

    async def _claim(self, who: str) -> None:
        if who == self.owner and not self.given_back:
            return  # a runner does not claim what it holds
        if self.owner is not None and not self.given_back:
            await break_lease(self.redis, self.begun[self.owner].lease)
        lease = await self.sessions[who].claim("acme", self.record.session_id)
        if self.ended:
            assert lease is None
            self.given_back = True  # nothing waits there any more
            return
        assert lease is not None
        assert all(lease.fence > begun.lease.fence for begun in self.begun.values())
        work = await self.sessions[who].begin_next_turn(lease)
        assert work is not None
        if who in self.begun:
            self.begun[f"{who} before"] = self.begun[who]
        self.begun[who] = Begun(lease, work, self.sessions[who].turn_store(lease, work))
        self.owner, self.given_back = who, False

    async def _act(self, who: str, what: str) -> None:
        rightful = who == self.owner and not self.given_back
        act: Callable[[], Awaitable[bool]] = {
            "append": lambda: self._append(who),
            "publish": lambda: self._publish(who),
            "open_write": lambda: self._open_write(who),
            "settle_write": lambda: self._settle_write(who),
            "stop_state": lambda: self._get_stop_state(who),
            "next": lambda: self._next(who),
            "extend": lambda: self._extend(who),
            "finish": lambda: self._finish(who),
            "abandon": lambda: self._abandon(who),
        }[what]
        try:
            let = await act()
        except LeaseLost:
            let = False
        assert let is rightful, f"{who} {what}: rightful {rightful}, let {let}"

    async def _append(self, who: str) -> bool:
        self.made += 1
        name = f"{who}-{self.made}"
        event = TaskEvent(kind=name, at=NOON)
        await self.begun[who].store.append([JournalEntry(name, "note", "{}")], [event])
        self.journal.append(name)
        self.told.append(name)
        return True

    async def _publish(self, who: str) -> bool:
        try:
            await self.begun[who].store.append([], [], self._changed(who))
        except LedgerConflict:  # its turn is over, and with it the right to change the record
            assert self.ended
            return True
        self.stored += 1
        return True

    async def _open_write(self, who: str) -> bool:
        try:
            await self.begun[who].store.open_write(an_entry(), 1.0)
        except LedgerConflict:
            assert self.ledger is not None
            return True
        self.ledger = WriteStatus.SENDING
        return True

    async def _settle_write(self, who: str) -> bool:
        try:
            await self.begun[who].store.settle_write(an_entry(WriteStatus.SENT), WriteStatus.SENDING)
        except LedgerConflict:
            assert self.ledger is not WriteStatus.SENDING
            return True
        self.ledger = WriteStatus.SENT
        return True

    async def _get_stop_state(self, who: str) -> bool:
        await self.begun[who].store.get_stop_state()
        return True

    async def _next(self, who: str) -> bool:
        self.given_back = await self.sessions[who].begin_next_turn(self.begun[who].lease) is None
        assert self.given_back is self.ended
        return True

    async def _extend(self, who: str) -> bool:
        lease = self.begun[who].lease
        return (await self.sessions[who].extend_all([lease])).lost == ()

    async def _finish(self, who: str) -> bool:
        await self.begun[who].store.finish(an_end(self.begun[who].work))
        if not self.ended:
            self.stored += 1
            self.told.append("turn_finished")
        self.ended = True
        return True

    async def _abandon(self, who: str) -> bool:
        await self.sessions[who].abandon(self.begun[who].lease)
        self.given_back = True
        return True

    def _changed(self, who: str) -> TaskRecord:
        return self.begun[who].work.record.model_copy(update={"state": TaskState.WORKING, "reason": who})

    async def _raw(self, *words: str) -> object:
        return await Scripts(self.redis).execute(*words)

    async def check(self) -> None:
        """What is stored is what the rightful owners stored, each thing once and in order."""
        task, partition = task_keys("acme", "s1", self.record.task_id), partition_keys_of("acme", "s1")
        journal = [step.key for step in parse_steps(await self.redis.xrange(task.journal))]
        entries = await self.redis.xrange(task.events)
        events = [event.kind for entry_id, row in entries for _, event in parse_task_events(entry_id, row["e"])]
        ledger = str(await self._raw("HGET", task.ledger, an_entry().key) or "").partition("\n")[0]
        found = [await self._raw("HGET", task.record, name) for name in ("version", "ended")]
        assert journal == self.journal
        assert events == self.told
        assert ledger == (self.ledger or "")
        assert found == [str(self.stored), str(int(self.ended))]
        assert await self.redis.xlen(partition.outcomes) == int(self.ended)


async def _played(url: str, steps: Sequence[Step]) -> None:
    redis = connect(url)
    try:
        await redis.flushdb()
        record = a_record()
        await TaskStore(redis, ChannelListener(redis)).accept(record, a_turn(record), dedupe=None)
        await redis.delete(task_keys("acme", "s1", record.task_id).events)  # what acceptance told
        world = World(redis, record, {who: sessions_of(redis, who.split()[0]) for who in BELIEVERS})
        for step in steps:
            await world.take(step)
        await world.check()
    finally:
        await redis.aclose()


@pytest.fixture(scope="module")
def quick_server() -> Iterator[str]:
    """Thousands of writes, none of which must outlive the test."""
    with private_server(durable=False) as server:
        yield server.url


@pytest.mark.timeout(600)
@pytest.mark.promise("state.two_believers", "state.outcome_once")
@examples(30, 2000)
@given(steps=STEPS)
def test_of_two_who_own_a_session_only_the_newest_fence_writes(quick_server: str, steps: list[Step]) -> None:
    """Every write of the other is refused at once, changes nothing, and nothing is stored twice."""
    believing = [(who, "claim") for who in (*OWNERS, *OWNERS)]
    asyncio.run(_played(quick_server, [*believing, *steps]))
