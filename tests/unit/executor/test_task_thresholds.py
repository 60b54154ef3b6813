"""Limits in the worker: they stand in every prompt with their source, and what they proved to be in the outcome."""

import pytest

from shared.contracts.outcome import PredictionOutcome
from shared.contracts.policy import Policy, Rule, TriggeredRule
from shared.domain.exact_json import JsonObject
from shared.domain.words import RuleAction
from tests.doubles.scripted_talk import of_conversation, texts_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage, decision

RULE = Rule(id="BIG", condition="amount > 100", action="require_approval", level="manager", reason="much")
POLICY = Policy(id="house", rules=(RULE,))
AMOUNT: tuple[str, JsonObject] = ("calculate", {"name": "amount", "operation": "sum", "operands": ["120.50"]})


def _stage(*, triggered: bool) -> Stage:
    stage = Stage("Approve claim C-1 of 120.50. Approve at most 3 claims.")
    stage.change_tenant(policies=(POLICY,))
    stage.talk.rounds.insert(1, [AMOUNT])
    if triggered:
        rule = TriggeredRule(
            rule_id="BIG", policy_id="house", action=RuleAction.REQUIRE_APPROVAL, level="manager", reason="much"
        )
        stage.policy.says = {"triggered_rules": (rule,), "requires_approval": True, "escalation_level": "manager"}
    return stage


def _limit(stage: Stage) -> PredictionOutcome:
    outcome = next(end.outcome for end in stage.turns.ends if end.outcome)
    return next(one for one in outcome.thresholds if one.name == "amount")


@pytest.mark.promise("prime.thresholds")
async def test_the_limits_stand_in_each_request_with_their_source() -> None:
    """Those of the tenant's rules and those that the task states; not in the text that is the same for all tasks."""
    stage = _stage(triggered=False)
    await stage.run()
    asked = of_conversation(stage.model.requests)
    assert len(asked) == 4
    for request in asked:
        said = texts_in(request)
        assert "rule BIG of house: amount > 100 -> require_approval manager" in said
        assert "task: Approve at most 3 claims" in said
        assert not any("BIG" in block for block in request.system)


@pytest.mark.promise("outcome.thresholds")
@each_row("triggered", [True, False])
async def test_predicted_and_actual_value_go_into_the_outcome(triggered: bool) -> None:
    stage = _stage(triggered=triggered)
    await stage.run()
    if triggered:
        await stage.run(decision("approve"))
    found = _limit(stage)
    assert (found.predicted, found.actual, found.held) == ("100", "120.50", triggered)
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("prime.thresholds")
async def test_a_task_keeps_the_limits_it_began_with() -> None:
    """What is compared at its end is what was predicted at its beginning, also if a rule changed meanwhile."""
    stage = _stage(triggered=True)
    await stage.run()
    changed = RULE.model_copy(update={"condition": "amount > 90"})
    policies = (POLICY.model_copy(update={"rules": (changed,), "version": "2"}),)
    stage.change_tenant(policies=policies)
    await stage.run(decision("approve"))
    assert _limit(stage).predicted == "100"
