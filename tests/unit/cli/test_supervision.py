"""How long a process that ended rests before it is started again."""

import pytest

from cli.launcher import LONGEST_PAUSE, STEADY_SECONDS, Restarts


@pytest.mark.promise("launcher.restarts")
def test_the_pause_grows_with_each_early_end_up_to_a_bound() -> None:
    restarts = Restarts()
    pauses = [restarts.pause_after(lived=1.0) for _ in range(9)]
    assert pauses[:3] == [0.5, 1.0, 2.0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE


def test_a_process_that_ran_for_long_is_started_again_at_once_as_the_first_time() -> None:
    restarts = Restarts()
    for _ in range(5):
        restarts.pause_after(lived=1.0)
    assert restarts.pause_after(lived=STEADY_SECONDS) == 0.5
