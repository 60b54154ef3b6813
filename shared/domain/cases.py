"""Past cases: which of them still teach something, and which are about a new task (seed 000, RL Feedback Loop).

A case is whatever has the fields of ``Case``; order in a log is newest first.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Protocol, TypeVar

from shared.domain.words import TaskState

CASES_KEPT = 200
CASES_SHOWN = 3
_POOR = 0.35
_GOOD = 0.6
_OLD = timedelta(hours=72)
_PATTERN = 3  # so many failures alike are one lesson learned, not three
_ALIKE = 0.5
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


def judged(state: TaskState, quality: float) -> CaseOutcome:
    """What an ended task counts as."""
    if state is TaskState.FAILED or quality < _POOR:
        return CaseOutcome.FAILURE
    return CaseOutcome.PARTIAL if quality < _GOOD or state is TaskState.CANCELED else CaseOutcome.SUCCESS


def pruned(log: Sequence[C], now: datetime) -> list[C]:
    """The log without context rot: poor failures, what is older than 72 hours, and failures that repeat each other.

    If that would take more than 70 % of it, the better half is kept instead, and never fewer than three.
    """
    repeated = _repeated_failures(log)
    kept = [case for case, again in zip(log, repeated, strict=True) if not again and not _is_rotten(case, now)]
    if len(log) - len(kept) <= _MOST_PRUNED * len(log):
        return kept
    return sorted(log, key=lambda case: -case.quality)[: max(_FEWEST_LEFT, ceil(len(log) / 2))]


def relevant(log: Iterable[C], words: Iterable[str], most: int = CASES_SHOWN) -> list[C]:
    """The cases that share the most keywords with a task; ties go to quality, then to the newer one."""
    wanted = frozenset(words)
    scored = [(len(wanted.intersection(case.keywords)), case) for case in log]
    near = [(overlap, case) for overlap, case in scored if overlap]
    near.sort(key=lambda found: (-found[0], -found[1].quality, -found[1].at.timestamp()))
    return [case for _, case in near[:most]]


def _is_rotten(case: Case, now: datetime) -> bool:
    poor = case.quality < _POOR and case.outcome is CaseOutcome.FAILURE
    return poor or now - case.at > _OLD


def _repeated_failures(log: Sequence[Case]) -> list[bool]:
    """Of each case, whether it is one of three or more failures about the same words."""
    words = [frozenset(case.keywords) if case.outcome is CaseOutcome.FAILURE else frozenset() for case in log]
    failures = [own for own in words if own]
    return [bool(own) and sum(_alike(own, other) for other in failures) >= _PATTERN for own in words]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    common = len(one & other)
    return common >= _ALIKE * (len(one) + len(other) - common)
