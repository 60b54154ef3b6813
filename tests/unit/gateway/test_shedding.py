"""While too much work waits, new messages are refused before anything of them is stored."""

import asyncio
from datetime import UTC, datetime

import pytest
from typing_extensions import override

from services.gateway.edge.errors import TooManyRequests
from services.gateway.features.tasks.guarded_tasks import Backlog, SheddingTasks
from shared.contracts.task import Principal, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.words import Dialect
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import Accepted
from tests.doubles.gateway_doubles import MemoryTasks

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANNA = Principal(id="anna")
pytestmark = pytest.mark.promise("gateway.sheds_load")


class Counted(Backlog):
    """``waits`` is what is counted; ``asked`` how often."""

    def __init__(self, waits: int = 0) -> None:
        self.waits, self.asked, self.is_away = waits, 0, False

    @override
    async def waiting(self) -> int:
        self.asked += 1
        if self.is_away:
            raise StoreUnavailable("away")
        return self.waits


class Watched:
    """Tasks that are shed from three waiting sessions on, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.backlog, self.store, self.time = Counted(), MemoryTasks(), 100.0
        self.tasks = SheddingTasks(self.store, self.backlog, 3, lambda: self.time)

    async def send(self, name: str) -> Accepted:
        turn = Turn(turn_id=name, task_id=name, kind=TurnKind.MESSAGE, principal=ANNA, received_at=NOW)
        record = TaskRecord(
            tenant="acme",
            task_id=name,
            session_id=name,
            dialect=Dialect.A2A_1_0,
            requester=ANNA,
            request=TaskRequest(text="x"),
            accepted_at=NOW,
            updated_at=NOW,
        )
        return await self.tasks.accept(record, turn, None)


async def test_nothing_is_stored_while_too_much_waits_and_reads_go_on() -> None:
    world = Watched()
    await world.send("first")
    world.backlog.waits, world.time = 3, 200.0
    with pytest.raises(TooManyRequests) as caught:
        await world.send("second")

    assert caught.value.wait == 5
    assert [task_id for _, task_id in world.store.records] == ["first"]
    assert await world.tasks.record("acme", "first") is not None


async def test_a_message_that_was_taken_before_is_not_refused_when_it_is_sent_again() -> None:
    """Its client would believe that nothing is done."""
    world = Watched()
    first = await world.send("first")
    world.backlog.waits, world.time = 3, 200.0
    again = await world.send("first")

    assert (again.turn_id, again.fresh, first.fresh) == (first.turn_id, False, True)


async def test_messages_are_taken_again_once_less_waits() -> None:
    world = Watched()
    world.backlog.waits = 9
    with pytest.raises(TooManyRequests):
        await world.send("early")
    world.backlog.waits, world.time = 2, world.time + 2
    await world.send("late")

    assert ("acme", "late") in world.store.records


async def test_many_messages_cost_one_count_a_second_and_a_burst_is_counted_in() -> None:
    """What was taken on since the last count waits too."""
    world = Watched()
    for name in ("a", "b", "c"):
        await world.send(name)
    with pytest.raises(TooManyRequests):
        await world.send("d")

    assert world.backlog.asked == 1


async def test_nobody_is_let_in_or_refused_while_no_count_can_be_had() -> None:
    """The message may be sent again; nothing of it was stored."""
    world = Watched()
    world.backlog.is_away = True
    with pytest.raises(StoreUnavailable):
        await world.send("a")
    world.backlog.is_away = False
    await world.send("a")

    assert ("acme", "a") in world.store.records


class SlowTasks(MemoryTasks):
    """Storing takes a while, in which others come in."""

    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        for _ in range(int(record.task_id[1:]) % 7):
            await asyncio.sleep(0)
        return await super().accept(record, turn, dedupe)


class TrueCount(Backlog):
    """Counts what is stored and not begun; a count takes a while, too."""

    def __init__(self, store: MemoryTasks) -> None:
        self._store, self.begun = store, 0

    @override
    async def waiting(self) -> int:
        await asyncio.sleep(0)
        return len(self._store.records) - self.begun


@pytest.mark.promise("gateway.exact_limit")
@pytest.mark.parametrize("tick", [0.0, 0.001, 0.3])
async def test_of_500_callers_at_once_exactly_as_many_are_let_in_as_may_wait(tick: float) -> None:
    """However fast a count grows old, and though each of them looks before the first is stored."""
    world = Watched()
    store = SlowTasks()
    backlog = TrueCount(store)

    def clock() -> float:
        world.time += tick
        return world.time

    world.tasks = SheddingTasks(store, backlog, 100, clock)
    replies = await asyncio.gather(*(world.send(f"m{number}") for number in range(500)), return_exceptions=True)

    assert len(store.records) == 100
    assert sum(isinstance(reply, TooManyRequests) for reply in replies) == 400


@pytest.mark.promise("gateway.exact_limit")
async def test_once_what_waited_is_begun_nobody_is_refused_by_what_was_counted_before() -> None:
    world = Watched()
    store = SlowTasks()
    backlog = TrueCount(store)
    world.tasks = SheddingTasks(store, backlog, 3, lambda: world.time)
    for number in range(3):
        await world.send(f"m{number}")
    backlog.begun, world.time = 3, world.time + 0.2
    await world.send("m4")

    assert len(store.records) == 4
