"""How often a process found each kind of fault and mended it."""

from collections import Counter
from collections.abc import Mapping

import structlog

from services.executor.ports.sessions import Fault

log = structlog.get_logger()


class FaultCounts:
    """Counts of mended faults. ``unreported`` are those that the installation's own counts do not have yet."""

    def __init__(self) -> None:
        self._counts: Counter[Fault] = Counter()
        self._unreported: Counter[Fault] = Counter()

    def add(self, fault: Fault, number: int = 1, **about: str) -> None:
        """Counts a fault and logs it."""
        self._counts[fault] += number
        self._unreported[fault] += number
        log.warning("mended", fault=fault.value, count=number, **about)

    @property
    def counts(self) -> Mapping[str, int]:
        """The count of every kind of fault, also of those that never happened."""
        return {fault.value: self._counts[fault] for fault in Fault}

    @property
    def unreported(self) -> Mapping[Fault, int]:
        return dict(self._unreported)

    def subtract_reported(self, counts: Mapping[Fault, int]) -> None:
        """Takes off the counts that were added to the installation's."""
        self._unreported -= Counter(counts)
