"""A reply that is lost after its command was applied, or a command that never arrived: the effect is there once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_spend import RedisSpend
from services.executor.ports.turns import Charge, DayCaps, DayCharges, JournalBatch, JournalEntry, LedgerConflict
from shared.contracts.task import TaskEvent, TurnKind
from shared.domain.words import WriteStatus
from shared.infra import keys
from shared.infra.live import Live
from shared.infra.redis import connect
from shared.infra.stored_tasks import read_events
from shared.infra.task_store import TaskStore
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.integration.state_stage import Begun, accepted, an_end, an_entry, begin, sessions_of
from tools.tcp_proxy import TcpProxy

STEP, SECOND = JournalEntry("k1", "tool", "[]"), JournalEntry("k2", "note", "{}")
TOLD = TaskEvent(kind="told", at=NOON)
PATIENCE = 10.0


class Far(NamedTuple):
    """A client behind a proxy, and one that sees what is really there."""

    proxy: TcpProxy
    redis: Redis
    near: Redis

    async def lose(self, what: str) -> None:
        """From now on: the next answer, or the next command, is lost and its connection cut."""
        await self.redis.ping()
        way = self.proxy.answers if what == "answer" else self.proxy.requests
        way.cut_at(1)

    @property
    def lost(self) -> int:
        return self.proxy.answers.swallowed + self.proxy.requests.swallowed


@pytest.fixture
async def far(redis_server: str, redis: Redis) -> AsyncIterator[Far]:
    upstream = redis_server if redis_server.startswith("unix://") else redis_server.split("/")[2]
    async with TcpProxy(upstream) as proxy:
        client = connect(f"redis://{proxy.address}/0")
        yield Far(proxy, client, redis)
        await client.aclose()


@pytest.fixture(params=["answer", "command"])
def what(request: pytest.FixtureRequest) -> str:
    return str(request.param)


_DAY = "2026-03-01"
ACTS: dict[str, Callable[[Begun], Awaitable[object]]] = {
    "pulse": lambda begun: begun.store.pulse(),
    "append": lambda begun: begun.store.append([STEP, SECOND], [TOLD]),
    "append events": lambda begun: begun.store.append([], [TOLD]),
    "publish": lambda begun: begun.store.append([], [TOLD], begun.work.record),
    "open_write": lambda begun: begun.store.open_write(an_entry(), 1.0),
    "settle_write": lambda begun: begun.store.settle_write(
        an_entry(WriteStatus.SENT), WriteStatus.SENDING, JournalBatch(events=(TOLD,))
    ),
    "finish": lambda begun: begun.store.finish(an_end(begun.work)),
}


@pytest.mark.promise("redis.no_double_effect")
@pytest.mark.parametrize("act", ACTS)
async def test_a_turns_write_takes_hold_once_and_the_turn_goes_on(
    far: Far, task_store: TaskStore, act: str, what: str
) -> None:
    """The same state is left behind as without the loss, byte by byte but for the times that Redis gives."""
    left = []
    for session, loses in (("calm", False), ("rough", True)):
        await accepted(task_store, session)
        begun = await begin(sessions_of(far.redis, "one"), session)
        if act == "settle_write":
            await begun.store.open_write(an_entry(), 1.0)
        if loses:
            await far.lose(what)
        await ACTS[act](begun)
        left.append(await _left(far.near, begun))
    assert far.lost == 1
    assert left[0] == left[1]


@pytest.mark.promise("budget.tenant_day")
async def test_what_a_turn_did_cost_counts_once_in_the_tenants_day(far: Far, task_store: TaskStore, what: str) -> None:
    """With its end, in one step: what was set aside for a call, and what was not."""
    await accepted(task_store)
    begun = await begin(sessions_of(far.redis, "one"))
    await RedisSpend(far.near).reserve("acme", _DAY, Charge("a", 60, 600), DayCaps(tokens=1_000))
    charges = (Charge("a", 7, 70, reserved=True), Charge("b", 3, 30))
    await far.lose(what)
    await begun.store.finish(an_end(begun.work)._replace(charges=(DayCharges(_DAY, charges),)))
    found = await far.near.hgetall(keys.spend_key("acme", _DAY))  # type: ignore[misc]  # redis-py's union
    assert found == {"tokens": "10", "nanos": "100", "calls": "2", "reserved_tokens": "0", "reserved_nanos": "0"}


async def test_a_repeated_step_of_another_attempt_is_not_taken_for_the_lost_one(
    far: Far, task_store: TaskStore
) -> None:
    await accepted(task_store)
    begun = await begin(sessions_of(far.redis, "one"))
    await begun.store.append([STEP])
    await far.lose("answer")
    await begun.store.append([SECOND])
    assert await begun.store.journal() == (STEP, SECOND)


async def test_a_write_that_somebody_else_opened_is_still_a_conflict(
    far: Far, task_store: TaskStore, what: str
) -> None:
    await accepted(task_store)
    begun = await begin(sessions_of(far.redis, "one"))
    await begun.store.open_write(an_entry().model_copy(update={"arguments_json": '{"n":1}'}), 1.0)
    await far.lose(what)
    with pytest.raises(LedgerConflict):
        await begun.store.open_write(an_entry(), 1.0)


@pytest.mark.promise("redis.no_double_effect")
async def test_a_turn_is_begun_once_by_one_owner(far: Far, task_store: TaskStore, what: str) -> None:
    await accepted(task_store)
    sessions = sessions_of(far.redis, "one")
    await far.redis.ping()
    await far.lose(what)
    assert (await begin(sessions)).work.attempts == 1


@pytest.mark.promise("redis.no_double_effect")
async def test_a_message_is_accepted_once(far: Far, what: str) -> None:
    async with Live(far.redis) as live:
        store, record = TaskStore(far.redis, live), a_record()
        turn = a_turn(record)
        await far.lose(what)
        taken = await store.accept(record, turn, dedupe="m1")
    session = keys.session_keys("acme", "s1")
    assert (taken.turn_id, taken.fresh) == (turn.turn_id, True)
    assert await far.near.lrange(session.inbox, 0, -1) == [turn.turn_id]  # type: ignore[misc]  # redis-py's union
    assert await far.near.xlen(keys.task_keys("acme", "s1", record.task_id).events) == 1


@pytest.mark.promise("redis.no_double_effect")
async def test_a_signal_is_put_once(far: Far, task_store: TaskStore, what: str) -> None:
    record = await accepted(task_store)
    async with Live(far.redis) as live:
        store, turn = TaskStore(far.redis, live), a_turn(record, TurnKind.CANCEL)
        await far.lose(what)
        assert await store.signal("acme", "s1", turn)
    assert await far.near.llen(keys.session_keys("acme", "s1").signals) == 1  # type: ignore[misc]  # redis-py's union


@pytest.mark.promise("redis.short_cut")
async def test_a_subscription_that_has_gone_silent_is_made_anew(far: Far) -> None:
    """The connection stands, but nothing comes through it, as behind a network that drops everything."""
    async with asyncio.timeout(PATIENCE), Live(far.redis, quiet_seconds=0.05) as live, live.listen("news") as news:
        news.clear()
        far.proxy.answers.pause()
        before = far.proxy.connections
        while far.proxy.connections == before:
            await asyncio.sleep(0.01)  # between two looks
        far.proxy.answers.resume()
        await news.wait()


@pytest.mark.promise("redis.short_cut")
async def test_a_short_cut_costs_a_turn_nothing(far: Far, task_store: TaskStore) -> None:
    """Nobody listens for a while; the turn waits and goes on, with its lease."""
    await accepted(task_store)
    begun = await begin(sessions_of(far.redis, "one"))
    await far.proxy.refuse()
    writing = asyncio.create_task(_append(begun))
    done, _ = await asyncio.wait({writing}, timeout=0.3)
    assert not done
    await far.proxy.accept()
    async with asyncio.timeout(PATIENCE):
        await writing
    assert await begun.store.journal() == (STEP,)


@pytest.mark.promise("redis.scripts_flushed")
async def test_scripts_that_the_server_forgot_are_sent_again(far: Far, task_store: TaskStore) -> None:
    await accepted(task_store)
    begun = await begin(sessions_of(far.redis, "one"))
    for act in ("append", "publish", "open_write", "finish"):
        await far.near.script_flush()
        await ACTS[act](begun)
    assert await begun.store.journal() == (STEP, SECOND)


async def _append(begun: Begun) -> None:
    await begun.store.append([STEP])


async def _left(redis: Redis, begun: Begun) -> object:
    task = keys.task_keys("acme", begun.lease.session_id, begun.work.turn.task_id)
    record = await redis.hgetall(task.record)  # type: ignore[misc]  # redis-py's union
    ledger = await redis.hgetall(task.ledger)  # type: ignore[misc]  # redis-py's union
    journal = [row for _, row in await redis.xrange(task.journal)]
    events = [
        event for entry_id, row in await redis.xrange(task.events) for _, event in read_events(entry_id, row["e"])
    ]
    told = [event for event in events if event.kind == TOLD.kind]
    return record.get("version"), record.get("ended"), len(ledger), journal, len(events), told
