"""The Prometheus metrics of one process, and the page ``/metrics``, which reads some gauges at each scrape."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shared.domain import metric_names as names
from shared.domain.metric_names import Metric, MetricKind
from shared.domain.version import VERSION
from shared.ports.meter import Meter

_Collector: TypeAlias = Counter | Gauge | Histogram
_COLLECTOR_TYPES: Mapping[MetricKind, type[Counter | Gauge]] = {MetricKind.COUNTER: Counter, MetricKind.GAUGE: Gauge}


class Metrics(Meter):
    """The metrics that a service exposes, and the client library's process metrics. Others are ignored."""

    def __init__(self, service: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # untyped; they double what is shown, unread
        self.registry = CollectorRegistry(auto_describe=True)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        exposed = (metric for metric in names.METRICS if metric.scope.includes_service(service))
        self._collectors = {metric.name: _make_collector(metric, self.registry) for metric in exposed}
        self._series: dict[str, dict[tuple[str, ...], _Collector]] = {name: {} for name in self._collectors}
        for metric in names.METRICS:
            for values in names.INITIAL_LABELS_BY_METRIC.get(metric.name, ()):
                self._find_series(metric, dict(zip(metric.labels, values, strict=True)))
        self.set_gauge(names.BUILD, 1, version=VERSION, service=service)

    def add(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        series = self._find_series(metric, labels)
        if type(series) is Counter or type(series) is Gauge:  # isinstance asks their abstract base each time
            series.inc(amount)

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        series = self._find_series(metric, labels)
        if type(series) is Histogram:
            series.observe(value)

    def set_gauge(self, metric: Metric, value: float, **labels: str) -> None:
        series = self._find_series(metric, labels)
        if type(series) is Gauge:
            series.set(value)

    def clear(self, metric: Metric) -> None:
        """Makes the metric unknown until it is set again: without samples, or NaN for a gauge without labels."""
        collector = self._collectors.get(metric.name)
        if collector is None:
            return
        if isinstance(collector, Gauge) and not metric.labels:
            collector.set(float("nan"))
        collector.clear()
        self._series[metric.name].clear()

    def _find_series(self, metric: Metric, labels: Mapping[str, str]) -> _Collector | None:
        """The series with these labels, or the series ``OTHER_SERIES_LABEL`` once the metric has ``MOST_SERIES``.

        None if the metric is not exposed.
        """
        collector = self._collectors.get(metric.name)
        if collector is None or not metric.labels:
            return collector
        values = tuple([labels[name] for name in metric.labels])
        series_by_values = self._series[metric.name]
        series = series_by_values.get(values)
        if series is None:
            if len(series_by_values) >= names.MOST_SERIES:
                return collector.labels(*(names.OTHER_SERIES_LABEL,) * len(values))
            series = series_by_values[values] = collector.labels(*values)
        return series


def _make_collector(metric: Metric, registry: CollectorRegistry) -> _Collector:
    if metric.kind is MetricKind.HISTOGRAM:
        return Histogram(metric.name, metric.help, metric.labels, buckets=metric.buckets, registry=registry)
    return _COLLECTOR_TYPES[metric.kind](metric.name, metric.help, metric.labels, registry=registry)


METRICS_PATH = "/metrics"
_TIMEOUT_SECONDS = 3.0  # for all that is read: less than a scrape's time-out

log = structlog.get_logger()


class GaugeReader(Protocol):
    """Sets the gauges of a service when its metrics are scraped."""

    async def set_gauges(self, metrics: Metrics) -> None:
        """Sets the gauges to their present values; clears those that cannot be read."""


class MetricsPage:
    """Answers scrapes after reading the gauges. Only one scrape reads at a time."""

    def __init__(self, metrics: Metrics, readings: Sequence[GaugeReader] = ()) -> None:
        self._metrics, self._readings = metrics, readings
        self._lock = asyncio.Lock()

    async def answer(self, request: Request) -> Response:
        async with self._lock:
            await self._read_gauges()
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._metrics.registry), headers={"Content-Type": media_type})

    async def _read_gauges(self) -> None:
        for reading in self._readings:
            try:
                async with asyncio.timeout(_TIMEOUT_SECONDS):
                    await reading.set_gauges(self._metrics)
            except TimeoutError:
                log.warning("metrics_not_read", reading=type(reading).__name__)


def make_metrics_route(page: MetricsPage) -> Route:
    return Route(METRICS_PATH, page.answer)


def make_metrics_app(page: MetricsPage) -> Starlette:
    """An application with only ``/metrics``, for a port that only the operators' network reaches."""
    return Starlette(routes=[make_metrics_route(page)])
