"""How a task that the real worker carried out came out: by the company's books, its answer, and whom it asked."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from cli.demo.books import BookChange
from shared.contracts.approval import Approval
from shared.domain.exact_json import loads
from shared.domain.words import Strategy, TaskState
from tests.planner_tasks.task import PlainTask
from tests.planner_tasks.through_worker import Course, Office, Usage
from tests.unit.planner.flat_loop import Company

_OWN_WORDS = frozenset({"cancel_reason", "resolution"})  # of the worker, like those that the picture leaves out


class Verdict(StrEnum):
    RIGHT = "right"
    REFUSED = "refused"  # nothing wrong was written, and the task says what it did not do
    WRONG = "wrong"


class Judged(NamedTuple):
    """``needless``: what a person was asked although neither a rule nor the process asks for one."""

    verdict: Verdict
    usage: Usage
    needless: Sequence[str]


async def judge(task: PlainTask, folder: Path, strategy: Strategy = Strategy.FSM, others: int = 0) -> Judged:
    """Carry a task out on fresh books and compare them with books on which its own writes were made.

    ``others``: how many further tools the company's server lists.
    """
    expected = _expected(task, folder)
    office = Office(folder, strategy, others)
    before = office.books()
    course = await office.carry_out(task.text)
    changes = frozenset(one for one in office.books().changes_since(before) if one.column not in _OWN_WORDS)
    office.close()
    needless = [reason for one in course.questions for reason in _needless(one.rules, one.approval)]
    return Judged(_verdict(task, course, changes, expected), course.usage, needless)


def _verdict(
    task: PlainTask, course: Course, changes: frozenset[BookChange], expected: frozenset[BookChange]
) -> Verdict:
    if changes == expected and _answers(task, course.answer):
        return Verdict.RIGHT
    in_part = {(one.table, one.row) for one in changes} <= {(one.table, one.row) for one in expected}
    admits = course.record.state is not TaskState.COMPLETED or "Not done" in course.answer
    return Verdict.REFUSED if in_part and admits else Verdict.WRONG


def _needless(rules: Sequence[str], approval: Approval) -> list[str]:
    """A rule, a confirmation and two people are asked for by the tenant or the process; nothing else is."""
    own = approval.confirmation is not None or any("two different people" in reason for reason in approval.reasons)
    return [] if rules or own else [*approval.reasons] or ["nobody says why"]


def _expected(task: PlainTask, folder: Path) -> frozenset[BookChange]:
    company = Company(folder)
    for name, arguments in (*task.writes, *task.besides):
        result, failed = company.call(name, arguments)
        assert not failed, (task.name, name, result)
    return company.close()[0]


def _answers(task: PlainTask, answer: str) -> bool:
    if task.listed is not None:
        try:
            return loads(answer) == [*task.listed]
        except ValueError:
            return False
    return all(words in answer for words in task.says)
