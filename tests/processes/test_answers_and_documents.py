"""What a task says at its end: documents from the company's own data, and a score that flatters nobody."""

import pytest

from shared.domain.quality import WEAK
from shared.domain.words import TaskState
from tests.processes.stage import Stage


@pytest.mark.promise("documents.asked")
async def test_a_post_mortem_is_written_from_what_was_read_and_changes_nothing(stage: Stage) -> None:
    """The planner plans no call for it; what nobody can know is marked, not made up."""
    task = await stage.send("Write a post-mortem of incident INC-1501.")
    (document,) = task.artifacts
    text = document.text or ""

    assert (task.state, document.name, stage.changes) == (TaskState.COMPLETED, "post_mortem", ()), task.reason
    assert "Checkout times out" in text
    assert "| 2026-03-02T09:00:00.000+00:00 | created at | INC-1501 |" in text
    assert "[ROOT CAUSE \N{EM DASH} REQUIRED]" in text


@pytest.mark.promise("reflect.idle_runs")
async def test_a_reconciliation_of_an_invoice_that_does_not_exist_is_no_example(stage: Stage) -> None:
    task = await stage.send("Reconcile invoice INV-9999 with its purchase order.")
    assert task.metadata["quality"] in (0.0, pytest.approx(0.4))
    assert "PO-" not in (task.answer or "")


@pytest.mark.promise("reflect.idle_runs")
async def test_a_right_answer_in_prose_is_not_weak(stage: Stage) -> None:
    task = await stage.send("Who is the manager of employee EMP-404?")
    assert "EMP-118" in (task.answer or "")
    quality = task.metadata["quality"]
    assert isinstance(quality, float)
    assert quality >= WEAK


@pytest.mark.promise("reflect.improvement")
async def test_an_answer_says_the_amount_that_its_process_requires(stage: Stage) -> None:
    task = await stage.send("Approve expense claim EXP-1002.")
    assert "86.40" in (task.answer or "").partition("\n\nWrites:")[0]
