"""What every ``TurnStore`` promises, on the double and on Redis."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.ports import turns
from services.executor.ports.turns import TurnWork
from shared.contracts.task import Turn, TurnKind
from shared.domain.words import TaskState, WriteStatus
from shared.infra.task_store import TaskStore
from tests.doubles.memory_turns import MemoryTurns
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration import state_stage

FIRST, SECOND = turns.JournalEntry("k1", "tool", "[]"), turns.JournalEntry("k2", "note", "{}")


class Stage(ABC):
    """One turn's store, and the ways in which the world meddles with it."""

    store: turns.TurnStore
    work: TurnWork

    @abstractmethod
    async def cancel(self) -> Turn: ...

    @abstractmethod
    async def fence_off(self) -> None: ...


class MemoryStage(Stage):
    def __init__(self) -> None:
        record = a_record()
        self.store = self._memory = MemoryTurns(record)
        self.work = self._memory.work(a_turn(record))

    @override
    async def cancel(self) -> Turn:
        self._memory.cancel = a_turn(self.work.record, TurnKind.CANCEL)
        return self._memory.cancel

    @override
    async def fence_off(self) -> None:
        self._memory.fenced = True


class RedisStage(Stage):
    def __init__(self, redis: Redis, tasks: TaskStore, begun: state_stage.Begun) -> None:
        self._redis, self._tasks = redis, tasks
        self._lease, self.work, self.store = begun

    @override
    async def cancel(self) -> Turn:
        turn = a_turn(self.work.record, TurnKind.CANCEL)
        assert await self._tasks.signal("acme", self.work.record.session_id, turn)
        return turn

    @override
    async def fence_off(self) -> None:
        await state_stage.break_lease(self._redis, self._lease)
        await state_stage.begin(state_stage.sessions_of(self._redis, "two"))


@pytest.fixture(params=["memory", "redis"])
async def stage(request: pytest.FixtureRequest, redis: Redis, task_store: TaskStore) -> Stage:
    if request.param == "memory":
        return MemoryStage()
    return RedisStage(redis, task_store, await state_stage.begun_turn(redis, task_store))


async def test_a_new_task_has_nothing_behind_it(stage: Stage) -> None:
    store = stage.store
    found = [
        await store.read_journal(),
        dict(await store.read_ledger()),
        await store.read_approval(),
        await store.read_session(),
    ]
    assert found == [(), {}, None, turns.SessionState()]


async def test_steps_come_back_in_order_and_the_first_of_a_key_counts(stage: Stage) -> None:
    await stage.store.append([FIRST, SECOND], [state_stage.NOTE])
    await stage.store.append([FIRST._replace(data_json='["later"]')])
    assert await stage.store.read_journal() == (FIRST, SECOND)


async def test_time_goes_on(stage: Stage) -> None:
    assert (await stage.store.get_stop_state()).now <= (await stage.store.get_stop_state()).now


@pytest.mark.promise("state.cancel_heard")
async def test_every_answer_tells_of_a_cancel(stage: Stage) -> None:
    cancel = await stage.cancel()
    told = [
        await stage.store.get_stop_state(),
        await stage.store.append([FIRST]),
        await stage.store.append([], [], stage.work.record),
        await stage.store.open_write(state_stage.an_entry(), 1.0),
    ]
    assert [stop_state.cancel for stop_state in told] == [cancel] * len(told)


async def test_no_intent_is_stored_where_a_cancel_waits(stage: Stage) -> None:
    """What was to be stored beside it is not stored either; a write that was sent is settled all the same."""
    sent = state_stage.an_entry().model_copy(update={"key": "sent"})
    await stage.store.open_write(sent, 1.0)
    await stage.cancel()
    refused = await stage.store.open_write(state_stage.an_entry(), 1.0, turns.JournalBatch((FIRST,)))
    settled = await stage.store.settle_write(
        sent.model_copy(update={"status": WriteStatus.SENT}), WriteStatus.SENDING, turns.JournalBatch((SECOND,))
    )
    assert (refused.was_refused, settled.was_refused, list(await stage.store.read_ledger())) == (True, False, ["sent"])
    assert await stage.store.read_journal() == (SECOND,)


async def test_a_write_is_opened_once(stage: Stage) -> None:
    await stage.store.open_write(state_stage.an_entry(), 1.0)
    with pytest.raises(turns.LedgerConflict):
        await stage.store.open_write(state_stage.an_entry(), 1.0)
    assert dict(await stage.store.read_ledger()) == {state_stage.an_entry().key: state_stage.an_entry()}


async def test_an_unsent_write_is_opened_again(stage: Stage) -> None:
    await stage.store.open_write(state_stage.an_entry(), 1.0)
    await stage.store.settle_write(state_stage.an_entry(WriteStatus.UNSENT), WriteStatus.SENDING)
    await stage.store.open_write(state_stage.an_entry(), 1.0)
    assert dict(await stage.store.read_ledger()) == {state_stage.an_entry().key: state_stage.an_entry()}


@pytest.mark.parametrize("opened", [True, False])
async def test_a_write_settles_only_from_the_status_it_has(stage: Stage, opened: bool) -> None:
    if opened:
        await stage.store.open_write(state_stage.an_entry(), 1.0)
    with pytest.raises(turns.LedgerConflict):
        await stage.store.settle_write(state_stage.an_entry(WriteStatus.VERIFIED), WriteStatus.SENT)


async def test_the_latest_approval_is_the_one_that_counts(stage: Stage) -> None:
    record = stage.work.record.model_copy(update={"state": TaskState.INPUT_REQUIRED})
    approval = state_stage.an_approval(record.task_id)
    await stage.store.finish(turns.TurnEnd(record, turns.SessionState(), approval=approval))
    assert await stage.store.read_approval() == approval


async def test_a_session_remembers(stage: Stage) -> None:
    memory = turns.SessionState((("user", "hi"), ("agent", "[1]")), "before", {"dept": "department"})
    await stage.store.finish(turns.TurnEnd(stage.work.record, memory))
    assert await stage.store.read_session() == memory


@pytest.mark.parametrize("write", ["stop_state", "append", "publish", "open_write", "settle_write", "finish"])
async def test_whoever_is_fenced_off_can_write_nothing(stage: Stage, write: str) -> None:
    await stage.fence_off()
    writes: dict[str, Callable[[], Awaitable[object]]] = {
        "stop_state": stage.store.get_stop_state,
        "append": lambda: stage.store.append([FIRST]),
        "publish": lambda: stage.store.append([], [], stage.work.record),
        "open_write": lambda: stage.store.open_write(state_stage.an_entry(), 1.0),
        "settle_write": lambda: stage.store.settle_write(state_stage.an_entry(), WriteStatus.SENT),
        "finish": lambda: stage.store.finish(state_stage.an_end(stage.work)),
    }
    with pytest.raises(turns.LeaseLost):
        await writes[write]()
    assert (await stage.store.read_journal(), dict(await stage.store.read_ledger())) == ((), {})
