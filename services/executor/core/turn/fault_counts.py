"""Counts the faults of leases, wakes and timers that this process repaired."""

from collections import Counter
from collections.abc import Mapping

import structlog

from services.executor.ports.turns import RepairedFault
from shared.domain import metric_names as names
from shared.ports.meter import Meter, NoMeter

log = structlog.get_logger()


class FaultCounts:
    """Counts the faults that this process repaired, by kind."""

    def __init__(self, meter: Meter = NoMeter()) -> None:  # noqa: B008  # it has no state
        self._counts: Counter[RepairedFault] = Counter()
        self._unreported: Counter[RepairedFault] = Counter()
        self._meter = meter
        for fault in RepairedFault:  # each is shown from the beginning
            meter.add(names.FAULTS_MENDED, 0, fault=fault.value)

    def add(self, fault: RepairedFault, number: int = 1, **labels: str) -> None:
        """Counts a fault and logs it."""
        self._counts[fault] += number
        self._unreported[fault] += number
        self._meter.add(names.FAULTS_MENDED, number, fault=fault.value)
        log.warning("mended", fault=fault.value, count=number, **labels)

    @property
    def counts(self) -> Mapping[str, int]:
        """The count of each kind of fault, including zeros."""
        return {fault.value: self._counts[fault] for fault in RepairedFault}

    def take_unreported(self) -> Mapping[RepairedFault, int]:
        """Returns the counts since the last call, for the installation's counts."""
        unreported, self._unreported = self._unreported, Counter()
        return unreported
