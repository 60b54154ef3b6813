"""Each strategy carries processes end to end: the same writes, proved, behind the same gate as by fsm."""

from pathlib import Path
from typing import NamedTuple

import pytest

from examples.demo.books import BookChange
from services.executor.core.session.context import Limits
from shared.contracts.task import TaskRecord
from shared.domain.words import Strategy, TaskState
from tests.processes.expectations import exactly, path, row, statuses
from tests.processes.people import FINANCE, LEGAL, MANAGER, approver
from tests.processes.stage import Stage, open_stage

DELIBERATING = (Strategy.FIVE_PHASE, Strategy.MOA)
TEXTS = {
    "expense_approval": "Approve expense claim EXP-1001.",
    "procurement": "Approve purchase order PO-7021 and notify the vendor that it is approved.",
    "hr_offboarding": (
        "Offboard employee EMP-404. Revoke all active access of employee EMP-404,"
        " then deactivate the employee and notify EMP-118 that the account is closed."
    ),
    "invoice_reconciliation": (
        "Flag invoice INV-6001 with the difference between the invoice and its purchase order,"
        " because its reconciliation does not come out even."
    ),
    "order_management": "Modify item ITM-2306 of order ORD-2006 to product PRD-2213 at the quoted new total.",
    "sla_breach": (
        "Service level SLA-1404 is broken. Record the SLA credit for incident INC-1504 under SLA-1404,"
        " because the portal was down too long, and notify customer CUS-814 that the credit is recorded."
    ),
    "subscription_migration": (
        "Migrate subscription SBS-1208 to plan Growth and notify customer CUS-811 that the plan is changed."
    ),
    "payroll": (
        'Payroll for 2026-04: approve every prepared payroll run of period "2026-04", then release bank file BNK-2802'
        " over the total net and notify EMP-103 that the salaries are paid."
    ),
    "incident_response": "Resolve incident INC-1510: the printouts were deleted. Notify EMP-103 that it is resolved.",
    "customer_onboarding": (
        "Onboard the new customer Nordlys Tea with email hello@nordlystea.example: create the customer and create a"
        " subscription to the plan Growth with 12 seats, and send a welcome message to the customer."
    ),
    "compliance_audit": (
        "Audit the KYC of customer CUS-807: record a KYC shortfall for each KYC document that is missing or expired,"
        " and notify EMP-103 of the result."
    ),
    "dispute_resolution": "Resolve dispute DSP-2501: the customer gets a voucher.",
    "month_end_close": (
        "Month-end close of period LDP-2402: record the revenue booking of the recognized revenue, then close period"
        " LDP-2402 and notify EMP-103 that the period is closed."
    ),
    "ar_collections": (
        "Work through accounts receivable: take the step of its age for every overdue receivable that was due before"
        " 2026-04-01."
    ),
    "general": "Handle the equipment request of EMP-451. Assign asset AST-1721 to employee EMP-451.",
}


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
        task = await stage.send(TEXTS["expense_approval"])
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
        task = await stage.send(TEXTS["invoice_reconciliation"])
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
@pytest.mark.parametrize("process_type", TEXTS)
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
        task = await _approved(stage, await stage.send(TEXTS[process_type]))
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
