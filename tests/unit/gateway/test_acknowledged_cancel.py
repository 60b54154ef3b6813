"""A cancel that is acknowledged before anybody heeded it."""

import asyncio

import pytest

from services.gateway.features.tasks.service import Rules, TaskService
from shared.contracts.task import TurnKind
from shared.domain.words import TaskState
from tests.doubles.gateway_doubles import MemoryTasks, MemoryWakes
from tests.doubles.memory_threads import MemoryThreads
from tests.unit.gateway.stream_stage import ANN, NOON, message


def _service(tasks: MemoryTasks) -> TaskService:
    ids = iter(f"id-{number}" for number in range(100))
    return TaskService(tasks, MemoryWakes(), MemoryThreads(), lambda: NOON, lambda: next(ids), Rules(cancel_limit=0.2))


@pytest.mark.promise("redis.tail_lost")
async def test_a_signal_that_was_lost_while_its_client_waited_is_stored_when_the_cancel_is_acknowledged() -> None:
    tasks = MemoryTasks()
    service = _service(tasks)
    record = (await service.submit(message("pay it"), ANN)).record
    await tasks.turns.get()
    asked = asyncio.create_task(service.cancel(record.task_id, ANN))
    lost = await tasks.turns.get()  # with the tail of Redis' log: nobody will heed it

    answered = await asked

    assert answered.state is TaskState.SUBMITTED
    again = tasks.turns.get_nowait()
    assert (again.kind, again.turn_id) == (TurnKind.CANCEL, lost.turn_id)


async def test_a_cancel_that_was_heeded_is_signalled_once() -> None:
    tasks = MemoryTasks()
    service = _service(tasks)
    record = (await service.submit(message("pay it"), ANN)).record
    await tasks.turns.get()
    asked = asyncio.create_task(service.cancel(record.task_id, ANN))
    await tasks.finish(await tasks.turns.get(), TaskState.CANCELED)

    assert (await asked).state is TaskState.CANCELED
    assert tasks.turns.empty()
