"""What a task does as its budget runs low and when it is spent, and a task whose tenant is stopped."""

import re
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from services.executor.core.session import budget
from services.executor.core.states.machine import TenantStopped
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from shared.ports.daily_spend import Charge, DailySpend, DayCaps
from shared.ports.models import ModelReply, ModelRequest, TextBlock, Tier
from tests.doubles.scripted_model import text_reply
from tests.doubles.scripted_talk import texts_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.costing import costing
from tests.unit.executor.stage import TASK, Stage

QUESTION = "Reconcile claim C-1 of 120.50: what is its status?"  # a word for which a question is Sonnet's
CHANGE = "Reconcile claim C-1 of 120.50 and approve it"
ROOMY = budget.Ceilings(tokens=30_000)
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
async def test_over_eighty_percent_a_question_is_thought_on_haiku_and_what_may_propose_a_write_never() -> None:
    """A question that writes nothing may use the whole budget."""
    rich, poor = asking(), spending(asking(), first=24_600)
    await rich.run()
    record = await poor.run()
    assert (rich.model.requests[1].tier, poor.model.requests[1].tier) == (Tier.LARGE, Tier.SMALL)
    assert record.state is TaskState.COMPLETED
    spend = record.metadata["spend"]
    assert isinstance(spend, dict)
    assert spend["cheaper_calls"] == 1
    stage = spending(Stage(CHANGE), first=18_600)
    await stage.run()
    assert [request.tier for request in stage.model.requests[1:]] == [Tier.LARGE, Tier.LARGE]
    assert stage.claims.applied == ["C-1"]


@pytest.mark.promise("budget.thresholds")
@given(percent=st.integers(0, 120), tier=st.sampled_from(Tier), share=st.sampled_from(budget.BudgetShare))
def test_what_is_used_decides_on_the_tier_and_what_the_model_is_told(
    percent: int, tier: Tier, share: budget.BudgetShare
) -> None:
    """Mild under 30 %, strict up to 80 %, an emergency above; Haiku above 80 %, save where writes may be proposed."""
    way = budget.choose_call_mode(tier, Fraction(percent, 100), keeps_tier=share.keeps_tier)
    keeps = percent <= 80 or share in (budget.BudgetShare.PROPOSING, budget.BudgetShare.PLAN)
    assert way.tier is (tier if keeps else Tier.SMALL)
    told = (
        budget.BudgetPressure.MILD
        if percent < 30
        else budget.BudgetPressure.STRICT
        if percent <= 80
        else budget.BudgetPressure.EMERGENCY
    )
    assert way.pressure is told


@pytest.mark.promise("budget.thresholds")
def test_money_counts_like_tokens() -> None:
    """Whichever of the two ceilings is nearer."""
    spent = budget.TaskSpending()
    spent.settle_reservation(budget.Settlement("a", budget.CallCost(10, 810), "d"))
    assert spent.compute_used_share(budget.Ceilings(tokens=1_000, nanos=1_000), budget.BudgetShare.WHOLE) == Fraction(
        81, 100
    )
    assert spent.compute_used_share(budget.Ceilings(), budget.BudgetShare.WHOLE) == 0


@pytest.mark.promise("budget.caps")
@each_row(("left", "longest"), [(200, 200), (499, 256), (500, 500), (1_999, 512), (2_000, 1_000), (50_000, 4_096)])
def test_a_tight_budget_gets_short_answers(left: int, longest: int) -> None:
    """256 tokens when little is left, 4,096 when there is plenty; a plan may have all there is."""
    assert budget.limit_answer_tokens(left, needs_full_length=False) == longest
    assert budget.limit_answer_tokens(left, needs_full_length=True) == min(4_096, left)


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
    assert {request.tier for request in stage.model.requests} == {Tier.SMALL}
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
    assert [one.tier for one in (first, second, third)] == [Tier.SMALL, Tier.LARGE, Tier.SMALL]
    assert (len(second.messages), len(third.messages)) == (1, 1)
    told = texts_in(third).partition("<so_far>")[2]
    assert "get_claim" in told
    assert "calculate" in told
    assert again.is_same, again.difference


def _last(request: ModelRequest) -> str:
    block = request.messages[-1].blocks[-1]
    assert isinstance(block, TextBlock)
    return block.text


SMALLER = budget.Ceilings(tokens=20_000)


class MemorySpend(DailySpend):
    """One tenant's day, with the caps of whoever reserves."""

    def __init__(self) -> None:
        self.spent = 0
        self.calls = 0
        self.aside: dict[str, int] = {}

    async def reserve(self, tenant: str, day: str, charge: Charge, caps: DayCaps, over: Sequence[Charge] = ()) -> bool:
        await self.settle_charges(tenant, day, over)
        fits = caps.tokens is None or self.spent + sum(self.aside.values()) + charge.tokens <= caps.tokens
        if fits:
            self.aside[charge.name] = charge.tokens
        return fits

    async def settle_charges(self, tenant: str, day: str, charges: Sequence[Charge]) -> None:
        for charge in charges:
            if charge.is_reserved and self.aside.pop(charge.name, None) is None:
                continue
            self.spent += charge.tokens
            self.calls += 1


