"""A word that restricts a task narrows what is done, or the task is refused and the word named."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.planner_tasks import company_restrictions as rows
from tests.planner_tasks.judged_courses import Verdict, judge
from tests.planner_tasks.task import PlainTask

pytestmark = pytest.mark.promise("planner.plain_words")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize(
    "tasks",
    [
        pytest.param(rows.CHOICES, id="choices"),
        pytest.param(rows.FIGURES, id="figures"),
        pytest.param(rows.THINGS, id="things"),
        pytest.param(rows.IN_OTHER_WORDS, id="in_other_words"),
        pytest.param(rows.WHOLE, id="whole"),
        pytest.param(rows.SAID, id="said"),
        pytest.param(rows.DAYS, id="days"),
        pytest.param(rows.HOLDERS, id="holders"),
        pytest.param(rows.LINKS, id="links"),
    ],
)
async def test_each_word_is_heeded_or_named(tasks: tuple[PlainTask, ...], tmp_path: Path) -> None:
    ends = {task.text: (await judge(task, tmp_path)).verdict for task in tasks}
    assert [text for text, verdict in ends.items() if verdict is not Verdict.RIGHT] == []
