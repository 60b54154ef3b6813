"""How often this process has found each kind of fault and mended it."""

from collections import Counter
from collections.abc import Mapping

import structlog

from services.executor.ports.sessions import Fault

log = structlog.get_logger()


class Mended:
    """``unreported`` is what the installation's own counts do not hold yet."""

    def __init__(self) -> None:
        self._counts: Counter[Fault] = Counter()
        self._unreported: Counter[Fault] = Counter()

    def add(self, fault: Fault, number: int = 1, **about: str) -> None:
        """Count it, and say so in the log."""
        self._counts[fault] += number
        self._unreported[fault] += number
        log.warning("mended", fault=fault.value, count=number, **about)

    @property
    def counts(self) -> Mapping[str, int]:
        """Every kind, those that never happened too."""
        return {fault.value: self._counts[fault] for fault in Fault}

    @property
    def unreported(self) -> Mapping[Fault, int]:
        return dict(self._unreported)

    def subtract_reported(self, counts: Mapping[Fault, int]) -> None:
        """These have been added to the installation's."""
        self._unreported -= Counter(counts)
