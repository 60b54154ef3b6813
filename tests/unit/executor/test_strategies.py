"""Which strategy carries a task: the bandit's choice among those there are, or fsm where it cannot be applied."""

import pytest

from services.executor.core.execute.strategies.chosen import THINKING
from services.executor.core.journal import CHECKPOINT
from services.executor.core.prime.choose import AVAILABLE
from services.executor.core.spend.budget import Ceilings
from services.executor.core.spend.tariff import Price, Tariff
from services.executor.ports.models import Tier
from shared.contracts.outcome import TaskOutcome
from shared.domain.bandit import Arm
from shared.domain.exact_json import dumps, loads_object
from shared.domain.words import Strategy, TaskState
from tests.doubles.scripted_model import text_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.deliberating import asked_in, five_phase, moa, read, read_plan
from tests.unit.executor.stage import Stage

CLAIM = "Approve expense claim C-1 of 120.50"
DEAR = Tariff({"m": Price(1, 1_000, 1, 1)}, {Tier.HAIKU: ("m",), Tier.SONNET: ("m",)})


def outcome(stage: Stage) -> TaskOutcome:
    found = stage.turns.ends[-1].outcome
    assert found is not None
    return found


@pytest.mark.promise("strategy.three")
def test_there_are_three_strategies_and_each_has_its_thinking() -> None:
    assert AVAILABLE == (Strategy.FSM, Strategy.FIVE_PHASE, Strategy.MOA)
    assert set(THINKING) == set(AVAILABLE)


@pytest.mark.promise("strategy.three")
@pytest.mark.parametrize("best", Strategy)
async def test_the_arm_with_the_highest_score_carries_the_task_and_is_charged(best: Strategy) -> None:
    stage = Stage(CLAIM)
    stage.scripts |= {**five_phase().scripts, **moa().scripts}
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
    stage = moa(CLAIM)
    stage.limits = stage.limits._replace(strategies=(Strategy.MOA, Strategy.FSM))
    record = await stage.run()
    assert record.metadata["strategy"] == "moa"


@pytest.mark.promise("bandit.only_what_applied")
@pytest.mark.parametrize("stage_of", [five_phase, moa])
async def test_a_task_that_only_reads_is_carried_by_fsm_and_charges_nobody(stage_of: type[Stage]) -> None:
    stage = stage_of("What is the status of claim C-1?")
    record = await stage.run()
    assert record.metadata["states"] == ["DECOMPOSE", "ASSESS", "COMPLETE"]
    assert "only reads" in str(record.metadata["strategy_fell_back"])
    assert not outcome(stage).strategy_applied
    assert not asked_in(stage, "PLAN") + asked_in(stage, "CONCLUDE")


@pytest.mark.promise("bandit.only_what_applied")
@pytest.mark.parametrize("stage_of", [five_phase, moa])
@pytest.mark.parametrize("ceilings", [Ceilings(tokens=5_000), Ceilings(nanos=4_000_000, tariff=DEAR)])
async def test_a_budget_without_room_leaves_the_task_to_fsm_and_charges_nobody(
    stage_of: type[Stage], ceilings: Ceilings
) -> None:
    stage = stage_of()
    stage.limits = stage.limits._replace(ceilings=ceilings)
    record = await stage.run()
    assert "budget" in str(record.metadata["strategy_fell_back"])
    assert not outcome(stage).strategy_applied
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("bandit.only_what_applied")
@pytest.mark.parametrize("said", [text_reply("I would read the claim."), read_plan(read("s1", "read_minds"))])
async def test_without_a_usable_plan_of_reads_fsm_carries_the_task_and_nobody_is_charged(said: object) -> None:
    stage = five_phase()
    stage.scripts["plan"] = said  # type: ignore[assignment]  # a reply
    record = await stage.run()
    told = outcome(stage)
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert (len(asked_in(stage, "PLAN")), len(asked_in(stage, "DECOMPOSE"))) == (2, 1)
    assert (told.strategy, told.strategy_applied) == (Strategy.FIVE_PHASE, False)
    assert told.details["strategy_fell_back"] == record.metadata["strategy_fell_back"]
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("strategy.setting")
async def test_a_replay_goes_by_the_strategies_that_there_were_then() -> None:
    """Though today's setting names others."""
    stage = moa()
    await stage.run()
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("replay.same_end")
async def test_an_archive_of_before_there_were_strategies_is_replayed_all_the_same() -> None:
    """Its checkpoints say nothing of what did not exist then."""
    stage = Stage()
    await stage.run()
    newer = ("insight", "strategy_why", "fell_back", "dossier.reads", "dossier.unmet", "dossier.findings_about")
    for key, step in stage.turns.steps.items():
        if step.kind == CHECKPOINT:
            said = {name: value for name, value in loads_object(step.data_json).items() if name not in newer}
            stage.turns.steps[key] = step._replace(data_json=dumps(said))
    assert (await replayed(stage)).difference == ""
