"""What the end of a remote agent's task says of what it did."""

import pytest
from a2a.types import Task, TaskState, TaskStatus

from services.executor.adapters.a2a_client import answer_of


@pytest.mark.promise("I4.unread_errors")
@pytest.mark.parametrize(
    ("state", "not_begun"),
    [
        (TaskState.TASK_STATE_FAILED, True),
        (TaskState.TASK_STATE_REJECTED, True),
        (TaskState.TASK_STATE_AUTH_REQUIRED, True),
        (TaskState.TASK_STATE_CANCELED, False),
        (TaskState.TASK_STATE_UNSPECIFIED, False),
    ],
)
def test_only_an_agent_that_says_so_has_done_nothing(state: TaskState, not_begun: bool) -> None:
    """A canceled task may have done a part of it, and one without a state may have done anything."""
    answer = answer_of(Task(id="t1", status=TaskStatus(state=state)))
    assert (answer.is_error, answer.not_begun) == (True, not_begun)
