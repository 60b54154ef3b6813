"""Which past cases are worth keeping, and which are relevant to a new task.

A case is any object with the fields of ``Case``; a log lists the newest first.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from heapq import nlargest
from math import ceil
from typing import Protocol, TypeVar, cast

from shared.domain.identity_cache import IdentityCache
from shared.domain.words import TaskState

CASES_KEPT = 200
CASES_SHOWN = 3
_POOR_QUALITY = 0.35
_GOOD_QUALITY = 0.6
_OLD_AFTER = timedelta(hours=72)
_FAILURES_OF_A_PATTERN = 3  # so many failures alike are one lesson learned, not three
_LEAST_OVERLAP = 0.5
_MOST_PRUNED = 0.7
_FEWEST_LEFT = 3


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


def judge_outcome(state: TaskState, quality: float) -> CaseOutcome:
    """Whether an ended task counts as a success, a partial success or a failure."""
    if state is TaskState.FAILED or quality < _POOR_QUALITY:
        return CaseOutcome.FAILURE
    return CaseOutcome.PARTIAL if quality < _GOOD_QUALITY or state is TaskState.CANCELED else CaseOutcome.SUCCESS


def prune_cases(log: Sequence[C], now: datetime) -> list[C]:
    """The log without poor failures, repeated failures, and cases over 72 hours old.

    If that would drop more than 70 % of the log, its better half is kept instead, and at least three cases.
    """
    since = now - _OLD_AFTER
    teaching = cast("list[C]", _teaching(log)) if isinstance(log, tuple) else _drop_uninstructive(log)
    kept = [case for case in teaching if case.at >= since]
    if len(log) - len(kept) <= _MOST_PRUNED * len(log):
        return kept
    return sorted(log, key=lambda case: -case.quality)[: max(_FEWEST_LEFT, ceil(len(log) / 2))]


def relevant_cases(log: Iterable[C], words: Iterable[str]) -> list[C]:
    """The cases that share the most keywords with a task; ties go to quality, then to the newer one."""
    wanted, near = frozenset(words), dict[int, list[C]]()
    for case in log:
        near.setdefault(len(wanted.intersection(case.keywords)), []).append(case)
    found: list[C] = []
    for overlap in sorted(near.keys() - {0}, reverse=True):
        found += nlargest(CASES_SHOWN - len(found), near[overlap], key=lambda case: (case.quality, case.at))
        if len(found) == CASES_SHOWN:
            break
    return found


def _drop_uninstructive(log: Sequence[C]) -> list[C]:
    """The cases that are neither poor failures nor repeated failures, of any age."""
    return [
        case
        for case, again in zip(log, _repeated_failures(log), strict=True)
        if not again and (case.quality >= _POOR_QUALITY or case.outcome is not CaseOutcome.FAILURE)
    ]


_teaching = IdentityCache[tuple[Case, ...], list[Case]](_drop_uninstructive, 64)  # one log comes with several tasks


def _repeated_failures(log: Sequence[Case]) -> list[bool]:
    """For each case, whether it is one of three or more failures with similar keywords."""
    words = [frozenset(case.keywords) if case.outcome is CaseOutcome.FAILURE else frozenset() for case in log]
    times = Counter(own for own in words if own)
    about: dict[str, list[frozenset[str]]] = {}  # which sets have a word: only those that share one are compared
    for own in times:
        for word in own:
            about.setdefault(word, []).append(own)
    alike = {own: sum(times[other] for other in _find_overlapping(own, about)) for own in times}
    return [bool(own) and alike[own] >= _FAILURES_OF_A_PATTERN for own in words]


def _find_overlapping(own: frozenset[str], about: Mapping[str, Sequence[frozenset[str]]]) -> list[frozenset[str]]:
    """The keyword sets that overlap with ``own`` in at least half of their union, including itself."""
    shared = Counter(other for word in own for other in about[word])
    return [other for other, common in shared.items() if common >= _LEAST_OVERLAP * (len(own) + len(other) - common)]
