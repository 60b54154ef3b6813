"""Real executor processes: a wake starts a task, and a task outlives its executor."""

import asyncio
import signal
from contextlib import aclosing

import pytest

from shared.contracts.task import TaskRecord, TaskRequest
from shared.infra.task_store import TaskStore
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.executor_process import executor_process
from tools.bench.executor.no_work import STARTED, WAIT

PATIENCE = 30.0


async def _sent(store: TaskStore, text: str, session_id: str) -> TaskRecord:
    record = a_record(session_id).model_copy(update={"request": TaskRequest(text=text)})
    await store.accept(record, a_turn(record), dedupe=None)
    return record


async def _times(store: TaskStore, record: TaskRecord, kind: str, count: int) -> None:
    """Wait until an event of that kind was seen so often."""
    async with asyncio.timeout(PATIENCE), aclosing(store.watch("acme", record.task_id)) as events:
        async for _, event in events:
            count -= event.kind == kind
            if not count:
                return


@pytest.mark.promise("state.lost_wake")
async def test_a_task_whose_wake_was_lost_is_carried_out(redis_url: str, task_store: TaskStore) -> None:
    with executor_process(redis_url):
        record = await _sent(task_store, "go", "s1")
        await _times(task_store, record, "turn_finished", 1)


@pytest.mark.promise("state.dead_owner")
async def test_the_turn_of_a_killed_executor_is_taken_up_by_another(redis_url: str, task_store: TaskStore) -> None:
    with executor_process(redis_url, LEASE_SECONDS="1") as first:
        record = await _sent(task_store, WAIT, "s1")
        await _times(task_store, record, STARTED, 1)
        with executor_process(redis_url, LEASE_SECONDS="1"):
            first.signal(signal.SIGKILL)
            await _times(task_store, record, STARTED, 2)
