"""Which strategy carries a task: the bandit's choice among those there are, or fsm where it cannot be applied."""

import pytest

from services.executor.core.session.journal import CHECKPOINT
from shared.contracts.outcome import TaskOutcome
from shared.domain.bandit import Arm
from shared.domain.exact_json import JsonObject, dumps, loads_object
from shared.domain.words import Strategy, TaskState
from shared.ports.models import Tier
from tests.doubles.scripted_model import state_of
from tests.doubles.scripted_talk import of_conversation, results_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.deliberating import five_phase, last_said_to, moa, only
from tests.unit.executor.stage import Stage


def outcome(stage: Stage) -> TaskOutcome:
    found = stage.turns.ends[-1].outcome
    assert found is not None
    return found


@pytest.mark.promise("strategy.three")
def test_there_are_three_strategies() -> None:
    assert tuple(Strategy) == (Strategy.FSM, Strategy.FIVE_PHASE, Strategy.MOA)


@pytest.mark.promise("strategy.three")
@each_row("best", Strategy)
async def test_the_arm_with_the_highest_score_carries_the_task_and_is_charged(best: Strategy) -> None:
    """The arms are those of the process that the first reply names."""
    stage = Stage()
    stage.talk.process = "expense_approval"
    stage.learned.arms["acme", "expense_approval"] = {
        strategy: Arm(100, 100 * (9_000 if strategy is best else 1_000)) for strategy in Strategy
    }
    record = await stage.run()
    told = outcome(stage)
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert (told.strategy, told.strategy_applied) == (best, True)
    assert record.metadata["strategy_why"] == "highest UCB1 score"
    arms = record.metadata["bandit"]
    assert isinstance(arms, dict)
    assert set(arms) == set(Strategy)


@pytest.mark.promise("strategy.setting")
async def test_only_strategies_that_the_setting_names_are_chosen_the_first_one_first() -> None:
    stage = moa()
    stage.limits = stage.limits._replace(strategies=(Strategy.MOA, Strategy.FSM))
    record = await stage.run()
    assert record.metadata["strategy"] == "moa"


@pytest.mark.promise("bandit.only_what_applied")
@each_row("strategy", [Strategy.FIVE_PHASE, Strategy.MOA])
async def test_a_task_that_only_reads_is_carried_by_fsm_and_charges_nobody(strategy: Strategy) -> None:
    stage = only(strategy, "What is the status of claim C-1?")
    stage.only_asks()
    record = await stage.run()
    assert record.metadata["states"] == ["DECOMPOSE", "ASSESS", "COMPLETE"]
    assert "only reads" in str(record.metadata["strategy_fell_back"])
    assert not outcome(stage).strategy_applied
    assert [state_of(asked) for asked in stage.model.requests] == ["", ""]


@pytest.mark.promise("strategy.tiers")
@each_row("strategy", Strategy)
async def test_the_first_reply_is_haikus_the_same_for_all_and_whatever_may_propose_is_sonnets(
    strategy: Strategy,
) -> None:
    """The first request names no strategy and no process: what reads the prompt's cache is the same for all."""
    stage, other = only(strategy), Stage()
    await stage.run()
    await other.run()
    asked = [one for one in stage.model.requests if not state_of(one)]
    assert [one.tier for one in asked][:1] == [Tier.HAIKU]
    assert {one.tier for one in asked[1:]} == {Tier.SONNET}
    first, same = asked[0], other.model.requests[0]
    assert (first.system, first.tools) == (same.system, same.tools)
    assert last_said_to(first).partition("<now>")[0] == last_said_to(same).partition("<now>")[0]


@pytest.mark.promise("strategy.obeys_the_gate")
@each_row("strategy", Strategy)
async def test_no_strategy_writes_before_the_verdict(strategy: Strategy) -> None:
    stage = only(strategy)
    stage.policy.says = {"blocked": True, "passed": False}
    record = await stage.run()
    assert (record.state, stage.claims.applied, stage.turns.writes) == (TaskState.REJECTED, [], {})


@pytest.mark.promise("strategy.setting")
@each_row("stage_of", [five_phase, moa])
async def test_a_replay_goes_by_the_strategies_that_there_were_then(stage_of: type[Stage]) -> None:
    """Though today's setting names others."""
    stage = stage_of()
    await stage.run()
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("replay.same_end")
async def test_an_archive_whose_checkpoints_know_less_is_replayed_all_the_same() -> None:
    """Its checkpoints say nothing of what did not exist then."""
    stage = Stage()
    await stage.run()
    for key, step in stage.turns.steps.items():
        if step.kind == CHECKPOINT:
            stored = loads_object(step.data_json).items()
            said = {name: value for name, value in stored if name not in ("insight", "thresholds")}
            stage.turns.steps[key] = step._replace(data_json=dumps(said))
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("strategy.audited")
@each_row("strategy", Strategy)
async def test_a_figure_that_nobody_states_is_no_value_whatever_strategy_thinks(strategy: Strategy) -> None:
    """It is refused when it is calculated with, so no plan can be built on it."""
    stage = only(strategy)
    invented: JsonObject = {"name": "both", "operation": "sum", "operands": ["r1.amount", "777.77"]}
    stage.talk.rounds.insert(1, [("calculate", invented)])
    await stage.run()
    told = [result for request in of_conversation(stage.model.requests) for result in results_in(request)]
    assert any(result.is_error and "777.77" in result.content for result in told)
    assert all("both" not in str(entry.call.arguments) for entry in stage.turns.writes.values())
