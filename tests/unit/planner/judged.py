"""How a task of the table came out: by the company's books and by what the answer says."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from cli.demo.books import BookChange
from shared.domain.exact_json import loads
from tests.planner_tasks.task import PlainTask
from tests.unit.planner.flat_loop import Company, Run

_ADMITS = ("Not done", "Not understood", "Could not be found out", "could be read", "Left out", "could be found")


class Verdict(StrEnum):
    RIGHT = "right"
    REFUSED = "refused"  # nothing wrong was written, and the answer says what was not done
    WRONG = "wrong"


class Judged(NamedTuple):
    verdict: Verdict
    run: Run
    changes: frozenset[BookChange]
    expected: frozenset[BookChange]


def judged(task: PlainTask, folder: Path, loop: Callable[[str, Company], Run]) -> Judged:
    """Run a task on fresh books and compare them with books on which its own writes were made."""
    expected, _ = _model(task, folder)
    company = Company(folder)
    run = loop(task.text, company)
    changes, _ = company.close()
    if changes == expected and _answers(task, run.answer):
        return Judged(Verdict.RIGHT, run, changes, expected)
    admits = any(words in run.answer for words in _ADMITS)
    return Judged(Verdict.REFUSED if admits and _is_part(changes, expected) else Verdict.WRONG, run, changes, expected)


def _is_part(changes: frozenset[BookChange], expected: frozenset[BookChange]) -> bool:
    """Whether every row that was changed is one that should be; a counter may stand between."""
    return {(one.table, one.row) for one in changes} <= {(one.table, one.row) for one in expected}


def _model(task: PlainTask, folder: Path) -> tuple[frozenset[BookChange], tuple[str, ...]]:
    company = Company(folder)
    for name, arguments in task.writes:
        result, failed = company.call(name, arguments)
        assert not failed, (task.name, name, result)
    return company.close()


def _answers(task: PlainTask, answer: str) -> bool:
    if task.listed is not None:
        try:
            return loads(answer) == [*task.listed]
        except ValueError:
            return False
    return all(words in answer for words in task.says)
