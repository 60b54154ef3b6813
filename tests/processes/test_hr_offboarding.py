"""hr_offboarding: access goes one right after the other, each proved before the next, and the account last."""

import pytest

from examples.demo.books import BookChange
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from tests.processes.expectations import exactly, message, path, row, statuses
from tests.processes.mishaps import OUT_OF_ORDER
from tests.processes.stage import Stage

TASK = (
    "Offboard employee EMP-404. Revoke all active access of employee EMP-404, then deactivate the employee and notify"
    " EMP-118 that the account is closed."
)
RIGHTS = ("ACC-9032", "ACC-9033", "ACC-9034", "ACC-9035")


def _revoked(*rights: str) -> list[BookChange]:
    return [change for right in rights for change in row("access_rights", right, status="revoked")]


@pytest.mark.promise("process.hr_offboarding")
async def test_access_goes_before_the_account_and_then_somebody_is_told(stage: Stage) -> None:
    task = await stage.send(TASK)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P M N X"), task.reason
    assert statuses(task)[:5] == [*[("revoke_access", "verified")] * 4, ("deactivate_employee", "verified")]
    assert stage.writes == (*["revoke_access"] * 4, "deactivate_employee", "notify_employee")
    assert stage.changes == exactly(
        _revoked(*RIGHTS), row("employees", "EMP-404", status="former"), message(4004, "EMP-118")
    )


async def _with_a_revocation_that_nothing_proves(stage: Stage, process: str | None = None) -> TaskRecord:
    stage.faults.after("revoke_access", {"get_access": OUT_OF_ORDER, "list_access": OUT_OF_ORDER})
    return await stage.send(TASK, process)


@pytest.mark.promise("process.hr_offboarding")
async def test_after_a_revocation_that_nothing_proves_no_other_goes_out(stage: Stage) -> None:
    task = await _with_a_revocation_that_nothing_proves(stage)
    assert task.state is TaskState.FAILED
    assert "step by step" in (task.reason or "")
    assert stage.writes == ("revoke_access",)
    assert stage.changes == exactly(_revoked("ACC-9032"))


async def test_as_a_general_task_the_revocations_go_on(stage: Stage) -> None:
    task = await _with_a_revocation_that_nothing_proves(stage, "general")
    assert statuses(task)[:4] == [("revoke_access", "unverified")] * 4
    assert stage.writes[:5] == (*["revoke_access"] * 4, "deactivate_employee")
