"""ar_collections: every row of the overdue list goes the way of its age, and whoever goes none is named."""

import pytest

from examples.demo.books import BookChange
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from tests.processes.expectations import exactly, message, path, row
from tests.processes.stage import Stage

_TASK = (
    "Work through accounts receivable: take the step of its age for every overdue receivable that was due before"
    " 2026-04-01."
)
_REMINDED = ("REC-1308", "REC-1323")  # 20 and 5 days
_IN_INSTALMENTS = ("REC-1301", "REC-1304", "REC-1312", "REC-1317")  # 50, 60, 44 and 39 days
_DEMANDED = ("REC-1306", "REC-1311", "REC-1321", "REC-1326")  # 81, 76, 66 and 71 days
_HANDED_OVER = ("REC-1302", "REC-1303")  # 107 and 122 days
_LEFT_OUT = "REC-1305"  # 183 days, and with the collectors already
_LETTERS = ("CUS-806", "CUS-808", "CUS-811", "CUS-806", "CUS-808", "CUS-811")  # in the order of their receivables


def _steps() -> tuple[BookChange, ...]:
    plans = (
        row("payment_plans", f"PPL-{number}", id=f"PPL-{number}", receivable_id=key, instalments=3, status="active")
        for number, key in enumerate(_IN_INSTALMENTS, 2702)
    )
    letters = (message(number, customer) for number, customer in enumerate(_LETTERS, 4004))
    dunned = {
        **dict.fromkeys(_REMINDED, "reminded"),
        **dict.fromkeys(_DEMANDED, "last_demand"),
        **dict.fromkeys(_HANDED_OVER, "collections"),
    }
    return exactly(*plans, *letters, *(row("receivables", key, dunning=step) for key, step in dunned.items()))


def _steps_of(task: TaskRecord) -> dict[str, tuple[str, str]]:
    """By receivable: the step taken, and what came of it."""
    writes = task.metadata["writes"]
    assert isinstance(writes, list)
    found: dict[str, tuple[str, str]] = {}
    for write in writes:
        assert isinstance(write, dict)
        given = write["arguments"]
        assert isinstance(given, dict)
        found[str(given["receivable_id"])] = (str(write["tool"]), str(write["status"]))
    return found


@pytest.mark.promise("process.ar_collections")
async def test_each_of_the_overdue_goes_the_way_of_its_age(stage: Stage) -> None:
    """13 rows in two pages, of ten customers; a row that is where its way leads already is left out by name."""
    task = await stage.send(_TASK)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P M N X"), task.reason
    assert _steps_of(task) == {
        **dict.fromkeys(_REMINDED, ("send_reminder", "sent")),
        **dict.fromkeys(_IN_INSTALMENTS, ("create_payment_plan", "verified")),
        **dict.fromkeys(_DEMANDED, ("send_final_notice", "sent")),
        **dict.fromkeys(_HANDED_OVER, ("hand_over_to_collections", "verified")),
    }
    assert stage.changes == _steps()
    assert f"Left out: {_LEFT_OUT}" in str(task.answer)


@pytest.mark.promise("process.ar_collections")
async def test_the_same_task_as_a_general_one_knows_no_ways_and_does_nothing(stage: Stage) -> None:
    task = await stage.send(_TASK, process="general")
    assert (task.state, path(task), stage.changes) == (TaskState.FAILED, "D A X F", ())


@pytest.mark.promise("process.ar_collections")
async def test_whoever_a_task_names_gets_the_step_that_it_says(stage: Stage) -> None:
    """Ways are for what a task leaves open; of nobody else anything is asked, for no list is meant."""
    task = await stage.send("Accounts receivable: send a final notice for the overdue receivable REC-1308.")
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P M N X"), task.reason
    assert stage.changes == exactly(row("receivables", "REC-1308", dunning="last_demand"), message(4004, "CUS-808"))
