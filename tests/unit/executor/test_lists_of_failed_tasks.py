"""An answer that is one JSON list stays as the model gave it, also where a part of the task was not done."""

import pytest

from shared.domain.words import TaskState
from tests.unit.executor.stage import Stage


@pytest.mark.promise("I9.exact_answers")
async def test_a_list_stays_as_it_is_where_a_part_was_not_done() -> None:
    stage = Stage("Which claims are open? Answer with a JSON list. Then approve claim C-1.")
    stage.talk.parts = [("Which claims are open? Answer with a JSON list.", "find out"), ("approve claim C-1", "do")]
    stage.talk.form, stage.talk.rounds, stage.talk.answer = "list", stage.talk.rounds[:1], '[ "C-1",  "C-2" ]'
    record = await stage.run()
    assert (record.state, record.answer) == (TaskState.FAILED, '[ "C-1",  "C-2" ]')
    assert "part 2 (approve claim C-1)" in (record.reason or "")
