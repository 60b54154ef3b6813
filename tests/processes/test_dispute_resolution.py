"""dispute_resolution: a dispute is decided once; what takes an elevated review is taken to a manager."""

import pytest

from shared.domain.words import TaskState
from tests.processes.expectations import exactly, path, row, rules, statuses
from tests.processes.people import FINANCE, MANAGER
from tests.processes.stage import Stage

ELEVATED = [
    pytest.param("DSP-2503", "elevated-review", id="marked for it"),
    pytest.param("DSP-2502", "large-dispute", id="over 1,000"),
]


def _resolve(dispute: str) -> str:
    return f"Resolve dispute {dispute}: the customer gets a voucher."


@pytest.mark.promise("process.dispute_resolution")
async def test_an_ordinary_dispute_is_resolved_without_anybody(stage: Stage) -> None:
    task = await stage.send(_resolve("DSP-2501"))
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M X"), task.reason
    assert statuses(task) == [("resolve_dispute", "verified")]
    resolved = row("disputes", "DSP-2501", status="resolved", resolution="the customer gets a voucher")
    assert stage.changes == exactly(resolved)


@pytest.mark.promise("process.dispute_resolution")
@pytest.mark.parametrize(("dispute", "rule"), ELEVATED)
async def test_an_elevated_review_is_taken_to_a_manager(stage: Stage, dispute: str, rule: str) -> None:
    """The manager decides whether the process goes on at all; nobody below that does."""
    task = await stage.send(_resolve(dispute))
    verdict = task.metadata["verdict"]
    assert isinstance(verdict, dict)
    assert (task.state, rules(task), verdict["escalate"]) == (TaskState.INPUT_REQUIRED, [rule], True)
    task = await stage.decide(task, FINANCE)
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ())
    task = await stage.decide(task, MANAGER)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M X"), task.reason
    resolved = row("disputes", dispute, status="resolved", resolution="the customer gets a voucher")
    assert stage.changes == exactly(resolved)


@pytest.mark.promise("process.dispute_resolution")
async def test_a_manager_s_no_ends_an_elevated_review_without_a_write(stage: Stage) -> None:
    task = await stage.decide(await stage.send(_resolve("DSP-2503")), MANAGER, "reject")
    assert (task.state, path(task), stage.writes) == (TaskState.REJECTED, "D A P G", ())
