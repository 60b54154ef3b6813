"""Counting what happens."""

from collections.abc import Callable
from typing import Protocol

from shared.domain.metric_names import Kind, Metric


class Meter(Protocol):
    """Never raises and never waits; ``labels`` are those that the metric names, all of them."""

    def add(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        """Count on a counter, or change a gauge."""
        ...

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        """One more value in a histogram."""
        ...

    def put(self, metric: Metric, value: float, **labels: str) -> None:
        """What a gauge shows from now on."""
        ...

    def recorder(self, metric: Metric, **labels: str) -> Callable[[float], None]:
        """``observe`` of a histogram, else ``add``, for whoever records into the same series often."""
        if metric.kind is Kind.HISTOGRAM:
            return lambda value: self.observe(metric, value, **labels)
        return lambda value: self.add(metric, value, **labels)


class NoMeter(Meter):
    """Counts nothing."""

    def add(self, metric: Metric, amount: float = 1, **labels: str) -> None: ...

    def observe(self, metric: Metric, value: float, **labels: str) -> None: ...

    def put(self, metric: Metric, value: float, **labels: str) -> None: ...
