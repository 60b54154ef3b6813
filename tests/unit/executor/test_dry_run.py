"""A dry run does everything but writes and notices, and answers with the plan."""

from typing import cast

import pytest

from shared.contracts.policy import Rule
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import READ, READ_2, TASK, Stage, use


def _dry(stage: Stage, value: object = True) -> Stage:
    record = stage.turns.record
    request = record.request.model_copy(update={"metadata": {"dry_run": value}})
    stage.turns.record = record.model_copy(update={"request": request})
    return stage


def _untouched(stage: Stage) -> bool:
    return not (stage.claims.applied or stage.claims.told or stage.turns.writes or stage.turns.approvals)


@pytest.mark.promise("dry_run.no_writes", "dry_run.not_learned_from")
async def test_it_ends_with_the_plan_and_leaves_the_world_as_it_was() -> None:
    """Calls, arguments, verdict and approval as a table for people and as data; nothing in the ledger."""
    stage = _dry(Stage())
    record = await stage.run()
    assert (record.state, _untouched(stage)) == (TaskState.COMPLETED, True)
    assert '| c1 | approve_claim | claim_id="C-1" | change | get_claim | stop |' in (record.answer or "")
    assert "Policy: passed." in (record.answer or "")
    assert "MUTATE" not in str(record.metadata["states"])
    assert record.metadata["dry_run"] is True
    assert _planned(record) == ["approve_claim"]
    assert stage.servers.called("get_claim") == [{"claim_id": "C-1"}]
    outcome = stage.outcome
    assert (outcome.dry_run, outcome.strategy_applied) == (True, False)  # it is a task; its strategy was not tried
    assert (await replayed(stage)).is_same


@pytest.mark.promise("dry_run.no_writes")
async def test_it_waits_for_nobody_says_for_whom_a_real_run_would_and_is_refused_where_policy_blocks() -> None:
    stage = _dry(Stage())
    stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
    record = await stage.run()
    assert (record.state, _untouched(stage)) == (TaskState.COMPLETED, True)
    assert "a real run would wait for a manager" in (record.answer or "")
    stage = _dry(Stage())
    stage.policy.says = {"blocked": True, "passed": False}
    record = await stage.run()
    assert (record.state, _untouched(stage), record.metadata["dry_run"]) == (TaskState.REJECTED, True, True)


@pytest.mark.promise("dry_run.no_writes")
@each_row("value", ["true", 1, 0, "no", {}, False])
async def test_whatever_is_not_plainly_no_means_a_dry_run(value: object) -> None:
    """A client that wrote it wrongly finds nothing changed."""
    stage = _dry(Stage(), value)
    record = await stage.run()
    assert _untouched(stage) is (value is not False)
    assert stage.claims.applied == ([] if value is not False else ["C-1"])
    assert ("dry_run" in record.metadata) is (value is not False)


@pytest.mark.promise("dry_run.no_writes")
async def test_the_answer_and_the_plan_name_what_the_plan_leaves_out() -> None:
    """A part without a call, and a call that a rule blocks."""
    part = "Tell the clerk"
    stage = _dry(Stage(f"{TASK}. {part}", [READ], [use("approve_claim", 1, claim_id="C-1")], parts=(TASK, part)))
    record = await stage.run()
    assert f"Not in this plan: \u201c{part}\u201d: no call for it was proposed" in (record.answer or "")
    assert [omission["what"] for omission in _left_out(record)] == [f"\u201c{part}\u201d"]
    parts, other = ("Approve claim C-1", "approve claim C-2"), use("approve_claim", 2, claim_id="C-2")
    stage = _dry(
        Stage(" and ".join(parts), [READ, READ_2], [use("approve_claim", 1, claim_id="C-1"), other], parts=parts)
    )
    stage.claims.rows["C-2"] = {**stage.claims.rows["C-2"], "amount": 9000}
    stage.judge_by(Rule(id="TOO-MUCH", condition="amount > 5000", action="block"))
    record = await stage.run()
    assert (record.state, _planned(record)) == (TaskState.COMPLETED, ["approve_claim"])
    (omission,) = _left_out(record)
    assert omission["what"] == 'approve_claim {"claim_id":"C-2"}'
    assert "TOO-MUCH" in omission["reason"]
    assert f"Not in this plan: {omission['what']}" in (record.answer or "")


def _left_out(record: TaskRecord) -> list[dict[str, str]]:
    (artifact,) = record.artifacts
    return cast("list[dict[str, str]]", (artifact.data or {})["not_planned"])


def _planned(record: TaskRecord) -> list[object]:
    (artifact,) = record.artifacts
    calls = (artifact.data or {})["calls"]
    assert isinstance(calls, list)
    return [call["tool"] for call in calls if isinstance(call, dict)]
