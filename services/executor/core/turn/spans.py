"""A turn as a span: where in its task's trace it stands, how it began and how it ended."""

from contextlib import AbstractContextManager

from services.executor.core.reflect.outcome import Ended
from services.executor.ports.sessions import Work
from shared.domain import span_names as names
from shared.ports.tracing import Span, SpanKind, Tracer


def turn_span(tracer: Tracer, work: Work) -> AbstractContextManager[Span]:
    """All turns of a task, and all attempts at them, stand in the trace of the request that began it.

    A later turn is linked with the request that brought it: a decision, a cancel, a further message.
    """
    began, brought = work.record.traceparent, work.turn.traceparent
    name = names.TURN.format(kind=work.turn.kind.value)
    return tracer.continue_trace(name, SpanKind.CONSUMER, began or brought, None if brought == began else brought)


def tell_beginning(span: Span, work: Work) -> None:
    if not span.is_recording:
        return
    record = work.record
    of_task = {names.TENANT: record.tenant, names.SESSION: record.session_id, names.TASK: record.task_id}
    of_turn = {names.TURN_KIND: work.turn.kind.value, names.DIALECT: record.dialect.value}
    counts = {names.ATTEMPT: work.attempts, names.WAITED_MS: work.waited_us // 1000}
    span.note({**of_task, **of_turn, **counts})


def tell_end(span: Span, ended: Ended) -> None:
    if not span.is_recording:
        return
    span.note({names.TASK_STATE: ended.state.value})
    if ended.progress is not None:
        span.note({names.PROCESS_TYPE: ended.progress.template.process_type})
        span.note({names.STRATEGY: ended.progress.strategy.value})
