"""Quality: verified facts raise it, penalties lower it, and nothing else counts."""

import pytest
from hypothesis import given, strategies as st

from shared.domain.quality import WEAK_SCORE, QualityFormula, TaskEvidence, compute_quality as scored
from shared.domain.words import TaskState
from tests.each_row import each_row

NOTHING = TaskEvidence(
    state=TaskState.COMPLETED,
    is_exact_match=False,
    policy_kept=None,
    writes_planned=0,
    writes_verified=0,
    writes_doubtful=0,
    audit_clean=None,
    needs_met=False,
    is_answer_empty=False,
)
MAYBE = st.sampled_from([None, True, False])
EVIDENCE = st.builds(
    TaskEvidence,
    state=st.sampled_from(list(TaskState)),
    is_exact_match=st.booleans(),
    policy_kept=MAYBE,
    writes_planned=st.integers(0, 3),
    writes_verified=st.integers(0, 3),
    writes_doubtful=st.integers(0, 3),
    audit_clean=MAYBE,
    needs_met=st.booleans(),
    is_answer_empty=st.booleans(),
    repeated_calls=st.integers(0, 10),
    outputs_there=MAYBE,
    is_grounded=st.booleans(),
    has_empty_data=st.booleans(),
    has_error_phrase=st.booleans(),
    is_idle=st.booleans(),
    tool_calls=st.integers(0, 40),
    answer_words=st.integers(0, 400),
    task_words=st.integers(0, 100),
)


def quality(evidence: TaskEvidence) -> float:
    return scored(evidence).value


@pytest.mark.promise("reflect.quality")
def test_quality_stands_at_its_baseline_until_everything_is_verified() -> None:
    assert quality(NOTHING) == 0.5
    assert quality(NOTHING) < WEAK_SCORE
    assert quality(NOTHING._replace(writes_planned=2, writes_verified=1)) == quality(NOTHING)
    best = NOTHING._replace(policy_kept=True, writes_planned=2, writes_verified=2, audit_clean=True, needs_met=True)
    assert quality(best) == 1.0


@pytest.mark.promise("reflect.quality")
@given(evidence=EVIDENCE)
def test_penalties_never_raise_a_score(evidence: TaskEvidence) -> None:
    score = quality(evidence)

    assert quality(evidence._replace(is_answer_empty=True)) <= max(
        score, quality(evidence._replace(is_answer_empty=False))
    )
    assert quality(evidence._replace(repeated_calls=evidence.repeated_calls + 1)) <= score
    assert quality(evidence._replace(writes_doubtful=evidence.writes_doubtful + 1)) <= score
    assert quality(evidence._replace(state=TaskState.FAILED)) <= score
    for worse in ({"has_empty_data": True}, {"has_error_phrase": True}, {"is_idle": True}):
        without = quality(evidence._replace(**dict.fromkeys(worse, False)))  # type: ignore[arg-type]  # one field of its own type
        assert quality(evidence._replace(**worse)) <= without  # type: ignore[arg-type]  # the same


@pytest.mark.promise("reflect.quality")
@given(evidence=EVIDENCE)
def test_verified_facts_never_lower_a_score(evidence: TaskEvidence) -> None:
    score = quality(evidence)

    facts = ("policy_kept", "audit_clean", "needs_met", "outputs_there", "is_grounded")
    for better in ({name: True} for name in facts):
        assert quality(evidence._replace(**better)) >= score  # type: ignore[arg-type]  # one field of its own type


@pytest.mark.promise("reflect.quality", "reflect.weighted_formula")
def test_an_exact_match_counts_on_a_completed_task_alone_and_by_either_formula() -> None:
    assert quality(NOTHING._replace(is_exact_match=True)) == 1.0
    assert quality(NOTHING._replace(is_exact_match=True, state=TaskState.FAILED)) < WEAK_SCORE
    exact = NOTHING._replace(is_exact_match=True)
    assert [scored(exact, formula).value for formula in QualityFormula] == [1.0, 1.0]


@pytest.mark.promise("reflect.quality")
@given(evidence=EVIDENCE, more=st.integers(1, 500))
def test_length_and_more_calls_earn_nothing(evidence: TaskEvidence, more: int) -> None:
    longer = evidence._replace(answer_words=evidence.answer_words + more, tool_calls=evidence.tool_calls + more)
    assert quality(longer) == quality(evidence)


@pytest.mark.promise("reflect.idle_runs")
def test_a_run_that_planned_nothing_is_no_example_and_a_right_answer_to_a_question_is_not_weak() -> None:
    """What it read earns; nothing that it did was proved."""
    idle = NOTHING._replace(is_idle=True, needs_met=True)
    assert quality(idle) < 0.6
    assert quality(NOTHING._replace(needs_met=True, is_grounded=True)) >= WEAK_SCORE


@pytest.mark.promise("reflect.quality")
@given(evidence=EVIDENCE)
def test_a_score_is_the_sum_of_its_parts_within_its_bounds(evidence: TaskEvidence) -> None:
    for formula in QualityFormula:
        score = scored(evidence, formula)
        assert score.value == round(min(1.0, max(0.0, sum(score.parts.values()))), 4)


@pytest.mark.promise("reflect.weighted_formula")
@each_row(("policy", "calls", "words", "expected"), [(True, 0, 20, 1.0), (None, 0, 20, 0.85), (False, 18, 0, 0.0)])
def test_the_weighted_formula_is_that_of_the_seeds(
    policy: bool | None, calls: int, words: int, expected: float
) -> None:
    """0.35 answer (its length against the task's), 0.35 tools (fewer are better), 0.30 policy (1, 0.5 or 0)."""
    run = NOTHING._replace(policy_kept=policy, tool_calls=calls, answer_words=words, task_words=20)
    assert scored(run, QualityFormula.WEIGHTED).value == pytest.approx(expected)
