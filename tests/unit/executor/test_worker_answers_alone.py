"""A turn that only has its answer left needs no tool server: what was done stays done, wherever the server is."""

import pytest

from shared.domain.words import FsmState, TaskState
from tests.doubles.memory_turns import Died
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage
from tests.unit.executor.test_reflect_improves import BETTER, WEAK, doubtful


def _stage() -> Stage:
    """A change whose answer says too little: the improvement is asked for once everything is called."""
    return doubtful(WEAK, BETTER)


async def _died(step: int) -> Stage:
    """A stage whose process was killed before that write of its store."""
    stage = _stage()
    stage.turns.die_before = step
    with pytest.raises(Died):
        await stage.run()
    stage.turns.die_before = None
    return stage


def _stands_at_the_end(stage: Stage) -> bool:
    entered = [event.data["state"] for event in stage.turns.events if event.kind == "state"]
    return entered[-1:] == [FsmState.COMPLETE.value]


async def _undisturbed() -> Stage:
    whole = _stage()
    await whole.run()
    return whole


@pytest.mark.promise("answer.needs_no_server")
async def test_a_killed_turn_with_its_writes_done_is_answered_although_the_server_is_away() -> None:
    """At every step from the entry of COMPLETE on, as it is with the server there; a replay agrees."""
    whole = await _undisturbed()
    at_the_end = [stage for step in range(whole.turns.stored) if _stands_at_the_end(stage := await _died(step))]
    for stage in at_the_end:
        stage.servers.go_down("office")
        record = await stage.run(attempts=2)
        assert (record.state, record.answer) == (TaskState.COMPLETED, whole.turns.record.answer), record.reason
        again = await replayed(stage)
        assert again.is_same, again.difference
    assert at_the_end


@pytest.mark.promise("answer.needs_no_server")
async def test_a_killed_turn_with_something_left_to_call_asks_the_server_anew() -> None:
    """What may be called, and what calling it does, is never taken from before."""
    whole = await _undisturbed()
    for step in range(1, whole.turns.stored):
        stage = await _died(step)
        if not _stands_at_the_end(stage):
            listed = stage.servers.discoveries
            await stage.run(attempts=2)
            assert stage.servers.discoveries == listed + 1
