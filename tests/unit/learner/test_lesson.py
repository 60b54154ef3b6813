"""What one outcome teaches, and which texts are no outcome."""

import pytest
from pydantic import JsonValue

from services.learner.core.memory.lesson import Unreadable, lesson_of, read
from services.learner.ports.outcomes import Pull
from shared.domain.cases import CaseOutcome
from shared.domain.quality import Formula
from shared.domain.words import Strategy, TaskState
from tests.each_row import each_row
from tests.integration.learner_stage import an_outcome


def test_a_case_has_what_the_seed_lists() -> None:
    """Summary, keywords, outcome, quality, what worked, what failed, tool count, domain."""
    outcome = an_outcome(
        state=TaskState.FAILED,
        quality=0.4,
        reason="the tool server office is silent",
        writes={"verified": 2, "in_doubt": 1},
        worked=("get_expense",),
        failed=("approve_expense",),
    )
    case = lesson_of(outcome).case
    assert (case.summary, case.domain, case.tool_count) == (outcome.summary, "expense_approval", 3)
    assert case.keywords == ("approv", "expens", "claim", "sale", "depart")
    assert (case.outcome, case.quality, case.at) == (CaseOutcome.FAILURE, 0.4, outcome.ended_at)
    assert case.worked == ("writes verified: 2", "policy passed", "get_expense")
    assert case.failed == ("the tool server office is silent", "writes in_doubt: 1", "approve_expense")


def test_a_lesson_stays_small_whatever_the_outcome_says() -> None:
    case = lesson_of(
        an_outcome(summary="long " * 1000, reason="why " * 1000, failed=tuple(f"tool{n}" for n in range(500)))
    ).case
    assert len(case.summary) == 200
    assert len(case.failed) == 10
    assert len(case.failed[0]) == 200


def test_a_case_names_the_strategy_that_did_the_work() -> None:
    fell_back = {"strategy_fell_back": "the task's budget has no room for it"}
    told = an_outcome(strategy=Strategy.MOA, strategy_applied=False, details=fell_back)
    assert lesson_of(told).case.strategy is Strategy.FSM
    assert lesson_of(an_outcome(strategy=Strategy.MOA)).case.strategy is Strategy.MOA


@pytest.mark.promise("quality.parts_kept")
@each_row("formula", list(Formula))
def test_a_case_keeps_what_its_quality_is_the_sum_of(formula: Formula) -> None:
    """By either formula; what is no part of a score is left out, whatever an event says."""
    said = {"formula": formula.value, "baseline": 0.5, "needs_met": 0.1, "failed": -0.4}
    case = lesson_of(an_outcome(details={"quality_parts": {**said, "note": "long", "Odd name": 0.1, "much": 7}})).case
    assert case.formula == formula
    assert case.parts == {"baseline": 0.5, "needs_met": 0.1, "failed": -0.4}


@each_row("said", [None, "signals", [], {"formula": ["signals"]}, {"formula": "another"}])
def test_a_quality_without_its_parts_is_kept_all_the_same(said: JsonValue) -> None:
    case = lesson_of(an_outcome(details={"quality_parts": said})).case
    assert (case.formula, case.parts, case.quality) == ("", {}, 0.9)


@pytest.mark.promise("bandit.only_what_applied")
def test_a_strategy_that_did_not_apply_is_not_charged() -> None:
    assert lesson_of(an_outcome()).pull == Pull("expense_approval", Strategy.FSM)
    assert lesson_of(an_outcome(strategy_applied=False)).pull is None


@pytest.mark.promise("learner.poison")
@pytest.mark.parametrize(
    ("event", "said"),
    [
        pytest.param("", "the event: Invalid JSON", id="empty"),
        pytest.param('{"event_id": "e"}', "tenant: Field required", id="half"),
        pytest.param(an_outcome(quality=7.0).model_dump_json(), "quality: not between 0 and 1", id="quality 7"),
        pytest.param(an_outcome(quality=-0.1).model_dump_json(), "quality", id="quality below 0"),
        pytest.param(an_outcome(ended_at="0001-01-01T00:00:00Z").model_dump_json(), "ended_at", id="year 1"),
        pytest.param(an_outcome(ended_at="2026-03-02T12:00:00").model_dump_json(), "ended_at", id="no time zone"),
        pytest.param(an_outcome(event_id="a\nb").model_dump_json(), "line break", id="an id of two lines"),
        pytest.param(an_outcome(tenant="").model_dump_json(), "no id or no tenant", id="no tenant"),
    ],
)
def test_a_text_that_is_no_outcome_is_refused_with_its_reason(event: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        read(event)


def test_a_refusal_does_not_repeat_the_event() -> None:
    spoiled = an_outcome(summary="my secret").model_dump_json().replace('"tool_calls":3', '"tool_calls":"hush"')
    with pytest.raises(Unreadable) as refusal:
        read(spoiled)
    assert "hush" not in str(refusal.value)


def test_fields_of_a_later_version_are_ignored() -> None:
    later = an_outcome().model_dump_json().replace('"v":1', '"v":2,"news":1')
    assert read(later).event_id == "acme-1:1"


@pytest.mark.promise("learner.redacts")
def test_no_case_has_what_the_privacy_guard_marks_whoever_sent_the_event() -> None:
    """In the summary, its keywords, the reason and the names of tools."""
    card, secret = "4111 1111 1111 1111", "sk-live-abcdefghijklmnopqrstuvwx"
    case = lesson_of(
        an_outcome(summary=f"Charge card {card}", reason=f"refused {secret}", worked=(f"tool {secret}",))
    ).case
    told = case.model_dump_json()
    assert (card in told, secret in told) == (False, False)
    assert "[card]" in case.summary
