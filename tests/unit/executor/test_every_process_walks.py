"""Every kind of process: its states in their order, resumed wherever it died, failed wherever it cannot go on."""

from itertools import count

import pytest

from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from shared.domain.exact_json import JsonObject
from shared.domain.words import FsmState, TaskState
from shared.ports.models import ModelReply, ModelRequest, ModelUnavailable
from tests.doubles.scripted_model import state_of
from tests.doubles.scripted_talk import of_conversation
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import begun_as, run_with_deaths
from tests.unit.executor.stage import APPROVE, TASK, Stage, decision, message

_GATE = FsmState.APPROVAL_GATE
_REPLIES = 4  # that such a task takes


async def _begun(process_type: str) -> Stage:
    """A task of that kind, whose model reads, calculates, changes one thing and tells who is to be told."""
    party = BUILT_IN_TEMPLATES[process_type].notice_to
    told: JsonObject = {f"{party}_id": "C-1", "text": "approved"}
    notices = [("notify_person", told)] if party else []
    stage = await begun_as(BUILT_IN_TEMPLATES[process_type], APPROVE, *notices)
    double: JsonObject = {"name": "double", "operation": "sum", "operands": ["r1.amount", "r1.amount"]}
    stage.talk.rounds.insert(1, [("calculate", double)])
    return stage


def _states(stage: Stage) -> list[str]:
    """The states that were walked, the gate once however often it was reopened."""
    told = stage.turns.record.metadata["states"]
    assert isinstance(told, list)
    return [str(state) for place, state in enumerate(told) if not (state == _GATE and told[place - 1] == _GATE)]


def _walked(process_type: str) -> list[str]:
    """What the conversation walks by what it does, then the states of the process for its plan, with the gate."""
    states = [state.value for state in BUILT_IN_TEMPLATES[process_type].states]
    plan = [state for state in states if state not in ("DECOMPOSE", "ASSESS", "COMPUTE")]
    if _GATE not in plan:
        plan.insert(plan.index(FsmState.MUTATE), _GATE)
    return ["DECOMPOSE", "ASSESS", "COMPUTE", *plan]


@pytest.mark.promise("fsm.resumed_at_any_state")
@each_row("process_type", BUILT_IN_TEMPLATES)
async def test_a_process_that_dies_in_every_state_walks_them_all_and_writes_once(process_type: str) -> None:
    stage = await _begun(process_type)
    stage.policy.says = {"requires_approval": True}
    await run_with_deaths(stage, message(TASK))
    for number in count():
        if stage.turns.record.state is not TaskState.INPUT_REQUIRED:
            break
        assert stage.claims.applied == []
        await stage.run(decision("approve", turn_id=f"yes-{number}"))
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert _states(stage) == _walked(process_type)
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("fsm.failed_in_any_state")
@pytest.mark.parametrize("process_type", BUILT_IN_TEMPLATES)
@pytest.mark.parametrize("reply", range(1, _REPLIES + 1))
async def test_a_process_whose_model_breaks_fails_where_it_stands_with_the_reason(
    process_type: str, reply: int
) -> None:
    stage = await _begun(process_type)

    def broken(request: ModelRequest) -> ModelReply:
        if len(of_conversation(stage.model.requests)) >= reply and not state_of(request):
            raise ModelUnavailable("no such model")
        return stage.talk(request)

    stage.model._script = broken
    await stage.run()
    for number in range(5):
        if stage.turns.record.state is TaskState.INPUT_REQUIRED:
            await stage.run(decision("approve", turn_id=f"yes-{number}"))
    record = stage.turns.record
    assert (record.state, _states(stage)[-1]) == (TaskState.FAILED, FsmState.FAILED)
    assert "no such model" in (record.reason or "")
    assert stage.claims.applied == (["C-1"] if reply == _REPLIES else [])
