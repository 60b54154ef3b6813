"""Tasks whose turns say which trace they belong to (``Tasks``)."""

from collections.abc import AsyncGenerator

from typing_extensions import override

from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.domain import span_names as names
from shared.ports.tasks import Accepted, Standing, Tasks
from shared.ports.tracing import SpanKind, Tracer


def traced_tasks(tasks: Tasks, tracer: Tracer) -> Tasks:
    """The tasks themselves where nobody looks."""
    return TracedTasks(tasks, tracer) if tracer.is_on else tasks


class TracedTasks(Tasks):
    """Accepting has a span of its own: it ends at once, so that whatever follows has a parent that was told."""

    def __init__(self, tasks: Tasks, tracer: Tracer) -> None:
        self._tasks = tasks
        self._tracer = tracer

    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        with self._tracer.span(names.ACCEPT, SpanKind.PRODUCER) as span:
            here = {"traceparent": self._tracer.traceparent()}
            accepted = await self._tasks.accept(record.model_copy(update=here), turn.model_copy(update=here), dedupe)
            task = accepted.record
            span.note({names.TENANT: task.tenant, names.SESSION: task.session_id, names.TASK: task.task_id})
            span.note({names.DIALECT: task.dialect.value, names.TURN_KIND: turn.kind.value})
            span.note({names.FRESH: accepted.fresh})
            return accepted

    @override
    async def accepted_before(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted | None:
        return await self._tasks.accepted_before(record, turn, dedupe)

    @override
    async def signal(self, tenant: str, session_id: str, turn: Turn) -> bool:
        with self._tracer.span(names.ACCEPT, SpanKind.PRODUCER) as span:
            span.note({names.TENANT: tenant, names.SESSION: session_id, names.TASK: turn.task_id})
            span.note({names.TURN_KIND: turn.kind.value})
            here = {"traceparent": self._tracer.traceparent()}
            return await self._tasks.signal(tenant, session_id, turn.model_copy(update=here))

    @override
    async def record(self, tenant: str, task_id: str) -> TaskRecord | None:
        return await self._tasks.record(tenant, task_id)

    @override
    async def standing(self, tenant: str, task_id: str) -> Standing | None:
        return await self._tasks.standing(tenant, task_id)

    @override
    def watch(self, tenant: str, task_id: str, after: str = "0") -> AsyncGenerator[tuple[str, TaskEvent], None]:
        return self._tasks.watch(tenant, task_id, after)
