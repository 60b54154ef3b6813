"""A digest teaches what the outcome beside it teaches, and nothing is learned by one that is no digest."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from services.learner.core.memory.lesson import (
    UnreadableOutcome,
    make_lesson,
    make_lesson_from_digest,
    parse_outcome,
    read_lesson_of_delivery,
)
from services.learner.ports.outcomes import Delivery, StrategyUse
from shared.contracts.outcome import TaskOutcome
from shared.contracts.outcome_digest import NO_DIGEST, OutcomeDigest, make_case_entry, make_outcome_digest
from shared.domain.bandit import convert_to_reward_units
from shared.domain.words import Strategy, TaskState
from tests.each_row import each_row
from tests.integration.learner_stage import an_outcome

_texts = st.text(max_size=30)
_names = st.text(min_size=1, max_size=12)
_zones = st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))
_parts = st.dictionaries(_names | st.just("formula"), st.floats() | st.booleans() | _texts | st.none(), max_size=4)
_outcomes = st.fixed_dictionaries(
    {
        "event_id": _names.filter(lambda name: "\n" not in name),
        "tenant": _names,
        "session_id": _texts,
        "state": st.sampled_from([state for state in TaskState if state.is_terminal]),
        "process_type": _texts,
        "strategy": st.sampled_from(Strategy),
        "strategy_applied": st.booleans(),
        "dry_run": st.booleans(),
        "quality": st.floats(0, 1),
        "summary": _texts | st.just("Pay with card 4111 1111 1111 1111, write to joe@example.com"),
        "writes": st.dictionaries(st.sampled_from(["verified", "in_doubt", "unsent"]), st.integers(0, 9)),
        "policy_passed": st.none() | st.booleans(),
        "reason": st.none() | _texts,
        "worked": st.lists(_texts, max_size=12),
        "failed": st.lists(_texts, max_size=12),
        "ended_at": st.datetimes(datetime(2000, 1, 3), datetime(2199, 12, 29), timezones=_zones),
        "details": st.fixed_dictionaries(
            {"quality_parts": st.none() | _parts, "strategy_fell_back": st.none() | _texts}
        ),
    }
).map(lambda facts: an_outcome(**facts))


@pytest.mark.promise("learner.digest")
@given(_outcomes)
def test_a_digest_teaches_exactly_what_its_outcome_teaches(outcome: TaskOutcome) -> None:
    """Made by the executor of what it has at hand, or by the learner of what it reads: the same lesson."""
    digest, text = make_outcome_digest(outcome), outcome.model_dump_json()
    by_digest = read_lesson_of_delivery(Delivery(3, "1-1", 1, "", digest))
    assert by_digest == read_lesson_of_delivery(Delivery(3, "1-1", 1, text)) == make_lesson(parse_outcome(text))
    assert (by_digest.tenant, by_digest.event_id) == (outcome.tenant, outcome.event_id)
    assert int(by_digest.counted_line.split()[0]) == convert_to_reward_units(outcome.quality)
    pull = StrategyUse(outcome.process_type, outcome.strategy)
    assert by_digest.pull == (pull if outcome.strategy_applied else None)
    assert by_digest.day == outcome.ended_at.astimezone(UTC).date()
    assert by_digest.case_json == ("" if outcome.dry_run else make_case_entry(parse_outcome(text)).stored_json())


@pytest.mark.promise("learner.digest")
@given(_outcomes)
def test_a_digest_has_no_line_break(outcome: TaskOutcome) -> None:
    assert not any("\n" in part for part in make_outcome_digest(outcome))


@each_row("wrong", [{"tenant": ""}, {"event_id": "a\nb"}, {"quality": 1.5}, {"ended_at": datetime(2026, 1, 1)}])
def test_an_outcome_with_a_fault_has_no_digest(wrong: dict[str, object]) -> None:
    """The learner reads it, and says what is wrong with it."""
    assert make_outcome_digest(an_outcome().model_copy(update=wrong)) == NO_DIGEST


GOOD = '"acme" fsm:"payroll" 9000 success 1767225600000 2026-01-01 e:1'


@pytest.mark.promise("learner.digest")
@each_row(
    "header",
    "",
    GOOD.replace('"acme"', "acme"),
    GOOD.replace("fsm", "magic"),
    GOOD.replace("9000", "10001"),
    GOOD.replace("success", "applause"),
    GOOD.replace("2026-01-01", "2026-02-30"),
    GOOD.replace(" e:1", ""),
    f"{GOOD}\n0 1",
)
def test_nothing_is_learned_by_a_forged_header(header: str) -> None:
    with pytest.raises(UnreadableOutcome):
        make_lesson_from_digest(OutcomeDigest(header, "{}"))
