"""Merging cases into a log: nothing twice, the better ones if there are too many, and the same again and again."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.learner.core.training import as_stored_case, merge_cases
from services.learner.ports.outcomes import StoredCase
from shared.contracts.knowledge import CaseEntry
from shared.domain.cases import CASES_KEPT
from tests.doubles.redis_tasks import NOON
from tests.unit.learner.makers import a_case

MOST = 6
_CASES = st.builds(
    lambda number, quality, hours: a_case(number, quality=quality / 4, at=NOON - timedelta(hours=hours)),
    st.integers(0, 12),
    st.integers(0, 4),
    st.integers(0, 5),
)
_NEW = st.lists(_CASES, max_size=10)
_LOGS = st.lists(_CASES, max_size=MOST, unique_by=lambda case: case.case_id).map(
    lambda cases: [as_stored_case(case) for case in sorted(cases, key=lambda case: case.at, reverse=True)]
)


def _cases(log: list[StoredCase]) -> list[CaseEntry]:
    return [entry.case for entry in log if entry.case]


@pytest.mark.promise("training.merged")
@given(_LOGS, _NEW)
def test_a_merged_log_has_nothing_twice_and_is_within_its_cap(log: list[StoredCase], new: list[CaseEntry]) -> None:
    """Everything in it comes from one of the two, and it is as full as it can be; newest first."""
    result = merge_cases(log, new, MOST)
    ids = [case.case_id for case in _cases(result)]
    offered = {case.case_id for case in [*_cases(log), *new]}
    assert len(ids) == len(set(ids)) == min(MOST, len(offered))
    assert set(ids) <= offered
    times = [case.at for case in _cases(result)]
    assert times == sorted(times, reverse=True)


@pytest.mark.promise("training.merged")
@given(_LOGS, _NEW)
def test_what_is_left_out_is_no_better_than_what_stays(log: list[StoredCase], new: list[CaseEntry]) -> None:
    result = _cases(merge_cases(log, new, MOST))
    latest = {case.case_id: case for case in [*_cases(log), *new]}
    ids = {case.case_id for case in result}
    out = [case.quality for name, case in latest.items() if name not in ids]
    assert not out or max(out) <= min(case.quality for case in result)


@pytest.mark.promise("training.merged")
@given(_LOGS, _NEW)
def test_merging_the_same_again_changes_nothing(log: list[StoredCase], new: list[CaseEntry]) -> None:
    once = merge_cases(log, new, MOST)
    assert merge_cases(once, new, MOST) == once


@pytest.mark.promise("training.merged")
def test_a_full_log_takes_what_is_better_and_keeps_what_is_good() -> None:
    """Not overwritten, and not in vain: fifty good examples into two hundred middling cases."""
    log = [as_stored_case(a_case(number, quality=0.5 if number % 2 else 0.7)) for number in range(CASES_KEPT)]
    new = [a_case(1000 + number, quality=0.6) for number in range(50)]
    result = _cases(merge_cases(log, new))
    assert len(result) == CASES_KEPT
    assert sum(case.quality == 0.7 for case in result) == CASES_KEPT // 2
    assert sum(case.quality == 0.6 for case in result) == 50
    worse = [a_case(2000 + number, quality=0.1) for number in range(50)]
    assert _cases(merge_cases(log, worse)) == _cases(log)


def test_a_case_that_says_something_else_or_is_newer_replaces_the_one_of_its_id() -> None:
    log = [as_stored_case(a_case(1, quality=0.4)), as_stored_case(a_case(2))]
    assert {case.case_id: case.quality for case in _cases(merge_cases(log, [a_case(1, quality=0.8)]))} == {
        "case-1": 0.8,
        "case-2": 0.9,
    }
    assert merge_cases(log, [a_case(2, at=NOON - timedelta(days=3))]) == log
    assert merge_cases(log, [a_case(2, at=NOON)])[0] == as_stored_case(a_case(2, at=NOON))


def test_entries_that_cannot_be_read_stay_while_there_is_room() -> None:
    log = [StoredCase("?", None), *(as_stored_case(a_case(number)) for number in range(3))]
    assert [entry.text == "?" for entry in merge_cases(log, [], 4)] == [False, False, False, True]
    assert not any(entry.text == "?" for entry in merge_cases(log, [a_case(9)], 4))