@pytest.mark.promise("budget.task")
@each_row(
    ("asks", "first", "why"),
    (True, 19_900, "nothing was found or done until then"),
    (False, 18_000, "TASK_TOKENS) and 0 US dollars (TASK_MONEY)"),
)
async def test_a_task_whose_budget_is_spent_before_anything_was_found_or_done_fails_and_names_what_it_was_to_do(
    asks: bool, first: int, why: str
) -> None:
    """It fails with the reason; no further model call, nothing written."""
    stage = costing(Stage(), first=first)
    if asks:
        stage.only_asks()
    stage.limits = stage.limits._replace(ceilings=SMALLER)
    record = await stage.ends(TaskState.FAILED, [], why=why)
    assert (record.metadata["partial"], len(stage.model.requests)) == (False, 1)
    assert "TASK_TOKENS" in str(record.reason)
    assert (f"not done: {TASK}" in str(record.reason)) is not asks


@pytest.mark.promise("budget.task")
@each_row("task", ["Approve claim C-1. ", "Which claims are open? "])
async def test_a_task_whose_text_is_too_long_for_its_budget_fails_and_names_size_and_limit(task: str) -> None:
    """No model was asked, so that nothing is known: that is no result, whatever the task was."""
    stage = Stage(task * 4_000)
    stage.limits = stage.limits._replace(ceilings=SMALLER)
    record = await stage.run()
    asked = re.search(r"the call's request alone takes about ([\d,]+) tokens", str(record.reason))
    assert record.state is TaskState.FAILED
    assert "0 of 20,000 tokens (TASK_TOKENS)" in str(record.reason)
    assert asked is not None
    assert int(asked[1].replace(",", "")) > 15_000
    assert stage.model.requests == []


@pytest.mark.promise("budget.task")
async def test_a_task_whose_writes_are_made_when_its_budget_is_spent_says_what_it_wrote() -> None:
    """The answer's call no longer fits; nothing planned is undone, so the result is partial, with its proofs."""
    stage = costing(Stage(), second=40_000)
    stage.limits = stage.limits._replace(ceilings=SMALLER)
    record = await stage.run()
    assert stage.claims.applied == ["C-1"]
    assert (record.state, record.metadata["partial"]) == (TaskState.COMPLETED, True)
    assert "verified" in str(record.answer)


def spent(record: TaskRecord, name: str) -> int:
    """Fresh tokens, as the model's own count has them."""
    spend = record.metadata["spend"]
    assert isinstance(spend, dict)
    return int(str(spend[name]))


@pytest.mark.promise("budget.reserved_first")
@each_row("write", range(21))
async def test_wherever_a_run_dies_what_may_have_been_billed_stays_counted(write: int) -> None:
    """After the crash the task goes on and ends; each call of the model is covered by what is counted."""
    stage = Stage()
    await stage.survives(write)
    record = stage.turns.record
    counted = spent(record, "tokens") + spent(record, "set_aside_tokens")
    assert counted >= 10 * len(stage.model.requests)
    assert record.state is TaskState.COMPLETED
    undisturbed = Stage()
    assert spent(await undisturbed.run(), "tokens") == 20 * len(undisturbed.model.requests)


@pytest.mark.promise("budget.tenant_day")
async def test_a_tenants_day_has_a_ceiling_over_all_its_tasks() -> None:
    """A task that begins after it is reached makes no model call."""
    spend = MemorySpend()
    first, second = Stage(), Stage()
    for stage in (first, second):
        stage.change_tenant(tokens_per_day=12_000)
        stage.daily = spend
    await first.run()
    spend.spent += 12_000
    record = await second.run()
    assert spend.calls == len(first.model.requests)
    assert not spend.aside
    assert second.model.requests == []
    assert "tenant's budget" in str(record.reason)


@pytest.mark.promise("budget.tenant_day")
@each_row("write", range(0, 21, 2))
async def test_a_day_counts_each_reply_once_wherever_the_run_dies(write: int) -> None:
    """What was set aside for a call whose reply is not stored stays; all else is settled."""
    stage = Stage()
    stage.daily = spend = MemorySpend()
    stage.change_tenant(tokens_per_day=1_000_000)
    await stage.survives(write)
    replies = sum(entry.kind == "model" for entry in stage.turns.steps.values())
    assert spend.calls == replies
    assert len(spend.aside) == len(stage.model.requests) - replies


@pytest.mark.promise("tenant.stop")
async def test_a_stopped_tenants_turn_goes_back_and_later_goes_on_from_its_journal() -> None:
    """No call is made after the stop; what was paid for is not paid for again, nor set aside for a call not made."""
    stage = Stage()

    def stopping(request: ModelRequest) -> ModelReply:
        if len(stage.model.requests) == 1:
            stage.turns.stopped = "repairs"
        return stage.talk(request)

    stage.thinks = stopping
    with pytest.raises(TenantStopped):
        await stage.run()
    waits, asked = stage.turns.record, len(stage.model.requests)
    stage.turns.stopped = None
    record = await stage.run()
    assert (waits.state, waits.reason, asked) == (TaskState.SUBMITTED, "the tenant is stopped: repairs", 1)
    assert (record.state, record.reason, stage.claims.applied) == (TaskState.COMPLETED, None, ["C-1"])
    assert "<so_far>" in texts_in(stage.model.requests[1])
    assert spent(record, "set_aside_tokens") == 0


@pytest.mark.promise("tenant.stop")
async def test_a_stop_that_comes_during_a_write_waits_until_the_write_is_settled() -> None:
    """The write in flight is proved; then the turn goes back."""
    stage = Stage()

    def stopping(given: JsonObject) -> Json:
        stage.turns.stopped = "repairs"
        return stage.claims.approve(given)

    stage.servers.add("approve_claim", stopping, ToolClass.CHANGE)
    with pytest.raises(TenantStopped):
        await stage.run()
    settled = stage.statuses
    stage.turns.stopped = None
    record = await stage.run()
    assert settled == ["verified"]
    assert record.state is TaskState.COMPLETED
    assert stage.claims.applied == ["C-1"]
