"""A process that stops while a task is worked on: the step in hand is finished and stored, no other begun."""

import asyncio

import pytest

from services.executor.core.session.context import Ports
from services.executor.core.states.prompts import load
from services.executor.core.turn.execute import execute_task
from services.executor.core.turn.worker import Worker
from services.executor.ports.turns import HandedOver
from shared.domain.words import TaskState
from shared.ports.models import Model, ModelReply, ModelRequest
from tests.unit.executor.stage import Stage, message

_LONGER_THAN_A_LOOK = 1.3


class SlowModel(Model):
    """Stops the process while it thinks about its first answer, and takes its time over that one."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.asked = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked += 1
        if self.asked == 1:
            self._stage.turns.halted = True
            await asyncio.sleep(_LONGER_THAN_A_LOOK)
        return await self._stage.model.complete(request)


@pytest.mark.promise("state.drained")
async def test_a_reply_that_is_paid_for_is_waited_for_and_stored_before_the_session_is_handed_over() -> None:
    stage = Stage()
    model = SlowModel(stage)
    ports = Ports(model, stage.servers, stage.policy, stage.tenants, stage.learned, stage.daily)
    worker = Worker(ports, stage.limits, load(), execute_task)
    work = stage.turns.work(message(stage.turns.record.request.text))
    with pytest.raises(HandedOver):
        await worker.run(work, stage.turns)
    assert [entry.kind for entry in stage.turns.steps.values()].count("model") == 1
    stage.turns.halted = False
    undisturbed = Stage()
    await undisturbed.run()
    assert (await stage.run()).state is TaskState.COMPLETED
    assert len(stage.model.requests) == len(undisturbed.model.requests)
