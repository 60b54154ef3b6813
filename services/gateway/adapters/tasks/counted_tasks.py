"""Counting messages that are taken, and those that are not (``Tasks``)."""

from collections.abc import AsyncGenerator

from typing_extensions import override

from services.gateway.core.errors import TooManyRequests
from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.domain import metric_names as names
from shared.ports.meter import Meter
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import Accepted, SessionBelongsToOther, Standing, TaskEnded, Tasks, TenantIsStopped

_WHY: dict[type[Exception], str] = {
    TooManyRequests: "shed",
    TenantIsStopped: "stopped",
    SessionBelongsToOther: "other_session",
    TaskEnded: "ended",
    StoreUnavailable: "store",
}


class CountedTasks(Tasks):
    def __init__(self, tasks: Tasks, meter: Meter) -> None:
        self._tasks, self._meter = tasks, meter

    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        try:
            accepted = await self._tasks.accept(record, turn, dedupe)
        except tuple(_WHY) as error:
            why = next(word for kind, word in _WHY.items() if isinstance(error, kind))
            self._meter.add(names.TURNS_REFUSED, why=why)
            raise
        fresh = "yes" if accepted.fresh else "no"
        self._meter.add(names.TURNS_ACCEPTED, dialect=record.dialect.value, fresh=fresh)
        return accepted

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
