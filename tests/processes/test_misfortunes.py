"""The demo's tasks with renamed columns, failing and slow calls: they end right, or honestly not done; never wrong."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from examples.demo.books import DemoTask
from examples.demo.script import TASKS
from services.executor.core.session.context import Limits
from tests.processes.misfortunes import TOOL_SECONDS, Misfortune, Tally, Theatre, judged, misfortunes
from tests.processes.stage import open_stage

BY_NAME = {task.name: task for task in TASKS}
Choice = Callable[[Sequence[Misfortune]], Sequence[Misfortune]]


@asynccontextmanager
async def theatre(folder: Path, redis_url: str) -> AsyncIterator[Theatre]:
    limits = Limits(tool_seconds=TOOL_SECONDS)
    async with open_stage(folder, redis_url, limits=limits, patient=True) as stage:
        opened = Theatre(stage)
        try:
            yield opened
        finally:
            opened.close()


async def befallen(played: Theatre, task: DemoTask, chosen: Choice, tally: Tally) -> None:
    """The task undisturbed, which must end as the demo says, and then once with each of the chosen misfortunes."""
    healthy = await played.undisturbed(task)
    assert (healthy.record.state.value, healthy.writes) == (task.turns[-1].then, task.writes), healthy.record.reason
    for misfortune in chosen(misfortunes(played)):
        tally.judged.append(judged(task, healthy, misfortune, await played.run(task, misfortune)))


def _each(step: int, *named: str) -> Choice:
    """Every so many-th misfortune, and those that are named."""

    def chosen(all_of_them: Sequence[Misfortune]) -> Sequence[Misfortune]:
        return [one for place, one in enumerate(all_of_them) if place % step == 0 or one.name in named]

    return chosen


@pytest.mark.promise("company.misfortunes")
async def test_what_befalls_the_company_leads_to_no_wrong_write(
    tmp_path: Path, redis_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sample; among it the columns that the policy judges by, which nobody could write past."""
    tally = Tally()
    async with theatre(tmp_path, redis_url) as played:
        judged_by = ("expenses.amount called q7", "expenses.category called q7", "approve_expense losing a reply")
        await befallen(played, BY_NAME["approved by a manager"], _each(60, *judged_by), tally)
        await befallen(played, BY_NAME["blocked by policy"], _each(60, *judged_by), tally)
        questioned = ("expenses.id called q7", "expenses.id called id_value", "list_expenses failing once")
        await befallen(played, BY_NAME["a question"], _each(50, *questioned), tally)
    with capsys.disabled():
        print(f"\nmisfortunes, a sample: {tally}")  # noqa: T201  # people want the fraction
    assert not tally.wrong, tally.wrong
    assert len(tally.judged) >= 8


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.promise("company.misfortunes")
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name.replace(" ", "_"))
async def test_whatever_befalls_the_company_a_task_of_the_demo_ends_right_or_honestly(
    task: DemoTask, tmp_path: Path, redis_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each column of each table that it sees renamed twice; each tool that it calls refused, cut off and late."""
    tally = Tally()
    async with theatre(tmp_path, redis_url) as played:
        await befallen(played, task, _each(1), tally)
    with capsys.disabled():
        print(f"\n{task.name}: {tally}")  # noqa: T201  # people want the fraction
    assert not tally.wrong, tally.wrong
