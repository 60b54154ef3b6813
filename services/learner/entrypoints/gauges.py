"""What a learner knows of itself, told when somebody asks for its metrics."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue
from typing_extensions import override

from services.learner.core.learner import Learner
from services.learner.entrypoints.http import Remembering
from shared.domain import metric_names as names
from shared.infra.metrics import Metrics
from shared.infra.metrics_page import Reading


class LearnerGauges(Reading):
    """Its own counts only grow: what they grew by since the last look is counted."""

    def __init__(self, learner: Learner, memory: Remembering) -> None:
        self._learner, self._memory = learner, memory
        self._told: dict[str, int] = {}

    @override
    async def read(self, metrics: Metrics) -> None:
        metrics.put(names.LEARNER_PARTITIONS, len(self._learner.held))
        counts = self._learner.counts
        for result in ("learned", "known", "dead"):
            metrics.add(names.OUTCOMES_APPLIED, self._growth_of(result, getattr(counts, result)), result=result)
        for what, count in _figures(self._memory.status()):
            metrics.add(names.FACTS_FOUND, self._growth_of(f"memory {what}", count), what=what)

    def _growth_of(self, name: str, count: int) -> int:
        before, self._told[name] = self._told.get(name, 0), count
        return max(0, count - before)


def _figures(told: Mapping[str, JsonValue], stem: str = "") -> Iterator[tuple[str, int]]:
    for name, value in told.items():
        if isinstance(value, dict):
            yield from _figures(value, f"{stem}{name}_")
        elif isinstance(value, int):
            yield f"{stem}{name}", value
