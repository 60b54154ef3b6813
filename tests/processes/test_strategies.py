"""Each strategy carries processes end to end: the same writes, proved, behind the same gate as by fsm."""

from pathlib import Path
from typing import NamedTuple

import pytest

from examples.demo.books import BookChange
from services.executor.core.session.context import Limits
from shared.contracts.task import TaskRecord
from shared.domain.words import Strategy, TaskState
from tests.processes.errands import ERRANDS
from tests.processes.expectations import exactly, path, row, statuses
from tests.processes.people import FINANCE, LEGAL, MANAGER, approver
from tests.processes.stage import Stage, open_stage

DELIBERATING = (Strategy.FIVE_PHASE, Strategy.MOA)


class Done(NamedTuple):
    """What a task came to: how it ended, its way, and what it left in the company's database."""

    state: TaskState
    path: str
    writes: list[tuple[str, str]]
    changes: tuple[BookChange, ...]


def _only(strategy: Strategy) -> Limits:
    return Limits(strategies=(strategy,))


@pytest.mark.promise("strategy.five_phase")
async def test_five_phase_writes_only_what_a_manager_approved(tmp_path: Path, redis_url: str) -> None:
    async with open_stage(tmp_path, redis_url, limits=_only(Strategy.FIVE_PHASE)) as stage:
        task = await stage.send(ERRANDS["expense_approval"])
        assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ())
        task = await stage.decide(task, MANAGER)
        assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M X"), task.reason
        assert (task.metadata["strategy"], task.metadata["strategy_fell_back"]) == ("five_phase", None)
        assert stage.changes == exactly(
            row("budgets", "BUD-05", spent_cents=1523900), row("expenses", "EXP-1001", status="approved")
        )


@pytest.mark.promise("strategy.moa")
async def test_moa_computes_a_variance_to_the_cent(tmp_path: Path, redis_url: str) -> None:
    async with open_stage(tmp_path, redis_url, limits=_only(Strategy.MOA)) as stage:
        task = await stage.send(ERRANDS["invoice_reconciliation"])
        assert (task.state, path(task)) == (TaskState.COMPLETED, "D A C P M X"), task.reason
        assert task.metadata["strategy"] == "moa"
        assert stage.changes == exactly(row("invoices", "INV-6001", status="flagged", variance_cents=23137))


@pytest.mark.promise("strategy.obeys_the_gate")
@pytest.mark.parametrize("strategy", DELIBERATING)
async def test_a_claim_that_policy_blocks_is_not_written_by_any_strategy(
    tmp_path: Path, redis_url: str, strategy: Strategy
) -> None:
    async with open_stage(tmp_path, redis_url, limits=_only(strategy)) as stage:
        task = await stage.send("Approve expense claim EXP-1008.")
        assert (task.state, stage.changes, stage.writes) == (TaskState.REJECTED, (), ())


@pytest.mark.long
@pytest.mark.promise("strategy.three")
@pytest.mark.parametrize("process_type", ERRANDS)
async def test_every_strategy_brings_a_process_to_the_end_that_fsm_brings_it_to(
    tmp_path: Path, redis_url: str, process_type: str
) -> None:
    by_fsm = await _carried(tmp_path / "fsm", redis_url, Strategy.FSM, process_type)
    assert by_fsm.state is TaskState.COMPLETED
    assert by_fsm.changes
    for strategy in DELIBERATING:
        assert await _carried(tmp_path / strategy, redis_url, strategy, process_type) == by_fsm


async def _carried(folder: Path, redis_url: str, strategy: Strategy, process_type: str) -> Done:
    """The process by one strategy; whoever is asked approves, and nothing is written before."""
    async with open_stage(_new(folder), redis_url, limits=_only(strategy)) as stage:
        task = await _approved(stage, await stage.send(ERRANDS[process_type]))
        told = task.metadata
        assert (told["process_type"], told["strategy"], told["strategy_fell_back"]) == (process_type, strategy, None)
        return Done(task.state, path(task), statuses(task), stage.changes)


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def _approved(stage: Stage, task: TaskRecord) -> TaskRecord:
    people = (MANAGER, approver("sam", "manager"), FINANCE, LEGAL) * 4
    for person in people:
        if task.state is not TaskState.INPUT_REQUIRED:
            break
        assert stage.changes == ()
        task = await stage.decide(task, person)
    return task
