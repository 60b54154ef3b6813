"""Spans: what was done within what, for whoever looks at a task's way through all processes.

Attributes are names, counts and states; never a prompt, an argument of a tool, a word of a user or a secret (I12).
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from typing_extensions import override

Attribute: TypeAlias = str | bool | int | float | Sequence[str]


class SpanKind(StrEnum):
    INTERNAL = "internal"
    SERVER = "server"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"


class Span(Protocol):
    @property
    def is_recording(self) -> bool:
        """Whether anybody will see it: ask before working out attributes that cost something."""
        ...

    def note(self, attributes: Mapping[str, Attribute]) -> None: ...

    def event(self, name: str) -> None:
        """Something that happened at one moment within it."""
        ...

    def rename(self, name: str) -> None: ...

    def record_failure(self, kind: str) -> None:
        """It did not do what it was for; ``kind`` is an error's type or status, never its words."""
        ...


class Tracer(Protocol):
    """Nothing here raises or waits, whatever becomes of what is recorded."""

    @property
    def is_on(self) -> bool: ...

    def span(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> AbstractContextManager[Span]:
        """A span within the current one, and current itself while it is open. An error that leaves it marks it."""
        ...

    def continue_trace(
        self, name: str, kind: SpanKind, parent: str | None, link: str | None = None
    ) -> AbstractContextManager[Span]:
        """A span within one of another process, by its ``traceparent``; the first of a trace without a usable one.

        ``link``: the ``traceparent`` of a span that has to do with it and is not its parent.
        """
        ...

    def current_span(self) -> Span:
        """The current span."""
        ...

    def traceparent(self) -> str | None:
        """The current span as W3C Trace Context names it, for another process; None where there is none."""
        ...


class NoSpan(Span, AbstractContextManager["NoSpan"]):
    """The span of nobody: it costs a call, and holds nothing."""

    @property
    def is_recording(self) -> bool:
        return False

    @override
    def note(self, attributes: Mapping[str, Attribute]) -> None:
        return

    @override
    def event(self, name: str) -> None:
        return

    @override
    def rename(self, name: str) -> None:
        return

    @override
    def record_failure(self, kind: str) -> None:
        return

    @override
    def __enter__(self) -> Self:
        return self

    @override
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return


_NO_SPAN = NoSpan()


class NoTracer(Tracer):
    """Nobody looks."""

    @property
    def is_on(self) -> bool:
        return False

    @override
    def span(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> NoSpan:
        return _NO_SPAN

    @override
    def continue_trace(self, name: str, kind: SpanKind, parent: str | None, link: str | None = None) -> NoSpan:
        return _NO_SPAN

    def current_span(self) -> NoSpan:
        return _NO_SPAN

    def traceparent(self) -> str | None:
        return None


NO_TRACER = NoTracer()
