"""What a task does as its budget runs low: cheaper tiers, shorter answers, a word about it; never for a write."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.session.budget import (
    BudgetShare,
    CallCost,
    Ceilings,
    Pressure,
    Settlement,
    TaskSpending,
    longest_answer,
    thrift,
)
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from shared.ports.models import ModelReply, ModelRequest, TextBlock, Tier
from tests.doubles.scripted_model import text_reply
from tests.doubles.scripted_talk import texts_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.costing import costing
from tests.unit.executor.stage import Stage

QUESTION = "Reconcile claim C-1 of 120.50: what is its status?"  # a word for which a question is Sonnet's
CHANGE = "Reconcile claim C-1 of 120.50 and approve it"
ROOMY = Ceilings(tokens=30_000)
SUM: tuple[str, JsonObject] = ("calculate", {"name": "total", "operation": "sum", "operands": ["120.50"]})


def spending(stage: Stage, **outputs: int) -> Stage:
    """The stage with little to spend, and what its replies cost."""
    stage.limits = stage.limits._replace(ceilings=ROOMY)
    return costing(stage, **outputs)


def asking() -> Stage:
    stage = Stage(QUESTION)
    stage.only_asks()
    return stage


@pytest.mark.promise("budget.thresholds")
async def test_over_eighty_percent_what_would_be_thought_on_sonnet_is_thought_on_haiku() -> None:
    """A question that writes nothing may use the whole budget."""
    rich, poor = asking(), spending(asking(), first=24_600)
    await rich.run()
    record = await poor.run()
    assert (rich.model.requests[1].tier, poor.model.requests[1].tier) == (Tier.SONNET, Tier.HAIKU)
    assert record.state is TaskState.COMPLETED
    spend = record.metadata["spend"]
    assert isinstance(spend, dict)
    assert spend["cheaper_calls"] == 1


@pytest.mark.promise("budget.thresholds")
async def test_what_may_propose_a_write_is_never_asked_on_a_lower_tier() -> None:
    """However little is left of the budget."""
    stage = spending(Stage(CHANGE), first=18_600)
    await stage.run()
    assert [request.tier for request in stage.model.requests[1:]] == [Tier.SONNET, Tier.SONNET]
    assert stage.claims.applied == ["C-1"]


@pytest.mark.promise("budget.thresholds")
@given(percent=st.integers(0, 120), tier=st.sampled_from(Tier), share=st.sampled_from(BudgetShare))
def test_what_is_used_decides_on_the_tier_and_what_the_model_is_told(
    percent: int, tier: Tier, share: BudgetShare
) -> None:
    """Mild under 30 %, strict up to 80 %, an emergency above; Haiku above 80 %, save where writes may be proposed."""
    way = thrift(tier, Fraction(percent, 100), keeps_tier=share.keeps_tier)
    keeps = percent <= 80 or share in (BudgetShare.PROPOSING, BudgetShare.PLAN)
    assert way.tier is (tier if keeps else Tier.HAIKU)
    told = Pressure.MILD if percent < 30 else Pressure.STRICT if percent <= 80 else Pressure.EMERGENCY
    assert way.pressure is told


@pytest.mark.promise("budget.thresholds")
def test_money_counts_like_tokens() -> None:
    """Whichever of the two ceilings is nearer."""
    spent = TaskSpending()
    spent.settle(Settlement("a", CallCost(10, 810), "d"))
    assert spent.used_share(Ceilings(tokens=1_000, nanos=1_000), BudgetShare.WHOLE) == Fraction(81, 100)
    assert spent.used_share(Ceilings(), BudgetShare.WHOLE) == 0


@pytest.mark.promise("budget.caps")
@each_row(("left", "longest"), [(200, 200), (499, 256), (500, 500), (1_999, 512), (2_000, 1_000), (50_000, 4_096)])
def test_a_tight_budget_gets_short_answers(left: int, longest: int) -> None:
    """256 tokens when little is left, 4,096 when there is plenty; a plan may have all there is."""
    assert longest_answer(left, undivided=False) == longest
    assert longest_answer(left, undivided=True) == min(4_096, left)


@pytest.mark.promise("budget.hints")
async def test_each_request_ends_with_what_the_budget_says() -> None:
    """Last in the last message, so that all that stands before it stays as it was."""
    stage = spending(Stage(CHANGE), first=12_000)
    await stage.run()
    first, *later = stage.model.requests
    assert "Be brief" in _last(first)
    assert len(later) == 2
    assert all("A good part of this task's budget is used" in _last(request) for request in later)
    assert not any("<efficiency>" in block for request in stage.model.requests for block in request.system)


@pytest.mark.promise("budget.resumed")
@each_row("write", range(3, 16))
async def test_a_resumed_run_and_a_replay_stay_on_the_tiers_that_were_paid_for(write: int) -> None:
    """What was answered stays as it was made; a replay has nothing of the budget and goes the same way."""
    stage = spending(asking(), first=24_600)
    await stage.survives(write)
    again = await replayed(stage)
    assert {request.tier for request in stage.model.requests} == {Tier.HAIKU}
    assert again.is_same, again.difference


@pytest.mark.promise("budget.resumed")
async def test_where_the_tier_changes_a_new_conversation_begins() -> None:
    """What was called so far is data in it; no model reads another one's messages as its own. A replay agrees."""
    stage = spending(asking(), first=15_000, second=9_300)
    stage.talk.rounds.append([SUM])
    spent = stage.thinks
    assert spent is not None

    def answers_once_it_calculated(request: ModelRequest) -> ModelReply:
        return text_reply("It is open.") if '"tool":"calculate"' in texts_in(request) else spent(request)

    stage.thinks = answers_once_it_calculated
    await stage.run()
    again = await replayed(stage)
    first, second, third = stage.model.requests
    assert [one.tier for one in (first, second, third)] == [Tier.HAIKU, Tier.SONNET, Tier.HAIKU]
    assert (len(second.messages), len(third.messages)) == (1, 1)
    told = texts_in(third).partition("<so_far>")[2]
    assert "get_claim" in told
    assert "calculate" in told
    assert again.is_same, again.difference


def _last(request: ModelRequest) -> str:
    block = request.messages[-1].blocks[-1]
    assert isinstance(block, TextBlock)
    return block.text
