"""Which past cases are worth keeping, and which are relevant to a new task.

A case is any object with the fields of ``Case``; a log lists the newest first.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Protocol, TypeAlias, TypeVar, cast

from shared.domain.identity_cache import cached_by_identity
from shared.domain.words import TaskState

CASES_KEPT = 200
CASES_SHOWN = 3
_POOR_QUALITY = 0.35
_GOOD_QUALITY = 0.6
_OLD_CASE_AGE = timedelta(hours=72)
_FEWEST_FAILURES_OF_A_PATTERN = 3  # so many failures alike are one lesson learned, not three
_LEAST_WORD_OVERLAP = 0.5
_MOST_SHARE_PRUNED = 0.7
_FEWEST_CASES_LEFT = 3


class CaseOutcome(StrEnum):
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"


class Case(Protocol):
    @property
    def keywords(self) -> tuple[str, ...]: ...

    @property
    def outcome(self) -> CaseOutcome: ...

    @property
    def quality(self) -> float: ...

    @property
    def at(self) -> datetime: ...


C = TypeVar("C", bound=Case)
_Words: TypeAlias = frozenset[str]


def judge_outcome(state: TaskState, quality: float) -> CaseOutcome:
    """Whether an ended task counts as a success, a partial success or a failure."""
    if state is TaskState.FAILED or quality < _POOR_QUALITY:
        return CaseOutcome.FAILURE
    is_partial = quality < _GOOD_QUALITY or state is TaskState.CANCELED
    return CaseOutcome.PARTIAL if is_partial else CaseOutcome.SUCCESS


def prune_cases(log: Sequence[C], now: datetime) -> list[C]:
    """The log, which must not change, without poor failures, repeated failures, and cases over 72 hours old.

    If that would drop more than 70 % of the log, its better half is kept instead, and at least three cases.
    """
    since = now - _OLD_CASE_AGE
    teaching = cast("list[C]", _drop_uninstructive(log))
    recent = [case for case in teaching if case.at >= since]
    if len(log) - len(recent) <= _MOST_SHARE_PRUNED * len(log):
        return recent
    return sorted(log, key=lambda case: -case.quality)[: max(_FEWEST_CASES_LEFT, ceil(len(log) / 2))]


def select_relevant_cases(log: Iterable[C], words: Iterable[str]) -> list[C]:
    """The cases that share the most keywords with a task; ties go to quality, then to the one listed first."""
    task_words, cases_by_overlap = frozenset(words), dict[int, list[C]]()
    for case in log:
        cases_by_overlap.setdefault(len(task_words.intersection(case.keywords)), []).append(case)
    best_cases: list[C] = []
    for overlap in sorted(cases_by_overlap.keys() - {0}, reverse=True):
        best_cases += sorted(cases_by_overlap[overlap], key=lambda case: case.quality, reverse=True)
        if len(best_cases) >= CASES_SHOWN:
            break
    return best_cases[:CASES_SHOWN]


@cached_by_identity(64)  # one log comes with several tasks
def _drop_uninstructive(log: Sequence[Case]) -> list[Case]:
    """The cases that are neither poor failures nor repeated failures, of any age."""
    return [
        case
        for case, is_repeated in zip(log, _flag_repeated_failures(log), strict=True)
        if not is_repeated and (case.quality >= _POOR_QUALITY or case.outcome is not CaseOutcome.FAILURE)
    ]


def _flag_repeated_failures(log: Sequence[Case]) -> list[bool]:
    """For each case, whether it is one of three or more failures with similar keywords."""
    words_by_case = [frozenset(case.keywords) if case.outcome is CaseOutcome.FAILURE else frozenset() for case in log]
    times = Counter(words for words in words_by_case if words)
    sets_by_word: dict[str, list[_Words]] = {}  # only sets that share a word are compared
    for words in times:
        for word in words:
            sets_by_word.setdefault(word, []).append(words)
    alike = {words: sum(times[other] for other in _find_overlapping(words, sets_by_word)) for words in times}
    return [bool(words) and alike[words] >= _FEWEST_FAILURES_OF_A_PATTERN for words in words_by_case]


def _find_overlapping(words: _Words, sets_by_word: Mapping[str, Sequence[_Words]]) -> list[_Words]:
    """The keyword sets that overlap with ``words`` in at least half of their union, including itself."""
    shared = Counter(other for word in words for other in sets_by_word[word])
    return [
        other for other, common in shared.items() if common >= _LEAST_WORD_OVERLAP * (len(words) + len(other) - common)
    ]
