"""Counting messages that are taken, and those that are not (``Tasks``)."""

from typing_extensions import override

from services.gateway.adapters.tasks.passing_tasks import PassingTasks
from services.gateway.core.errors import TooManyRequests
from shared.contracts.task import TaskRecord, Turn
from shared.domain import metric_names as names
from shared.ports.meter import Meter
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import Accepted, SessionBelongsToOther, TaskEnded, Tasks, TenantIsStopped

_WHY: dict[type[Exception], str] = {
    TooManyRequests: "shed",
    TenantIsStopped: "stopped",
    SessionBelongsToOther: "other_session",
    TaskEnded: "ended",
    StoreUnavailable: "store",
}


class CountedTasks(PassingTasks):
    def __init__(self, tasks: Tasks, meter: Meter) -> None:
        super().__init__(tasks)
        self._meter = meter

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
