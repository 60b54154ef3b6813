"""subscription_migration: five confirmations in sequence, each an approval of its own on the same plan."""

import pytest

from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from tests.processes.errands import ERRANDS
from tests.processes.expectations import exactly, message, path, row, statuses
from tests.processes.people import FINANCE, MANAGER
from tests.processes.stage import Stage

pytestmark = pytest.mark.promise("process.subscription_migration")

_TASK = ERRANDS["subscription_migration"]
_CONFIRMATIONS = ("what changes", "data kept or lost", "billing", "effective date", "final go")
_MOVED = exactly(row("subscriptions", "SBS-1208", plan_name="Growth", monthly_cents=110400), message(4004, "CUS-811"))


def _asked(task: TaskRecord) -> str:
    """The confirmation that is asked for."""
    assert task.state == TaskState.INPUT_REQUIRED, task.reason
    return str(task.reason).partition("(")[2].partition(")")[0]


async def test_a_subscription_moves_after_five_confirmations_in_their_order(stage: Stage) -> None:
    task, asked = await stage.send(_TASK), []
    for place in range(len(_CONFIRMATIONS)):
        asked.append(_asked(task))
        assert stage.changes == ()
        task = await stage.decide(task, (MANAGER, FINANCE)[place % 2])
    assert tuple(asked) == _CONFIRMATIONS
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G G G G G M N X"), task.reason
    assert statuses(task) == [("migrate_subscription", "verified"), ("notify_customer", "sent")]
    assert stage.changes == _MOVED


async def test_the_same_task_as_a_general_one_is_confirmed_by_nobody(stage: Stage) -> None:
    task = await stage.send(_TASK, process="general")
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P M X"), task.reason
    assert stage.changes == _MOVED


async def test_a_downgrade_is_such_a_migration_too(stage: Stage) -> None:
    """Named by its word, to whichever plan there is."""
    task = await stage.send("Downgrade subscription SBS-1209 to plan Starter and notify customer CUS-812.")
    for _ in _CONFIRMATIONS:
        task = await stage.decide(task, MANAGER)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G G G G G M N X"), task.reason
    moved = row("subscriptions", "SBS-1209", plan_name="Starter", monthly_cents=31350)
    assert stage.changes == exactly(moved, message(4004, "CUS-812"))
