"""What a task says and leaves at its end; figures, limits and processes that no file describes."""

import pytest

from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskRecord
from shared.domain.quality import WEAK_SCORE
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.redis import connect
from shared.infra.stored_outcomes import unpack_outcome
from tests.processes.errands import ERRANDS
from tests.processes.expectations import exactly, path, row, statuses, values
from tests.processes.people import MANAGER
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
    assert quality >= WEAK_SCORE


@pytest.mark.promise("reflect.improvement")
async def test_an_answer_says_the_amount_that_its_process_requires(stage: Stage) -> None:
    task = await stage.send("Approve expense claim EXP-1002.")
    assert "86.40" in (task.answer or "").partition("\n\nWrites:")[0]


@pytest.mark.promise("planner.formulas")
async def test_a_refund_is_of_the_prorated_amount_that_the_task_describes(stage: Stage) -> None:
    """120.00 less 10 of 30 days: 80.00, though the order itself has another total."""
    task = await stage.send(
        "Refund order ORD-2002 the prorated remaining amount, because it was cancelled early. The total is 120.00,"
        " with 10 days used of 30 total days."
    )
    assert (task.state, statuses(task)) == (TaskState.COMPLETED, [("create_refund", "verified")]), task.reason
    assert values(task)["prorated_remaining"] == "80.00"
    (amount,) = [
        change.value for change in stage.changes if (change.table, change.column) == ("refunds", "amount_cents")
    ]
    assert amount == 8000


async def _outcome(redis_url: str, task: TaskRecord) -> TaskOutcome:
    redis = connect(redis_url)
    rows = await redis.xrange(keys.partition_keys_of(task.tenant, task.session_id).outcomes)
    await redis.aclose()
    found = [TaskOutcome.model_validate_json(unpack_outcome(fields["o"])[1]) for _, fields in rows]
    return next(outcome for outcome in found if outcome.task_id == task.task_id)


@pytest.mark.promise("outcome.thresholds")
async def test_a_credit_as_computed_and_as_written_reaches_the_learner(stage: Stage, redis_url: str) -> None:
    """The limit of its process held: the credit is not over it, and nothing escalated."""
    task = await stage.send(ERRANDS["sla_breach"])
    assert task.state is TaskState.COMPLETED, task.reason
    told = [one for one in (await _outcome(redis_url, task)).thresholds if one.name == "sla_credit"]
    limit, figure = told
    assert (limit.sign, limit.predicted, limit.actual, limit.held) == (">", "10000", "224.00", True)
    assert (figure.predicted, figure.held) == ("224.00", True)


_TASK = "Process type: asset_handover. Assign asset AST-1721 to employee EMP-451."
_WITH_SIGN_OFF = (
    "Process type: signed_handover. Handing over needs a sign-off. Assign asset AST-1721 to employee EMP-451."
)


def _found_by(metadata: dict[str, object]) -> object:
    said = metadata["classification"]
    return said["by"] if isinstance(said, dict) else None


@pytest.mark.promise("synthesis.once")
async def test_an_unknown_kind_is_designed_walked_and_kept(stage: Stage) -> None:
    task = await stage.send(_TASK)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P M X"), task.reason
    assert (task.metadata["process_type"], _found_by({**task.metadata})) == ("asset_handover", "synthesizer")
    assert statuses(task) == [("assign_asset", "verified")]
    assert stage.changes == exactly(row("assets", "AST-1721", employee_id="EMP-451", status="assigned"))
    again = await stage.send(_TASK.replace("AST-1721", "AST-1720"))
    assert (again.metadata["process_type"], _found_by({**again.metadata})) == ("asset_handover", "synthesized before")


@pytest.mark.promise("synthesis.high_risk_asks")
async def test_a_design_that_wants_an_approval_waits_for_a_person(stage: Stage) -> None:
    """By a rule of its own, which the policy service judges; nothing is written before."""
    task = await stage.send(_WITH_SIGN_OFF)
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ()), task.reason
    assert "approval-wanted" in str(task.reason)
    done = await stage.decide(task, MANAGER)
    assert (done.state, path(done)) == (TaskState.COMPLETED, "D A P G M X")
    assert statuses(done) == [("assign_asset", "verified")]
