"""Holds: a client that is still busy keeps simulated time from moving, until it releases the hold or the hold
expires.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from services.simulator.core.refusals import Conflict, Missing

LONGEST_HOLD_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class SimulationHold:
    hold_id: str
    reason: str | None
    agent_id: str | None
    timeout_seconds: float
    acquired_at: datetime

    @property
    def expires_at(self) -> datetime:
        return self.acquired_at + timedelta(seconds=self.timeout_seconds)


class WorldHolds:
    """The holds of one world. Times are the wall's; ``expired_at`` is when one last ended by itself."""

    def __init__(self) -> None:
        self._holds: dict[str, SimulationHold] = {}
        self.expired_at: datetime | None = None

    def acquire(self, hold: SimulationHold) -> None:
        self._holds[hold.hold_id] = hold

    def release(self, hold_id: str, wall: datetime) -> None:
        """Ends a hold. Raises ``Missing`` if there is none of that id, or it has expired."""
        self.drop_expired_and_list(wall)
        if self._holds.pop(hold_id, None) is None:
            raise Missing(f"Hold {hold_id} not found")

    def drop_expired_and_list(self, wall: datetime) -> list[SimulationHold]:
        """Drops the expired holds, and returns the others; ``expired_at`` becomes the last expiry."""
        for hold in list(self._holds.values()):
            if hold.expires_at <= wall:
                del self._holds[hold.hold_id]
                self.expired_at = max(self.expired_at or hold.expires_at, hold.expires_at)
        return list(self._holds.values())

    def require_none(self, wall: datetime) -> None:
        """Raises ``Conflict`` while anybody holds time."""
        if active_holds := self.drop_expired_and_list(wall):
            raise Conflict(
                {
                    "message": "Time cannot be moved while holds are active",
                    "active_holds": [
                        {"hold_id": hold.hold_id, "reason": hold.reason, "agent_id": hold.agent_id}
                        for hold in active_holds
                    ],
                }
            )

    def clear(self) -> None:
        self._holds.clear()
