"""Every kind of process: its states in their order, resumed wherever it died, failed wherever it cannot go on."""

from itertools import count

import pytest

from services.executor.core.fsm.templates import TEMPLATES
from services.executor.ports.models import ModelReply, ModelRequest, ModelUnavailable
from shared.domain.words import FsmState, TaskState
from tests.doubles.scripted_model import state_of
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import begun_as, run_with_deaths
from tests.unit.executor.stage import CALL, TASK, Stage, decision, message

_GATE = FsmState.APPROVAL_GATE


async def _started(process_type: str) -> Stage:
    stage = await begun_as(TEMPLATES[process_type], CALL)
    stage.policy.says = {"requires_approval": True}
    return stage


def _states(stage: Stage) -> list[str]:
    """The states that were walked, the gate once however often it was reopened."""
    told = stage.turns.record.metadata["states"]
    assert isinstance(told, list)
    return [str(state) for place, state in enumerate(told) if not (state == _GATE and told[place - 1] == _GATE)]


def _with_gate(process_type: str) -> list[str]:
    states = [state.value for state in TEMPLATES[process_type].states]
    if _GATE not in states:
        states.insert(states.index(FsmState.MUTATE), _GATE)
    return states


def _thinks(state: str) -> bool:
    """Whether a model is asked in a state that every run of the process comes to."""
    return state in ("DECOMPOSE", "ASSESS", "COMPUTE", "WRITE PLAN", "COMPLETE")


@pytest.mark.promise("fsm.resumed_at_any_state")
@pytest.mark.parametrize("process_type", TEMPLATES)
async def test_a_process_that_dies_in_every_state_walks_them_all_and_writes_once(process_type: str) -> None:
    stage = await _started(process_type)
    await run_with_deaths(stage, message(TASK))
    for number in count():
        if stage.turns.record.state is not TaskState.INPUT_REQUIRED:
            break
        assert stage.claims.applied == []
        await stage.run(decision("approve", turn_id=f"yes-{number}"))
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert _states(stage) == _with_gate(process_type)
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("fsm.failed_in_any_state")
@pytest.mark.parametrize(
    ("process_type", "state"),
    [
        (name, word)
        for name, template in TEMPLATES.items()
        for word in (*template.states, "WRITE PLAN")
        if _thinks(word)
    ],
)
async def test_a_process_whose_model_goes_away_fails_where_it_stands_with_the_reason(
    process_type: str, state: str
) -> None:
    stage = await begun_as(TEMPLATES[process_type], CALL)

    def away(_request: ModelRequest) -> ModelReply:
        raise ModelUnavailable("overloaded")

    stage.scripts[state.lower().replace(" ", "_")] = away
    await stage.run()
    for number in range(5):
        if stage.turns.record.state is TaskState.INPUT_REQUIRED:
            await stage.run(decision("approve", turn_id=f"yes-{number}"))
    record = stage.turns.record
    assert (record.state, _states(stage)[-1]) == (TaskState.FAILED, FsmState.FAILED)
    assert "overloaded" in (record.reason or "")
    assert stage.claims.applied == (["C-1"] if state == "COMPLETE" else [])
    assert state_of(stage.model.requests[-1]) == state
