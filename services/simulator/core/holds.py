"""Holds: whoever is still busy keeps time from moving, for a while."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from services.simulator.core.refusals import Conflict, Missing


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
        """Raises ``Missing`` if it is not, or no longer, held."""
        self.active(wall)
        if self._holds.pop(hold_id, None) is None:
            raise Missing(f"Hold {hold_id} not found")

    def active(self, wall: datetime) -> list[SimulationHold]:
        """Those that have not expired; of the others only when the last one did is kept."""
        for hold in list(self._holds.values()):
            if hold.expires_at <= wall:
                del self._holds[hold.hold_id]
                self.expired_at = max(self.expired_at or hold.expires_at, hold.expires_at)
        return list(self._holds.values())

    def require_none(self, wall: datetime) -> None:
        """Raises ``Conflict`` while anybody holds time."""
        if held := self.active(wall):
            raise Conflict(
                {
                    "message": "Time cannot be moved while holds are active",
                    "active_holds": [
                        {"hold_id": hold.hold_id, "reason": hold.reason, "agent_id": hold.agent_id} for hold in held
                    ],
                }
            )

    def clear(self) -> None:
        self._holds.clear()
