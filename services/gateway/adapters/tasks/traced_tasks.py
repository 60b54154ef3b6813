"""Tasks whose turns say which trace they belong to (``Tasks``)."""

from typing_extensions import override

from services.gateway.adapters.tasks.passing_tasks import PassingTasks
from shared.contracts.task import TaskRecord, Turn
from shared.domain import span_names as names
from shared.ports.tasks import Accepted, Tasks
from shared.ports.tracing import SpanKind, Tracer


def traced_tasks(tasks: Tasks, tracer: Tracer) -> Tasks:
    """The tasks themselves where nobody looks."""
    return TracedTasks(tasks, tracer) if tracer.is_on else tasks


class TracedTasks(PassingTasks):
    """Accepting has a span of its own: it ends at once, so that whatever follows has a parent that was told."""

    def __init__(self, tasks: Tasks, tracer: Tracer) -> None:
        super().__init__(tasks)
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
    async def signal(self, tenant: str, session_id: str, turn: Turn) -> bool:
        with self._tracer.span(names.ACCEPT, SpanKind.PRODUCER) as span:
            span.note({names.TENANT: tenant, names.SESSION: session_id, names.TASK: turn.task_id})
            span.note({names.TURN_KIND: turn.kind.value})
            here = {"traceparent": self._tracer.traceparent()}
            return await self._tasks.signal(tenant, session_id, turn.model_copy(update=here))
