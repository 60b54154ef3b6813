"""general: a task of no special kind is read, planned, judged and carried out, and shows no process's behaviour."""

import pytest

from services.executor.core.states.machine import GENERAL_TEMPLATE
from shared.domain.words import TaskState
from tests.processes.expectations import exactly, path, row, statuses, values
from tests.processes.stage import Stage

_TASK = "Handle the equipment request of EMP-451. Assign asset AST-1721 to employee EMP-451."


@pytest.mark.promise("process.general")
async def test_a_task_of_no_special_kind_is_done_and_proved(stage: Stage) -> None:
    task = await stage.send(_TASK)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P M X"), task.reason
    assert task.metadata["process_type"] == "general"
    assert statuses(task) == [("assign_asset", "verified")]
    assert (values(task), stage.writes) == ({}, ("assign_asset",))
    assert stage.changes == exactly(row("assets", "AST-1721", employee_id="EMP-451", status="assigned"))


@pytest.mark.promise("process.general")
async def test_what_the_company_refuses_is_not_reported_as_done(stage: Stage) -> None:
    """Somebody who left gets nothing: the write fails, and nothing changed."""
    task = await stage.send("Handle the equipment request of EMP-389. Assign asset AST-1720 to employee EMP-389.")
    assert (task.state, stage.changes) == (TaskState.FAILED, ()), task.reason


def test_the_general_process_has_no_behaviour_of_its_own() -> None:
    """What the other processes are compared with."""
    own = (
        GENERAL_TEMPLATE.figures,
        GENERAL_TEMPLATE.rules,
        GENERAL_TEMPLATE.routes,
        GENERAL_TEMPLATE.confirmations,
        GENERAL_TEMPLATE.two_persons_about,
    )
    switches = (
        GENERAL_TEMPLATE.sequence,
        GENERAL_TEMPLATE.whole_lists,
        GENERAL_TEMPLATE.escalates,
        GENERAL_TEMPLATE.quiet_hours,
        GENERAL_TEMPLATE.notice_to,
    )
    assert not any((*own, *switches))
