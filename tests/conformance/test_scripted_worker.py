"""The scripted worker ends every turn, whatever came first."""

import asyncio
from contextlib import aclosing

from redis.asyncio import Redis

from shared.contracts.task import TurnKind
from shared.domain.words import TaskState
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from tests.doubles.redis_tasks import a_record, a_turn
from tests.scripted_worker import ConformanceWorker


async def test_a_task_that_is_canceled_before_it_was_begun_stays_canceled(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
    """The message's turn comes after the cancel's, and finds nothing left to do; the next task is worked on."""
    record, after = a_record("s1", "t1"), a_record("s2", "t2")
    for one in (record, after):
        await task_store.accept(one, a_turn(one).model_copy(update={"message_id": "tck-complete-task-1"}), dedupe=None)
    await task_store.signal("acme", "s1", a_turn(record, TurnKind.CANCEL))
    worker = ConformanceWorker(redis, redis_url)
    async with asyncio.TaskGroup() as group:
        working = group.create_task(worker.run())
        for one in (record, after):
            await ArqWakes(redis).wake("acme", one.session_id)
        states = [await _end(task_store, "t1", turns=2), await _end(task_store, "t2", turns=1)]
        working.cancel()
    await worker.aclose()
    assert states == [TaskState.CANCELED, TaskState.COMPLETED]


async def _end(store: TaskStore, task_id: str, turns: int) -> TaskState:
    """The task's state once so many of its turns are over."""
    async with asyncio.timeout(10), aclosing(store.watch("acme", task_id)) as events:
        while turns:
            _, event = await anext(events)
            turns -= event.kind == "turn_finished"
    record = await store.record("acme", task_id)
    assert record is not None
    return record.state
