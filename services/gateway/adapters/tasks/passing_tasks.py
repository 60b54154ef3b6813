"""Tasks that are those of another (``Tasks``): what stands before the store says only what it does otherwise."""

from collections.abc import AsyncGenerator

from typing_extensions import override

from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.ports.tasks import Accepted, Standing, Tasks


class PassingTasks(Tasks):
    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        return await self._tasks.accept(record, turn, dedupe)

    @override
    async def accepted_before(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted | None:
        return await self._tasks.accepted_before(record, turn, dedupe)

    @override
    async def signal(self, tenant: str, session_id: str, turn: Turn) -> bool:
        return await self._tasks.signal(tenant, session_id, turn)

    @override
    async def record(self, tenant: str, task_id: str) -> TaskRecord | None:
        return await self._tasks.record(tenant, task_id)

    @override
    async def standing(self, tenant: str, task_id: str) -> Standing | None:
        return await self._tasks.standing(tenant, task_id)

    @override
    def watch(self, tenant: str, task_id: str, after: str = "0") -> AsyncGenerator[tuple[str, TaskEvent], None]:
        return self._tasks.watch(tenant, task_id, after)
