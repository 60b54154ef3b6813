"""Which strategy carries a task, by settings, score or want of a write; and what the other settings of thinking are."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from services.executor.ports.services import OrchestratorName
from services.executor.settings import ExecutorSettings
from shared.domain.bandit import Arm
from shared.domain.exact_json import JsonObject
from shared.domain.words import Strategy, TaskState
from shared.infra.anthropic_request import supports_effort
from shared.ports.models import Tier
from tests.doubles.scripted_model import state_of
from tests.doubles.scripted_talk import of_conversation, results_in
from tests.each_row import each_row
from tests.unit.executor.deliberating import last_said_to, only
from tests.unit.executor.stage import Stage


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
    told = stage.outcome
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert (told.strategy, told.strategy_applied) == (best, True)
    assert record.metadata["strategy_why"] == "highest UCB1 score"
    arms = record.metadata["bandit"]
    assert isinstance(arms, dict)
    assert set(arms) == set(Strategy) == {Strategy.FSM, Strategy.FIVE_PHASE, Strategy.MOA}


@pytest.mark.promise("bandit.only_what_applied")
@each_row("strategy", [Strategy.FIVE_PHASE, Strategy.MOA])
async def test_a_task_that_only_reads_is_carried_by_fsm_and_charges_nobody(strategy: Strategy) -> None:
    stage = only(strategy, "What is the status of claim C-1?")
    stage.only_asks()
    record = await stage.run()
    assert record.metadata["states"] == ["DECOMPOSE", "ASSESS", "COMPLETE"]
    assert "only reads" in str(record.metadata["strategy_fell_back"])
    assert not stage.outcome.strategy_applied
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
    assert [one.tier for one in asked][:1] == [Tier.SMALL]
    assert {one.tier for one in asked[1:]} == {Tier.LARGE}
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


_BRAINOS = {"BRAINOS_API_URL": "https://brain.example", "BRAINOS_API_KEY": "k", "BRAINOS_ORG_ID": "org-1"}


def _settings(monkeypatch: pytest.MonkeyPatch, given: dict[str, str] | None = None) -> ExecutorSettings:
    for name in ("STRATEGIES", "COMPUTE_AUDIT", "ORCHESTRATORS", *_BRAINOS):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"ANTHROPIC_API_KEY": "k", "ALLOW_NO_ARCHIVE": "true", **(given or {})}.items():
        monkeypatch.setenv(name, value)
    return ExecutorSettings(tenant_file=Path("t.json"), redis_url="redis://x", policy_url="http://p")


@pytest.mark.promise("strategy.setting", "audit.second.setting", "brainos.settings")
@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({}, (tuple(Strategy), "on", (OrchestratorName.LOCAL,))),
        ({"STRATEGIES": "fsm", "COMPUTE_AUDIT": "on"}, ((Strategy.FSM,), "on", (OrchestratorName.LOCAL,))),
        ({"COMPUTE_AUDIT": "all"}, (tuple(Strategy), "all", (OrchestratorName.LOCAL,))),
        (
            {"STRATEGIES": " moa, fsm ", "ORCHESTRATORS": "brainos, local", **_BRAINOS},
            ((Strategy.MOA, Strategy.FSM), "on", (OrchestratorName.BRAINOS, OrchestratorName.LOCAL)),
        ),
        (
            {"COMPUTE_AUDIT": "off", "ORCHESTRATORS": "local,brainos", **_BRAINOS},
            (tuple(Strategy), "off", (OrchestratorName.LOCAL, OrchestratorName.BRAINOS)),
        ),
    ],
)
def test_lists_keep_their_order_and_the_audit_is_on_unless_it_is_switched_off(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], read: tuple[object, ...]
) -> None:
    settings = _settings(monkeypatch, given)
    assert (settings.strategies, settings.compute_audit, settings.orchestrators) == read


@pytest.mark.promise("strategy.setting", "audit.second.setting", "brainos.settings")
@pytest.mark.parametrize(
    ("name", "written", "why"),
    [
        *(("STRATEGIES", word, "STRATEGIES") for word in ("", "fsm,,moa", "fsm,fsm", "fsm,guessing")),
        *(("COMPUTE_AUDIT", word, "COMPUTE_AUDIT") for word in ("", "perhaps", "OFF ")),
        *(("ORCHESTRATORS", word, "ORCHESTRATORS") for word in ("", "local,", "local,local", "claude")),
        *(
            (name, word, f"{name} is missing or cannot be sent")
            for name in sorted(_BRAINOS)
            for word in ("", " ", "two words", "\N{SNOWMAN}")
        ),
        *(
            ("BRAINOS_API_URL", url, "BRAINOS_API_URL is no http")
            for url in ("brain.example", "ftp://brain.example", "https://", "https://me:word@brain.example")
        ),
    ],
)
def test_another_word_stops_the_start_and_what_brainos_needs_does_only_where_it_is_listed(
    monkeypatch: pytest.MonkeyPatch, name: str, written: str, why: str
) -> None:
    with pytest.raises(ValidationError, match=f"(?i){why}"):
        _settings(monkeypatch, {"ORCHESTRATORS": "brainos", **_BRAINOS, name: written})
    if "missing" in why:
        assert _settings(monkeypatch, {**_BRAINOS, name: written}).orchestrators == (OrchestratorName.LOCAL,)


@pytest.mark.promise("strategy.moa.two_drafts")
@each_row(
    ("model", "takes"),
    ("claude-haiku-4-5-20251001", False),
    ("claude-sonnet-4-5-20250929", False),
    ("claude-sonnet-4-6", True),
    ("claude-sonnet-4-20250514", False),
    ("claude-opus-4-5", True),
    ("claude-haiku-5", True),
    ("offline-planner-1", False),
    ("my-own-model", False),
)
def test_only_models_that_take_it_are_told_how_thoroughly_to_think(model: str, takes: bool) -> None:
    assert supports_effort(model) is takes
