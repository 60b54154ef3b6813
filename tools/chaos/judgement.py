"""Whether a run that did no harm was any good: what it sent and struck, what became of it, how soon: pure.

A run that sends little and strikes little finds nothing, and looks like one in which all held.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from shared.domain.words import TaskState
from tools.chaos.endings import expected_end, is_expected_end
from tools.chaos.evidence import RunEvidence
from tools.chaos.load import SentTask
from tools.chaos.recovery import Recovered, percentile
from tools.chaos.schedule import WARM_UP_FROM
from tools.chaos.strikes import LEASE_SECONDS, LEAST_STRIKES

RECOVERY_SECONDS = LEASE_SECONDS + 6.0
CALL_SECONDS = 4.0  # a write in doubt waits out its call's time first: the stack's TOOL_TIMEOUT and a margin
LEAST_SHARE = 0.9  # of the stated rate
_LONGEST = 300  # characters of an answer that are shown
MOST_UNDISTURBED = 2.0  # seconds of one task while nothing is struck, beyond which the machine is no place to judge


class ExitCode(IntEnum):
    HELD = 0
    BROKEN = 1
    NOT_JUDGED = 2


@dataclass(frozen=True)
class RunCourse:
    """How a run went. ``planned``: tasks of the stated rate. ``struck``: by listed fault.

    ``undisturbed``: seconds of one task before anything was struck; None where nobody measured. ``unreadable``:
    requests to a company that nobody could read. ``outstanding``: turns of killed executors that nobody owned again.
    """

    planned: int
    sent: int
    ended_as_asked: int
    recoveries: Sequence[Recovered]
    outstanding: int
    struck: Mapping[str, int]
    undisturbed: float | None
    unreadable: int = 0


class Shortfall(NamedTuple):
    """A rule that the run did not meet, and the figure."""

    rule: str
    sentence: str


def find_shortfalls(course: RunCourse) -> tuple[Shortfall, ...]:
    """Every rule that was not met."""
    looks = (_recovery_shortfalls, _load_shortfalls, _fault_shortfalls, _sight_shortfalls)
    return tuple(shortfall for look in looks for shortfall in look(course))


def is_too_slow(course: RunCourse) -> bool:
    """Whether the machine is so busy that times and rates say nothing about the product."""
    return course.undisturbed is not None and course.undisturbed > MOST_UNDISTURBED


def exit_code(course: RunCourse, *, harmed: bool) -> ExitCode:
    """Harm is harm on any machine; everything else is judged only where an undisturbed task is quick."""
    if harmed:
        return ExitCode.BROKEN
    if is_too_slow(course):
        return ExitCode.NOT_JUDGED
    return ExitCode.BROKEN if find_shortfalls(course) else ExitCode.HELD


def worst_of(codes: Sequence[ExitCode]) -> ExitCode:
    """That of several runs: broken if one is, not judged if one was not, else held."""
    order = (ExitCode.BROKEN, ExitCode.NOT_JUDGED, ExitCode.HELD)
    return next(code for code in order if code in codes or code is ExitCode.HELD)


def count_as_asked(evidence: RunEvidence) -> int:
    """Tasks of the stated rate that ended as their errand asks, each of their writes applied."""
    return sum(not _why_not_as_asked(sent, evidence) for sent in _tasks_of_stated_rate(evidence))


def tasks_not_as_asked(evidence: RunEvidence) -> tuple[str, ...]:
    """Each task of the stated rate that did not end as its errand asks, with what it says of why."""
    reasons = ((sent, _why_not_as_asked(sent, evidence)) for sent in _tasks_of_stated_rate(evidence))
    return tuple(f"{sent.planned.task.kind.value}: {sent.planned.task.text}: {why}" for sent, why in reasons if why)


def _tasks_of_stated_rate(evidence: RunEvidence) -> Iterator[SentTask]:
    return (sent for sent in evidence.sent if sent.planned.number < WARM_UP_FROM)


def _why_not_as_asked(sent: SentTask, evidence: RunEvidence) -> str:
    view = evidence.view_of(sent)
    if view is None:
        return sent.refused or "the gateway shows no such task"
    told = view.answer[:_LONGEST]
    if not is_expected_end(sent, view.state):
        return f"{view.state} in place of {expected_end(sent)}: {told}"
    if view.state != TaskState.COMPLETED:
        return ""
    books = evidence.books[sent.planned.protocol]
    missing = [one.tool for one in sent.planned.task.writes if not books.count(one)]
    return f"{view.state} without {', '.join(missing)}: {told}" if missing else ""


def _recovery_shortfalls(course: RunCourse) -> Iterator[Shortfall]:
    kinds = {
        "a killed executor's turns": ([one for one in course.recoveries if _is_undelayed(one)], RECOVERY_SECONDS),
        "turns with a write in doubt": (
            [one for one in course.recoveries if one.doubtful and not one.everything_was_dead],
            RECOVERY_SECONDS + CALL_SECONDS,
        ),
        "turns after every executor had died": (
            [one for one in course.recoveries if one.everything_was_dead],
            RECOVERY_SECONDS + CALL_SECONDS,
        ),
    }
    for kind, (found, most) in kinds.items():
        p95 = percentile([one.seconds for one in found], 0.95)
        if p95 is not None and p95 > most:
            yield Shortfall("recovery", f"{kind}: p95 {p95:.1f} s over {most:.0f} s, of {len(found)}")
    if course.outstanding:
        yield Shortfall("recovery", f"{course.outstanding} turns of killed executors had no owner at the end")


def _is_undelayed(one: Recovered) -> bool:
    return not one.doubtful and not one.everything_was_dead


def _load_shortfalls(course: RunCourse) -> Iterator[Shortfall]:
    if not course.planned:
        yield Shortfall("rate", "no task was planned")
        return
    for what, count in (("sent", course.sent), ("ended as asked", course.ended_as_asked)):
        if count < LEAST_SHARE * course.planned:
            told = f"{count} of {course.planned} tasks of the stated rate {what}: {100 * count // course.planned} %"
            yield Shortfall("rate", f"{told}, under {LEAST_SHARE:.0%}")


def _fault_shortfalls(course: RunCourse) -> Iterator[Shortfall]:
    for name, times in course.struck.items():
        if times < LEAST_STRIKES:
            yield Shortfall("faults", f"{name} struck {times} times, and {LEAST_STRIKES} are needed")


def _sight_shortfalls(course: RunCourse) -> Iterator[Shortfall]:
    if course.unreadable:
        yield Shortfall("sight", f"{course.unreadable} requests to a company could not be read")
