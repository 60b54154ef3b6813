"""While too much work waits, new messages are refused before anything of them is stored."""

from datetime import UTC, datetime

import pytest
from typing_extensions import override

from services.gateway.adapters.tasks.shedding_tasks import Backlog, SheddingTasks
from services.gateway.core.errors import TooManyRequests
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


async def test_a_count_that_cannot_be_had_refuses_nobody() -> None:
    world = Watched()
    world.backlog.is_away = True
    await world.send("a")

    assert ("acme", "a") in world.store.records
