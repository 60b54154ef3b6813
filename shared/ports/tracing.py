"""The port for spans, by which a task can be followed through all processes.

Attributes are names, counts and states; never a prompt, a tool's argument, a user's words or a secret (I12).
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Protocol, TypeAlias

from typing_extensions import override

Attribute: TypeAlias = str | bool | int | float | Sequence[str]


class SpanKind(StrEnum):
    INTERNAL = "internal"
    SERVER = "server"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"


class Span(Protocol):
    """A span of a trace: one piece of work with its duration and attributes."""

    @property
    def is_recording(self) -> bool:
        """Whether the span is recorded; check it before computing expensive attributes."""

    def annotate(self, attributes: Mapping[str, Attribute]) -> None:
        """Sets attributes of the span."""

    def add_event(self, name: str) -> None:
        """Records an event within the span, at this moment."""

    def rename(self, name: str) -> None: ...

    def record_failure(self, kind: str) -> None:
        """Marks the span as failed. ``kind``: the error's type or status, never its message."""


class Tracer(Protocol):
    """Opens spans. No method raises or waits, even if spans cannot be exported."""

    @property
    def is_on(self) -> bool: ...

    def open_span(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> AbstractContextManager[Span]:
        """Opens a span within the current one, and makes it current while the context lasts.

        An error that leaves the context marks the span as failed.
        """

    def continue_trace(
        self, name: str, kind: SpanKind, parent: str | None, link: str | None = None
    ) -> AbstractContextManager[Span]:
        """Opens a span under one of another process, given by its ``traceparent``; without a valid one, starts a new
        trace.

        ``link``: the ``traceparent`` of a related span that is not the parent.
        """

    def current_span(self) -> Span: ...

    def traceparent(self) -> str | None:
        """The current span as a W3C Trace Context header, for another process; None if there is none."""


class NoSpan(Span):
    """A span that records nothing."""

    @property
    def is_recording(self) -> bool:
        return False

    def annotate(self, attributes: Mapping[str, Attribute]) -> None: ...

    def add_event(self, name: str) -> None: ...

    def rename(self, name: str) -> None: ...

    def record_failure(self, kind: str) -> None: ...


_NO_SPAN = NoSpan()
_NO_SPAN_CONTEXT = nullcontext(_NO_SPAN)


class NoTracer(Tracer):
    """A tracer that records nothing."""

    @property
    def is_on(self) -> bool:
        return False

    @override
    def open_span(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> AbstractContextManager[NoSpan]:
        return _NO_SPAN_CONTEXT

    @override
    def continue_trace(
        self, name: str, kind: SpanKind, parent: str | None, link: str | None = None
    ) -> AbstractContextManager[NoSpan]:
        return _NO_SPAN_CONTEXT

    def current_span(self) -> NoSpan:
        return _NO_SPAN

    def traceparent(self) -> str | None:
        return None


NO_TRACER = NoTracer()
