"""Whole tasks in plain words over the example company, in a flat loop and in one that takes proposals."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.demo.books import Books as Picture
from cli.demo.script import TASKS as DEMO
from cli.demo.tasks import DemoTask
from shared.domain.exact_json import loads, loads_object
from tests.planner_tasks import english, foreign, varied
from tests.planner_tasks.task import PlainTask
from tests.unit.planner.flat_loop import Company, Run, flat, guarded
from tests.unit.planner.judged import Verdict, judged

Loop = Callable[[str, Company], Run]
_LOOPS = pytest.mark.parametrize("loop", [flat, guarded])
_NOT_DONE = ("rejected by a manager", "blocked by policy")  # by people and rules, of which these loops have none


@_LOOPS
@pytest.mark.promise("planner.plain_words")
@pytest.mark.parametrize(
    ("tasks", "least"),
    [
        pytest.param((*english.TASKS[::5], *varied.TASKS[::4], *foreign.TASKS[::4]), 0.7, id="some"),
        pytest.param(english.TASKS, 0.75, id="english", marks=pytest.mark.long),
        pytest.param(varied.TASKS, 0.75, id="varied", marks=pytest.mark.long),
        pytest.param(foreign.TASKS, 0.5, id="foreign", marks=pytest.mark.long),
    ],
)
def test_most_tasks_in_plain_words_are_carried_out_and_none_wrongly(
    loop: Loop,
    tasks: tuple[PlainTask, ...],
    least: float,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """The company's books are what they must be, or nothing wrong was written and the answer names what is left."""
    ends = {task.name: judged(task, tmp_path, loop).verdict for task in tasks}
    counts = Counter(ends.values())
    record_property("shown", f"{loop.__name__}: {dict(counts)} of {len(tasks)}")
    assert [name for name, verdict in ends.items() if verdict is Verdict.WRONG] == []
    assert counts[Verdict.RIGHT] >= least * len(tasks), ends


@_LOOPS
@pytest.mark.promise("planner.plain_words")
def test_the_tasks_of_the_demo_are_carried_out_one_after_the_other(loop: Loop, tmp_path: Path) -> None:
    company = Company(tmp_path)
    for task in DEMO:
        if task.name not in _NOT_DONE:
            _carry_out(task, company, loop)
    company.close()


def _carry_out(task: DemoTask, company: Company, loop: Loop) -> None:
    before = Picture.read(company.file)
    renamed = loads_object(task.faults).get("rename") if task.faults else None
    company.rename(renamed if isinstance(renamed, dict) else {})
    run = loop(task.turns[0].text, company)
    after = Picture.read(company.file)
    assert set(after.changes_since(before)) == set(task.changes), task.name
    assert after.writes_since(before) == task.writes, task.name
    if task.answer:
        wanted = task.answer
        assert loads(run.answer) == [*before.ids(wanted.table, wanted.column, wanted.value)]


def test_a_guarded_loop_is_asked_as_seldom_as_can_be(tmp_path: Path) -> None:
    """A question takes two requests; an action with a dependent read four, the last of which is the answer."""
    asked = {
        text: len(guarded(text, Company(tmp_path)).replies)
        for text in (
            "Which expense claims are pending? Answer with a JSON list of their ids.",
            "Assign asset AST-1721 to employee EMP-451.",
            "Approve expense claim EXP-1002.",
        )
    }
    assert [*asked.values()] == [2, 3, 4]
