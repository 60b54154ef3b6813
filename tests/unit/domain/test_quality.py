"""Quality: verified facts raise it, penalties lower it, and nothing else counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.quality import WEAK, Evidence, quality
from shared.domain.words import TaskState

NOTHING = Evidence(
    state=TaskState.COMPLETED,
    exact_match=False,
    policy_passed=None,
    writes_planned=0,
    writes_verified=0,
    writes_doubtful=0,
    audit_clean=None,
    needs_met=False,
    answer_empty=False,
)
MAYBE = st.sampled_from([None, True, False])
EVIDENCE = st.builds(
    Evidence,
    state=st.sampled_from(list(TaskState)),
    exact_match=st.booleans(),
    policy_passed=MAYBE,
    writes_planned=st.integers(0, 3),
    writes_verified=st.integers(0, 3),
    writes_doubtful=st.integers(0, 3),
    audit_clean=MAYBE,
    needs_met=st.booleans(),
    answer_empty=st.booleans(),
    repeated_calls=st.integers(0, 10),
)


def test_a_task_of_which_nothing_is_verified_stands_at_the_baseline() -> None:
    assert quality(NOTHING) == 0.5
    assert quality(NOTHING) < WEAK


def test_everything_verified_is_the_best_there_is() -> None:
    best = NOTHING._replace(policy_passed=True, writes_planned=2, writes_verified=2, audit_clean=True, needs_met=True)
    assert quality(best) == 1.0


@pytest.mark.promise("reflect.quality")
@given(evidence=EVIDENCE)
def test_a_score_is_between_nothing_and_one(evidence: Evidence) -> None:
    assert 0.0 <= quality(evidence) <= 1.0


@pytest.mark.promise("reflect.quality")
@given(evidence=EVIDENCE)
def test_penalties_never_raise_a_score(evidence: Evidence) -> None:
    score = quality(evidence)

    assert quality(evidence._replace(answer_empty=True)) <= max(score, quality(evidence._replace(answer_empty=False)))
    assert quality(evidence._replace(repeated_calls=evidence.repeated_calls + 1)) <= score
    assert quality(evidence._replace(writes_doubtful=evidence.writes_doubtful + 1)) <= score
    assert quality(evidence._replace(state=TaskState.FAILED)) <= score


@pytest.mark.promise("reflect.quality")
@given(evidence=EVIDENCE)
def test_verified_facts_never_lower_a_score(evidence: Evidence) -> None:
    score = quality(evidence)

    for better in ({"policy_passed": True}, {"audit_clean": True}, {"needs_met": True}):
        assert quality(evidence._replace(**better)) >= score  # type: ignore[arg-type]  # one field of its own type


@pytest.mark.promise("reflect.quality")
def test_one_unverified_write_of_two_earns_nothing() -> None:
    assert quality(NOTHING._replace(writes_planned=2, writes_verified=1)) == quality(NOTHING)


@pytest.mark.promise("reflect.quality")
def test_an_exact_match_counts_only_on_a_completed_task() -> None:
    assert quality(NOTHING._replace(exact_match=True)) == 1.0
    assert quality(NOTHING._replace(exact_match=True, state=TaskState.FAILED)) < WEAK
