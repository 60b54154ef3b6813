"""Whole tasks in plain words over the example company, in a loop of anybody's that makes each call at once.

Through the worker they are carried out in tests/planner_tasks.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.planner_tasks import english, foreign, varied
from tests.planner_tasks.task import PlainTask
from tests.unit.planner.flat_loop import Verdict, judge_flat


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
    tasks: tuple[PlainTask, ...], least: float, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The company's books are what they must be, or nothing wrong was written and the answer names what is left."""
    ends = {task.name: judge_flat(task, tmp_path) for task in tasks}
    counts = Counter(ends.values())
    record_property("shown", f"flat: {dict(counts)} of {len(tasks)}")
    assert [name for name, verdict in ends.items() if verdict is Verdict.WRONG] == []
    assert counts[Verdict.RIGHT] >= least * len(tasks), ends
