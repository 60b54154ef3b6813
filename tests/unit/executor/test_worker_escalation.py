"""Escalating as a process's own end: done, told, and marked; in every other process it waits for a person."""

import pytest

from services.executor.core.states.machine import TEMPLATES, with_end
from shared.contracts.policy import TriggeredRule
from shared.domain.words import FsmState, RuleAction, TaskState
from tests.unit.executor.stage import Stage

_BREACH = "Approve claim C-1 of 120.50 for the downtime that broke the service level"


def _escalating(text: str, indeterminate: bool = False) -> Stage:
    stage = Stage(text)
    stage.talk.process = "sla_breach" if "downtime" in text else "expense_approval"
    rule = TriggeredRule(
        rule_id="SERIOUS",
        policy_id="p",
        action=RuleAction.ESCALATE,
        level="legal",
        reason="It is a serious breach.",
        indeterminate=indeterminate,
    )
    stage.policy.says = {"passed": False, "escalate": True, "escalation_level": "legal", "triggered_rules": (rule,)}
    return stage


@pytest.mark.promise("fsm.escalate_as_own_end")
async def test_a_breach_that_escalates_is_written_and_ends_completed_and_escalated() -> None:
    stage = _escalating(_BREACH)
    record = await stage.run()
    assert (record.state, stage.claims.applied, stage.statuses) == (TaskState.COMPLETED, ["C-1"], ["verified"])
    assert record.metadata["process_type"] == "sla_breach"
    assert record.metadata["escalated"] is True
    assert record.metadata["quality"] == (await Stage().run()).metadata["quality"]
    states = record.metadata["states"]
    assert isinstance(states, list)
    assert states[-2:] == ["SCHEDULE_NOTIFY", "ESCALATE"]
    assert "Escalated to legal: SERIOUS: It is a serious breach." in (record.answer or "")


@pytest.mark.promise("fsm.escalate_as_own_end")
async def test_a_rule_that_escalates_for_want_of_a_field_waits_even_there() -> None:
    stage = _escalating(_BREACH, indeterminate=True)
    await stage.ends(TaskState.INPUT_REQUIRED, [])


@pytest.mark.promise("fsm.escalate_as_own_end")
async def test_in_another_process_the_same_rule_waits_for_a_person() -> None:
    stage = _escalating("Approve claim C-1 of 120.50")
    await stage.ends(TaskState.INPUT_REQUIRED, [])


@pytest.mark.promise("fsm.escalate_as_own_end")
async def test_an_approval_that_another_rule_asks_for_is_waited_for_first() -> None:
    stage = _escalating(_BREACH)
    stage.policy.says["requires_approval"] = True
    await stage.ends(TaskState.INPUT_REQUIRED, [])


async def test_an_escalated_list_stays_a_list() -> None:
    stage = _escalating(_BREACH)
    stage.talk.form, stage.talk.answer = "list", '["C-1"]'
    record = await stage.run()
    assert (record.answer, record.metadata["escalated"]) == ('["C-1"]', True)


def test_only_the_end_of_a_path_changes() -> None:
    states = TEMPLATES["sla_breach"].states
    assert with_end(states, escalated=True) == (*states[:-1], FsmState.ESCALATE)
    assert with_end(with_end(states, escalated=True), escalated=False) == states
