"""month_end_close: revenue over every page of contracts, exact, and a variance that is not closed without finance."""

from decimal import Decimal
from pathlib import Path

import pytest

from services.executor.core.figures.finance import run_calculator
from services.executor.core.session.context import Limits
from services.executor.core.tools.listing import ListBounds
from shared.domain.words import TaskState
from tests.processes.expectations import exactly, message, path, row, rules, statuses, values
from tests.processes.people import FINANCE, MANAGER
from tests.processes.stage import Stage, open_stage

pytestmark = pytest.mark.promise("process.month_end_close")


def _close(period: str) -> str:
    return (
        f"Month-end close of period {period}: record the revenue booking of the recognized revenue, then close period"
        f" {period} and notify EMP-103 that the period is closed."
    )


_WRITTEN = [("record_revenue_booking", "verified"), ("close_ledger_period", "verified"), ("notify_employee", "sent")]
_BOOKING = {"id": "JNL-2504", "debit_id": "LAC-2453", "credit_id": "LAC-2454", "purpose": "Revenue recognised"}


def _recognized(stage: Stage, year: int, month: int) -> Decimal:
    """By the calculator, contract by contract, straight from the rows."""
    cells = stage.before.cells
    keys = sorted({key for table, key, _ in cells if table == "customer_contracts"})
    total = Decimal(0)
    for key in keys:
        value, months, starts = (
            cells["customer_contracts", key, name] for name in ("value_cents", "months", "starts_on")
        )
        begun_year, begun_month = (int(part) for part in str(starts).split("-")[:2])
        elapsed = (year - begun_year) * 12 + month - begun_month + 1
        total += run_calculator(
            "recognized_revenue", (Decimal(str(value)) / 100, Decimal(str(months)), Decimal(elapsed))
        )
    return total


async def test_a_period_is_closed_over_the_revenue_of_every_contract(stage: Stage) -> None:
    """24 contracts in three pages; the sum agrees with a count of its own."""
    task = await stage.send(_close("LDP-2402"))
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M N X"), task.reason
    assert values(task) == {"recognized_revenue": str(_recognized(stage, 2026, 3)), "close_variance": "212.40"}
    assert values(task)["recognized_revenue"] == "114044.71"
    assert statuses(task) == _WRITTEN
    assert stage.changes == exactly(
        row("ledger_bookings", "JNL-2504", ledger_period_id="LDP-2402", amount_cents=11404471, **_BOOKING),
        row("ledger_periods", "LDP-2402", status="closed", closed_at="2026-04-01T12:00:00.000+00:00"),
        message(4004, "EMP-103"),
    )


async def test_a_variance_over_the_limit_waits_for_finance(stage: Stage) -> None:
    task = await stage.send(_close("LDP-2403"))
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ()), task.reason
    assert (values(task)["close_variance"], rules(task)) == ("1840.15", ["close-variance"])
    task = await stage.decide(task, MANAGER)
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ()), task.reason
    task = await stage.decide(task, FINANCE)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M N X"), task.reason
    assert stage.changes == exactly(
        row("ledger_bookings", "JNL-2504", ledger_period_id="LDP-2403", amount_cents=13099456, **_BOOKING),
        row("ledger_periods", "LDP-2403", status="closed", closed_at="2026-04-01T12:00:00.000+00:00"),
        message(4004, "EMP-103"),
    )


_STATED = _close("LDP-2402").replace("the recognized revenue", "the amount 114044.71")
_TWO_PAGES = Limits(lists=ListBounds(pages=2))


async def test_contracts_that_were_not_read_to_their_end_are_for_a_person(tmp_path: Path, redis_url: str) -> None:
    """The figure is stated by the task, so that there is a plan; of the revenue over part of a list nothing is said."""
    async with open_stage(tmp_path, redis_url, limits=_TWO_PAGES) as stage:
        stage.tenants.record = stage.tenants.record.model_copy(update={"strict_processes": True})
        task = await stage.send(_STATED)
        assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ()), task.reason
        assert "list_period_contracts" in str(task.reason)
        assert "recognized_revenue" not in values(task)


async def test_a_general_task_does_not_mind_part_of_a_list(tmp_path: Path, redis_url: str) -> None:
    async with open_stage(tmp_path, redis_url, limits=_TWO_PAGES) as stage:
        task = await stage.send(_STATED, process="general")
        assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P M X"), task.reason
