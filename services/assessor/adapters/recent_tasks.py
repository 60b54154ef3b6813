"""The tasks of this process: those that run and the last that ended.

An assessment is this process's own (its world, its conversation): no other one could go on with it, so nothing of it is
kept elsewhere. Its results go to whoever asked.
"""

from collections import OrderedDict

from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore
from a2a.types.a2a_pb2 import Task, TaskState
from typing_extensions import override

_ENDED = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)


class RecentTaskStore(InMemoryTaskStore):
    """Keeps tasks in memory. ``most``: how many ended tasks it keeps, the newest of them."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._ended: OrderedDict[str, ServerCallContext] = OrderedDict()

    @override
    async def save(self, task: Task, context: ServerCallContext) -> None:
        await super().save(task, context)
        if task.status.state not in _ENDED:
            return
        self._ended[task.id] = context
        while len(self._ended) > self._most:
            oldest, whose = self._ended.popitem(last=False)
            await self.delete(oldest, whose)
