"""How long phases and states take, by the spans that the core opens for them (``Tracer``)."""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from time import perf_counter

from typing_extensions import override

from shared.domain import metric_names as names
from shared.domain import span_names
from shared.ports.meter import Meter
from shared.ports.tracing import Span, SpanKind, Tracer

PHASES = {span_names.PRIME: "PRIME", span_names.EXECUTE: "EXECUTE", span_names.REFLECT: "REFLECT"}
_STATE = span_names.STATE.format(state="")
# Seconds of the phases of the turn that is being worked on: what they count for is known when it ends.
TOOK: ContextVar[Counter[str] | None] = ContextVar("took", default=None)


class TimedTracer(Tracer):
    def __init__(self, tracer: Tracer, meter: Meter) -> None:
        self._tracer, self._meter = tracer, meter

    @property
    @override
    def is_on(self) -> bool:
        return self._tracer.is_on

    @override
    def span(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> AbstractContextManager[Span]:
        if name in PHASES or name.startswith(_STATE):
            return self._time_span(name, kind)
        return self._tracer.span(name, kind)

    @override
    def continue_trace(
        self, name: str, kind: SpanKind, parent: str | None, link: str | None = None
    ) -> AbstractContextManager[Span]:
        return self._tracer.continue_trace(name, kind, parent, link)

    @override
    def current_span(self) -> Span:
        return self._tracer.current_span()

    @override
    def traceparent(self) -> str | None:
        return self._tracer.traceparent()

    @contextmanager
    def _time_span(self, name: str, kind: SpanKind) -> Iterator[Span]:
        began = perf_counter()
        try:
            with self._tracer.span(name, kind) as span:
                yield span
        finally:
            self._count(name, perf_counter() - began)

    def _count(self, name: str, seconds: float) -> None:
        took = TOOK.get()
        if name not in PHASES:
            self._meter.observe(names.STATE_SECONDS, seconds, state=name.removeprefix(_STATE))
        elif took is not None:
            took[PHASES[name]] += round(seconds * 1_000_000)
