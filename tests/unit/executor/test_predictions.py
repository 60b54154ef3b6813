"""What was predicted for tasks like this one, the limits that a task goes by, and what they proved to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.prime.known import describe_limits
from shared.contracts.knowledge import Accuracy
from shared.contracts.outcome import PredictionOutcome, Threshold, ThresholdKind
from shared.contracts.policy import Policy, Rule, TriggeredRule
from shared.domain.estimates import Trust, confidence, drifts, trust
from shared.domain.exact_json import Json
from shared.domain.words import RuleAction
from tests.doubles.scripted_talk import of_conversation, texts_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage, decision, use

_LIMIT = Threshold(kind=ThresholdKind.POLICY_LIMIT, name="amount", sign=">", value="500", source="policy: over 500")
_TASK = "Approve expense claim C-1. Claims over $500 need a manager."


def _known(*held: bool) -> Accuracy:
    return Accuracy(attempts=len(held), matches=sum(held), window=held[-10:])


def _shown(*held: bool) -> Json:
    return describe_limits([_LIMIT], {ThresholdKind.POLICY_LIMIT: _known(*held)})[0]


@pytest.mark.promise("accuracy.drift")
@each_row(
    ("held", "trusted"),
    [
        ((), None),
        ((False, False), None),
        ((True, True, True), "trust"),
        ((True, True, False), "verify"),
        ((False, False, False, True, True), "verify"),
        ((True, True, True, True, False), "trust"),
        ((*[True] * 5, False, False, True, False, False), "1 of the last 5"),
    ],
)
def test_a_value_is_trusted_to_be_verified_or_of_the_last_five_held_too_seldom_and_replaced_by_a_warning(
    held: tuple[bool, ...], trusted: str | None
) -> None:
    told = _shown(*held)
    assert isinstance(told, dict)
    assert told["source"] == _LIMIT.source
    if len(held) > 5:
        assert "limit" not in told
        assert str(trusted) in str(told["drift"])
    else:
        assert (told["limit"], told.get("trust")) == ("> 500", trusted)


@given(st.lists(st.booleans(), max_size=30))
def test_nothing_drifts_before_five_and_what_always_held_is_trusted(held: list[bool]) -> None:
    how = trust(len(held), sum(held), held[-10:])
    assert drifts(held) is (len(held) >= 5 and sum(held[-5:]) < 2)
    assert (how is Trust.NONE) is (len(held) < 3)
    assert not (all(held) and len(held) >= 3) or how is Trust.TRUST
    assert 0 <= confidence(len(held), sum(held)) <= 1


@pytest.mark.promise("accuracy.drift", "accuracy.replayed")
async def test_a_task_is_warned_and_its_replay_is_told_the_same() -> None:
    stage = Stage(_TASK)
    known = {ThresholdKind.POLICY_LIMIT: _known(*[False] * 5)}
    stage.learned.accuracy["acme", "expense_approval"] = known
    stage.talk.process = "expense_approval"
    await stage.run()
    asked = str(stage.model.requests[1].messages)
    assert "0 of the last 5" in asked
    assert '"limit"' not in asked.partition('"known":')[2]
    done = await replayed(stage)
    assert (done.at, done.difference) == ("", "")


RULE = Rule(id="BIG", condition="amount > 100", action="require_approval", level="manager", reason="much")
POLICY = Policy(id="house", rules=(RULE,))
AMOUNT = use("calculate", name="amount", operation="sum", operands=["120.50"])


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
    stage.set_rules(RULE.model_copy(update={"condition": "amount > 90"}))
    await stage.run(decision("approve"))
    assert _limit(stage).predicted == "100"
