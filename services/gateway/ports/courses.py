"""How things came to be as they are: quality, arms and counts over time, and what days have cost."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from services.gateway.ports.tenants import DaySpent
from shared.domain.trend import Point


class DayCounts(NamedTuple):
    """What ended on one day (UTC); ``units`` is the sum of the qualities of those that were no dry run."""

    date: str
    events: int = 0
    success: int = 0
    partial: int = 0
    failure: int = 0
    units: int = 0

    @property
    def judged(self) -> int:
        """How many were no dry run."""
        return self.success + self.partial + self.failure


class Course(NamedTuple):
    """Points are in the order of cases, days in theirs; ``arms`` is by process type and strategy."""

    quality: Sequence[Point] = ()
    arms: Mapping[str, Mapping[str, Sequence[Point]]] = MappingProxyType({})
    days: Sequence[DayCounts] = ()


class Courses(Protocol):
    """Both may raise ``StoreUnavailable``."""

    async def learned(self, tenant: str) -> Course: ...

    async def spent(self, tenant: str, dates: Sequence[str]) -> Sequence[DaySpent]:
        """One row for each of these days of the tenant's calendar, those without spending too."""
        ...
