"""payroll: gross, taxes by country and net over all runs, a bank file of exactly the net, and finance's approval."""

import pytest

from examples.demo.books import BookChange
from shared.domain.words import TaskState
from tests.processes.expectations import exactly, message, path, row, rules, statuses, values
from tests.processes.people import FINANCE
from tests.processes.stage import Stage

pytestmark = pytest.mark.promise("process.payroll")


def _pay(period: str, file: str) -> str:
    return (
        f'Payroll for {period}: approve every payroll run of period "{period}", then release bank file {file}'
        " over the total net and notify EMP-103 that the salaries are paid."
    )


_APRIL, _MAY = _pay("2026-04", "BNK-2802"), _pay("2026-05", "BNK-2803")
_RUNS = ("RUN-1807", "RUN-1808", "RUN-1809")


def _paid() -> tuple[BookChange, ...]:
    runs = (row("payroll_runs", run, status="settled") for run in _RUNS)
    return exactly(*runs, row("bank_files", "BNK-2802", status="released"), message(4004, "EMP-103"))


async def test_salaries_of_three_countries_are_paid_to_the_cent_after_finance_has_approved(stage: Stage) -> None:
    task = await stage.send(_APRIL)
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ()), task.reason
    assert values(task) == {
        "total_gross": "118111.50",
        "taxes_united_states": "15083.41",
        "taxes_united_kingdom": "9580.85",
        "taxes_germany": "8502.60",
        "total_net": "84944.64",
        "bank_difference": "0.00",
    }
    assert rules(task) == ["pay-out"]
    task = await stage.decide(task, FINANCE)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M N X"), task.reason
    done = [("approve_payroll_run", "verified")] * len(_RUNS)
    assert statuses(task) == [*done, ("release_bank_file", "verified"), ("notify_employee", "sent")]
    assert stage.changes == _paid()


async def test_a_bank_file_that_is_a_cent_off_is_blocked(stage: Stage) -> None:
    """Nobody is asked: no approval helps."""
    task = await stage.send(_MAY)
    assert (task.state, stage.changes) == (TaskState.REJECTED, ()), task.reason
    assert (values(task)["total_net"], values(task)["bank_difference"]) == ("84944.64", "-0.01")
    assert "the bank file's total is not the total net pay" in str(task.reason)


async def test_stated_figures_of_a_general_task_are_neither_compared_nor_approved(stage: Stage) -> None:
    """The net is right and the file is not: the runs are approved, and only the company itself stops the file."""
    text = _MAY.replace("over the total net", "over a total of $84944.64")
    task = await stage.send(text, process="general")
    assert (task.state, rules(task)) == (TaskState.FAILED, []), task.reason
    assert stage.changes == exactly(
        *(row("payroll_runs", run, status="approved") for run in ("RUN-1810", "RUN-1811", "RUN-1812"))
    )


async def test_a_single_run_is_not_paid_unseen(stage: Stage) -> None:
    """Without the list of runs there are no totals: what decides is not known, so a strict tenant is asked."""
    stage.tenants.record = stage.tenants.record.model_copy(update={"strict_processes": True})
    task = await stage.send("Payroll: pay payroll run RUN-1806 an amount of $14323.15.")
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ()), task.reason
    assert "total_net" in str(task.reason)
