"""Simulated time as a value: where it stands, and how it flows while the wall's time passes."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from services.simulator.core.refusals import MeaninglessRequest

LATEST = datetime(9990, 1, 1, tzinfo=UTC)  # so that no sum of times can overflow
EARLIEST = datetime(1000, 1, 1, tzinfo=UTC)


class ClockMode(StrEnum):
    MANUAL = "manual"
    AUTO = "auto"
    PAUSED = "paused"


@dataclass(frozen=True)
class WorldClock:
    """Simulated time. It was ``current`` when the real time was ``wall``."""

    current: datetime
    wall: datetime
    scale: float = 1.0
    paused: bool = False
    auto: bool = False

    @property
    def mode(self) -> ClockMode:
        if self.paused:
            return ClockMode.PAUSED
        return ClockMode.AUTO if self.auto else ClockMode.MANUAL

    def advance_to_wall(self, wall: datetime, is_held: bool) -> "WorldClock":
        """The clock at that real time; it stands still unless it is automatic, not paused and not held."""
        if not self.auto or self.paused or is_held:
            return replace(self, wall=max(wall, self.wall))
        passed = max(0.0, (wall - self.wall).total_seconds()) * self.scale
        seconds_left = (LATEST - self.current).total_seconds()
        return replace(
            self, current=self.current + timedelta(seconds=min(passed, seconds_left)), wall=max(wall, self.wall)
        )

    def set_time(self, time: datetime) -> "WorldClock":
        """The clock set to another time; raises ``MeaninglessRequest`` if that is out of range."""
        return replace(self, current=require_in_range(time))

    def time_after(self, seconds: float) -> datetime:
        """The time so much later; raises ``MeaninglessRequest`` where time ends."""
        if seconds >= (LATEST - self.current).total_seconds():
            raise MeaninglessRequest("time cannot be moved so far")
        return self.current + timedelta(seconds=seconds)


def require_in_range(time: datetime) -> datetime:
    """The time in UTC; raises ``MeaninglessRequest`` if it lies outside what can be simulated."""
    if not EARLIEST <= time < LATEST:
        raise MeaninglessRequest(f"{time.isoformat()} lies outside the years that can be simulated")
    return time.astimezone(UTC)
