"""How an errand should end, and which tasks ended otherwise: pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cli.gateway.messages import TaskView
from shared.domain.words import TaskState
from tools.chaos.chaos_tasks import ChaosTaskKind
from tools.chaos.load import SentTask

_LONGEST = 300
_NOT_DONE = frozenset(
    {ChaosTaskKind.REJECTED_CLAIM, ChaosTaskKind.REJECTED_REFUND, ChaosTaskKind.BLOCKED_CLAIM, ChaosTaskKind.SIBLINGS}
)


class UnforeseenApproval(NamedTuple):
    """An approval that an errand did not foresee, and the reasons it gave."""

    task_id: str
    sentence: str


class UnexpectedEnd(NamedTuple):
    """A task that ended otherwise than its errand asks; ``why`` as the task says it."""

    task_id: str
    text: str
    expected: str
    state: str
    why: str

    @property
    def sentence(self) -> str:
        return f"{self.text} was to be {self.expected}, and is {self.state}: {self.why}"


def expected_end(sent: SentTask) -> str:
    """The state that the errand asks for, where nothing goes wrong."""
    kind = sent.planned.task.kind
    if kind is ChaosTaskKind.LEFT_WAITING:
        return TaskState.INPUT_REQUIRED.value
    if kind is ChaosTaskKind.CANCELED_CLAIM:
        return TaskState.CANCELED.value
    return (TaskState.REJECTED if kind in _NOT_DONE else TaskState.COMPLETED).value


def is_expected_end(sent: SentTask, state: str) -> bool:
    """A task that its client canceled may end so; one whose record or plan was changed under it may come to nothing."""
    if state == TaskState.CANCELED and sent.planned.canceled_after is not None:
        return True
    if state in (TaskState.FAILED, TaskState.REJECTED) and sent.planned.task.meanwhile is not None:
        return True
    return state == expected_end(sent)


def find_unexpected_ends(ended: Iterable[tuple[SentTask, TaskView]]) -> Iterator[UnexpectedEnd]:
    """Each with what it says of why."""
    for sent, view in ended:
        if not is_expected_end(sent, view.state):
            expected = expected_end(sent)
            yield UnexpectedEnd(view.id, sent.planned.task.text, expected, view.state, view.answer[:_LONGEST])
