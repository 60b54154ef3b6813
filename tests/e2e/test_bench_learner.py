"""Learning end to end, as `purple bench learner` shows it: on the whole stack with the example company."""

import pytest

from tools.bench.learning.story import TASKS, WORSE, measure_learning


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.promise("bandit.leaves_the_worse_arm", "prime.primer")
async def test_a_strategy_that_is_made_worse_is_left_within_30_tasks_and_a_failure_is_shown_as_what_to_avoid() -> None:
    found = await measure_learning()
    assert len(found.used) == TASKS
    assert found.used[0] == "fsm"
    assert found.has_left_worse, found.used
    assert float(str(found.rewards[WORSE])) < 0.5 < float(str(found.rewards["fsm"]))
    assert found.shows_failing_case, found.shown
