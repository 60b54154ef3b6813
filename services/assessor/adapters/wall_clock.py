"""A clock that tells the real time."""

import time
from datetime import UTC, datetime

from typing_extensions import override

from services.assessor.ports.participants import Clock


class WallClock(Clock):
    @override
    def now(self) -> datetime:
        return datetime.now(UTC)

    @override
    def monotonic(self) -> float:
        return time.monotonic()
