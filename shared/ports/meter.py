"""The port by which code records metrics."""

from typing import Protocol

from shared.domain.metric_names import Metric


class Meter(Protocol):
    """Records metrics. It never raises or waits; ``labels`` must be exactly those of the metric."""

    def add(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        """Adds to a counter or a gauge."""

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        """Adds a value to a histogram."""

    def set_gauge(self, metric: Metric, value: float, **labels: str) -> None:
        """Sets a gauge."""


class NoMeter(Meter):
    """A meter that records nothing."""

    def add(self, metric: Metric, amount: float = 1, **labels: str) -> None: ...

    def observe(self, metric: Metric, value: float, **labels: str) -> None: ...

    def set_gauge(self, metric: Metric, value: float, **labels: str) -> None: ...


NO_METER = NoMeter()
