"""Counting what happens."""

from typing import Protocol

from shared.domain.metric_names import Metric


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


class NoMeter(Meter):
    """Counts nothing."""

    def add(self, metric: Metric, amount: float = 1, **labels: str) -> None: ...

    def observe(self, metric: Metric, value: float, **labels: str) -> None: ...

    def put(self, metric: Metric, value: float, **labels: str) -> None: ...
