"""A task's journal, and what a session remembers, stay within bounds whatever happens."""

import pytest

from services.executor.core.session.journal import KINDS_WITHOUT_STEP, JournalLimits
from services.executor.ports.turns import SessionState
from shared.domain.words import TaskState, WriteStatus
from tests.doubles.scripted_model import text_reply
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import READ, Stage

SETTLED, TURNS = 10, 14


def _bounded(stage: Stage, **bounds: int) -> Stage:
    stage.limits = stage.limits._replace(journal=JournalLimits(**bounds))
    return stage


@pytest.mark.promise("journal.bounded")
async def test_a_task_of_too_many_steps_or_that_collects_too_much_ends_with_the_reason() -> None:
    """A model that reads and reads and never comes to an end."""
    stage = _bounded(Stage(), steps=12)
    stage.talk.rounds = [[READ]] * 100
    record = await stage.run()
    assert (record.state, "JOURNAL_STEPS" in (record.reason or "")) == (TaskState.FAILED, True)
    assert sum(step.kind not in KINDS_WITHOUT_STEP for step in stage.turns.steps.values()) <= 12
    stage = _bounded(Stage(), size=20_000)
    stage.servers.add("get_claim", lambda _: {"text": "long " * 10_000})
    record = await stage.run()
    assert (record.state, "JOURNAL_BYTES" in (record.reason or "")) == (TaskState.FAILED, True)
    assert sum(len(step.data_json) for step in stage.turns.steps.values()) < 20_000
    assert (await replayed(stage)).is_same


@pytest.mark.promise("journal.bounded")
@each_row("lacking", [2, 3, 5])
async def test_what_is_in_flight_is_settled_all_the_same(lacking: int) -> None:
    """The write was made and proved; then there is no room for the answer, and both are said."""
    stage = Stage()
    await stage.run()
    steps = sum(step.kind not in KINDS_WITHOUT_STEP for step in stage.turns.steps.values())
    tight = _bounded(Stage(), steps=steps - lacking)
    record = await tight.run()
    assert (record.state, tight.statuses) == (TaskState.FAILED, [WriteStatus.VERIFIED.value])
    assert "approve_claim" in (record.answer or "")


@pytest.mark.promise("journal.bounded")
async def test_a_session_of_many_turns_remembers_no_more_than_a_short_one() -> None:
    """Turns, their texts and renamed columns: after 14 turns as after 10."""
    sizes: list[int] = []
    remembered = SessionState()
    for number in range(TURNS):
        stage = Stage("approve " * 600, answer="done " * 1_200)
        stage.talk.helpers["summarize"] = text_reply("said " * 1_200)
        learned = {f"old{number:02}{column}": "new" for column in range(20)}
        stage.turns.remembered = remembered._replace(corrections={**remembered.corrections, **learned})
        await stage.run()
        remembered = stage.turns.remembered
        sizes.append(len(str(remembered)))
    assert max(sizes[SETTLED:]) <= max(sizes[:SETTLED]) < 100_000
