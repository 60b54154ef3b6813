"""The learner's health pages: ``/health`` says that it runs and what it has done, ``/ready`` that it can learn."""

from collections.abc import Awaitable, Callable, Iterator, Mapping

from pydantic import JsonValue
from starlette.applications import Starlette

from services.learner.workers.learner import Learner
from services.learner.workers.loops import TrainingLoadStatus
from shared.domain import metric_names as names
from shared.infra import side_server
from shared.infra.metrics import GaugeReader, Metrics, MetricsPage, make_metrics_route

DescribeMemory = Callable[[], dict[str, JsonValue]]  # what this process has remembered, found and forgotten


def build_learner_health_app(
    ping: Callable[[], Awaitable[None]],
    learner: Learner,
    seeding: TrainingLoadStatus,
    memory: DescribeMemory,
    metrics: MetricsPage | None = None,
) -> Starlette:
    """The application with ``/health``, ``/ready`` and, if metrics are given, ``/metrics``.

    ``ping`` raises ``StoreUnavailable`` unless the store answers and takes writes.
    """

    def describe() -> dict[str, JsonValue]:
        counts = learner.counts
        outcome_counts: dict[str, JsonValue] = {"learned": counts.learned, "known": counts.known, "dead": counts.dead}
        state: dict[str, JsonValue] = {"training": seeding.as_json(), "memory": memory()}
        return {"service": "learner", "partitions": len(learner.partitions), **outcome_counts, **state}

    def why_not_ready() -> str:
        return "" if learner.share_is_known.is_set() else "it does not know yet which outcomes to read"

    return side_server.build_health_app(describe, why_not_ready, ping, [make_metrics_route(metrics)] if metrics else [])


class LearnerGauges(GaugeReader):
    """Sets the learner's metrics when they are scraped; counters are raised by the growth since the last scrape."""

    def __init__(self, learner: Learner, memory: DescribeMemory) -> None:
        self._learner, self._memory = learner, memory
        self._last_counts: dict[str, int] = {}

    async def set_gauges(self, metrics: Metrics) -> None:
        metrics.set_gauge(names.LEARNER_PARTITIONS, len(self._learner.partitions))
        counts = self._learner.counts
        for result in ("learned", "known", "dead"):
            metrics.add(
                names.OUTCOMES_APPLIED,
                self._compute_growth_since_scrape(result, getattr(counts, result)),
                result=result,
            )
        for count_name, count in _flatten_counts(self._memory()):
            metrics.add(
                names.MEMORY_CHANGES, self._compute_growth_since_scrape(f"memory {count_name}", count), what=count_name
            )

    def _compute_growth_since_scrape(self, name: str, count: int) -> int:
        last_count, self._last_counts[name] = self._last_counts.get(name, 0), count
        return max(0, count - last_count)


def _flatten_counts(counts: Mapping[str, JsonValue], prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, inner in counts.items():
        if isinstance(inner, dict):
            yield from _flatten_counts(inner, f"{prefix}{name}_")
        elif isinstance(inner, int):
            yield f"{prefix}{name}", inner
