"""A kind of process that no file describes: named, designed once by the planner, kept, walked, its writes proved."""

import pytest

from shared.domain.words import TaskState
from tests.processes.expectations import exactly, path, row, statuses
from tests.processes.people import MANAGER
from tests.processes.stage import Stage

_TASK = "Process type: asset_handover. Assign asset AST-1721 to employee EMP-451."
_WITH_SIGN_OFF = (
    "Process type: signed_handover. Handing over needs a sign-off. Assign asset AST-1721 to employee EMP-451."
)


def _found_by(metadata: dict[str, object]) -> object:
    said = metadata["classification"]
    return said["by"] if isinstance(said, dict) else None


@pytest.mark.promise("synthesis.once")
async def test_an_unknown_kind_is_designed_walked_and_kept(stage: Stage) -> None:
    task = await stage.send(_TASK)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P M X"), task.reason
    assert (task.metadata["process_type"], _found_by({**task.metadata})) == ("asset_handover", "synthesizer")
    assert statuses(task) == [("assign_asset", "verified")]
    assert stage.changes == exactly(row("assets", "AST-1721", employee_id="EMP-451", status="assigned"))
    again = await stage.send(_TASK.replace("AST-1721", "AST-1720"))
    assert (again.metadata["process_type"], _found_by({**again.metadata})) == ("asset_handover", "synthesized before")


@pytest.mark.promise("synthesis.high_risk_asks")
async def test_a_design_that_wants_an_approval_waits_for_a_person(stage: Stage) -> None:
    """By a rule of its own, which the policy service judges; nothing is written before."""
    task = await stage.send(_WITH_SIGN_OFF)
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ()), task.reason
    assert "approval-wanted" in str(task.reason)
    done = await stage.decide(task, MANAGER)
    assert (done.state, path(done)) == (TaskState.COMPLETED, "D A P G M X")
    assert statuses(done) == [("assign_asset", "verified")]
