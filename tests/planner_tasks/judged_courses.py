"""How a task that the real worker carried out came out: by the company's books, its answer, and whom it asked."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from examples.company.books import ToolRefused
from examples.company.catalogue import TOOLS
from examples.demo.books import BookChange, BooksSnapshot as Picture
from shared.contracts.approval import Approval
from shared.domain.exact_json import JsonObject, loads, to_builtins
from shared.domain.words import Strategy, TaskState
from tests.company_stage import open_books
from tests.planner_tasks.task import PlainTask
from tests.planner_tasks.through_worker import Course, Office, Usage

_NOW = datetime(2026, 3, 31, 9, tzinfo=UTC)
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
    if changes == expected and answers(task, course.answer):
        return Verdict.RIGHT
    in_part = {(one.table, one.row) for one in changes} <= {(one.table, one.row) for one in expected}
    admits = course.record.state is not TaskState.COMPLETED or "Not done" in course.answer
    return Verdict.REFUSED if in_part and admits else Verdict.WRONG


def _needless(rules: Sequence[str], approval: Approval) -> list[str]:
    """A rule, a confirmation and two people are asked for by the tenant or the process; nothing else is."""
    own = approval.confirmation is not None or any("two different people" in reason for reason in approval.reasons)
    return [] if rules or own else [*approval.reasons] or ["nobody says why"]


class _Company:
    """One fresh copy of the company's books."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "company.db"
        self._books = open_books(folder, _NOW)
        self._before = Picture.read(self._file)

    def call(self, name: str, arguments: JsonObject) -> tuple[object, bool]:
        """The answer and whether it is an error."""
        given = to_builtins(arguments)
        assert isinstance(given, dict)
        try:
            return TOOLS[name].call(self._books, given), False
        except (ToolRefused, ValidationError) as refused:
            return str(refused), True

    def changes(self) -> frozenset[BookChange]:
        self._books.close()
        changes = Picture.read(self._file).changes_since(self._before)
        return frozenset(one for one in changes if one.column not in _OWN_WORDS)


def _expected(task: PlainTask, folder: Path) -> frozenset[BookChange]:
    company = _Company(folder)
    for name, arguments in (*task.writes, *task.besides):
        result, failed = company.call(name, arguments)
        assert not failed, (task.text, name, result)
    return company.changes()


def answers(task: PlainTask, answer: str) -> bool:
    if task.listed is not None:
        try:
            return loads(answer) == [*task.listed]
        except ValueError:
            return False
    return all(words in answer for words in task.says)
