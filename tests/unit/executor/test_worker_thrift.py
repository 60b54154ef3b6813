"""What a task does as its budget runs low: cheaper tiers, shorter answers, a word about it; never for the plan."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.spend.budget import Ceilings, Purse, Settlement, Spending
from services.executor.core.spend.tariff import Amount
from services.executor.core.spend.thrift import Pressure, longest_answer, thrift
from services.executor.ports.models import ModelReply, ModelRequest, TextBlock, Tier, Usage
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_model import json_reply, state_of, text_reply, tool_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage

COMPLEX = "Reconcile claim C-1 of 120.50 and approve it"  # a word for which COMPUTE thinks on Sonnet
ROOMY = Ceilings(tokens=100_000)
SUM: JsonObject = {
    "operation": "sum",
    "operands": [{"source": "task", "ref": "", "path": "", "literal": "120.50"}],
}


def spending(stage: Stage, **outputs: int) -> Stage:
    """The stage with what the reply of each of these states costs."""
    stage.limits = stage.limits._replace(ceilings=ROOMY)
    for state, output in outputs.items():
        reply = stage.scripts[state]
        assert isinstance(reply, ModelReply)
        stage.scripts[state] = reply._replace(usage=Usage(10, output))
    return stage


@pytest.mark.promise("budget.thresholds")
async def test_over_eighty_percent_a_state_that_thinks_on_sonnet_thinks_on_haiku() -> None:
    """A reading state's budget is what reading may use: three quarters of the whole."""
    rich, poor = Stage(COMPLEX), spending(Stage(COMPLEX), decompose=62_000)
    await rich.run()
    record = await poor.run()
    assert (_tier(rich, "COMPUTE"), _tier(poor, "COMPUTE")) == (Tier.SONNET, Tier.HAIKU)
    assert record.state is TaskState.COMPLETED
    spend = record.metadata["spend"]
    assert isinstance(spend, dict)
    assert spend["cheaper_calls"] == 1


@pytest.mark.promise("budget.thresholds")
async def test_the_plan_of_writes_is_never_made_on_a_lower_tier() -> None:
    """However little is left of the budget."""
    stage = spending(Stage(COMPLEX), decompose=62_000, compute=30_000)
    await stage.run()
    assert _tier(stage, "WRITE PLAN") is Tier.SONNET
    assert stage.claims.applied == ["C-1"]


@pytest.mark.promise("budget.thresholds")
@given(percent=st.integers(0, 120), tier=st.sampled_from(Tier), purse=st.sampled_from(Purse))
def test_what_is_used_decides_on_the_tier_and_what_the_model_is_told(percent: int, tier: Tier, purse: Purse) -> None:
    """Mild under 30 %, strict up to 80 %, an emergency above; Haiku above 80 %, save for the plan."""
    way = thrift(tier, Fraction(percent, 100), keeps_tier=purse.keeps_tier)
    keeps = percent <= 80 or purse is Purse.PLAN
    assert way.tier is (tier if keeps else Tier.HAIKU)
    told = Pressure.MILD if percent < 30 else Pressure.STRICT if percent <= 80 else Pressure.EMERGENCY
    assert way.pressure is told


@pytest.mark.promise("budget.thresholds")
def test_money_counts_like_tokens() -> None:
    """Whichever of the two ceilings is nearer."""
    spent = Spending()
    spent.settle(Settlement("a", Amount(10, 810), "d"))
    assert spent.used(Ceilings(tokens=1_000, nanos=1_000), Purse.WHOLE) == Fraction(81, 100)
    assert spent.used(Ceilings(), Purse.WHOLE) == 0


@pytest.mark.promise("budget.caps")
@pytest.mark.parametrize(
    ("left", "longest"), [(200, 200), (499, 256), (500, 500), (1_999, 512), (2_000, 1_000), (50_000, 4_096)]
)
def test_a_tight_budget_gets_short_answers(left: int, longest: int) -> None:
    """256 tokens when little is left, 4,096 when there is plenty; a plan may have all there is."""
    assert longest_answer(left, undivided=False) == longest
    assert longest_answer(left, undivided=True) == min(4_096, left)


@pytest.mark.promise("budget.hints")
async def test_each_request_ends_with_what_the_budget_says() -> None:
    """Last in the last message, so that all that stands before it stays as it was."""
    stage = spending(Stage(COMPLEX), decompose=40_000)
    await stage.run()
    places = [state_of(request) for request in stage.model.requests]
    later = stage.model.requests[places.index("DECOMPOSE") + 1 :]
    assert "Be brief" in _last(stage.model.requests[0])
    assert all("A good part of this task's budget is used" in _last(request) for request in later)
    assert not any("<efficiency>" in block for request in stage.model.requests for block in request.system)


@pytest.mark.promise("budget.resumed")
@pytest.mark.parametrize("write", range(3, 12))
async def test_a_resumed_run_and_a_replay_stay_on_the_tiers_that_were_paid_for(write: int) -> None:
    """What was answered stays as it was made; a replay has nothing of the budget and goes the same way."""
    stage = spending(Stage(COMPLEX), decompose=62_000)
    stage.turns.die_before = write
    try:
        await stage.run()
    except Died:
        stage.turns.die_before = None
        await stage.run(attempts=2)
    again = await replayed(stage)
    assert _tier(stage, "COMPUTE") is Tier.HAIKU
    assert again.is_same, again.difference


@pytest.mark.promise("budget.resumed")
async def test_where_the_tier_changes_a_new_conversation_begins() -> None:
    """What was called so far is data in it; no model reads another one's messages as its own. A replay agrees."""
    stage = spending(Stage(COMPLEX), decompose=50_000)
    dear = tool_reply(("calculate", SUM))._replace(usage=Usage(10, 11_000))

    def computing(request: ModelRequest) -> ModelReply:
        return dear if request.tier is Tier.SONNET else json_reply({"values": []})

    stage.scripts["compute"] = computing
    await stage.run()
    again = await replayed(stage)
    sonnet, haiku = (request for request in stage.model.requests if state_of(request) == "COMPUTE")
    assert (sonnet.tier, haiku.tier, len(haiku.messages)) == (Tier.SONNET, Tier.HAIKU, 1)
    assert "<so_far>" in _said(haiku)
    assert "120.50" in _said(haiku).partition("<so_far>")[2]
    assert again.is_same, again.difference


@pytest.mark.promise("budget.task")
async def test_at_a_hundred_percent_no_further_model_call_is_made() -> None:
    """The task ends with what is known, and says so."""
    stage = spending(Stage(COMPLEX), decompose=100_000)
    stage.scripts["assess"] = text_reply("never asked")
    record = await stage.run()
    assert state_of(stage.model.requests[-1]) == "DECOMPOSE"
    assert (record.state, record.metadata["partial"]) == (TaskState.COMPLETED, True)


def _tier(stage: Stage, state: str) -> Tier:
    return next(request.tier for request in stage.model.requests if state_of(request) == state)


def _last(request: ModelRequest) -> str:
    block = request.messages[-1].blocks[-1]
    assert isinstance(block, TextBlock)
    return block.text


def _said(request: ModelRequest) -> str:
    return "\n".join(block.text for block in request.messages[0].blocks if isinstance(block, TextBlock))
