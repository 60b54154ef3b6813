"""Which company still has a call in hand that it will apply later than anybody waits, as its operator would know."""

import asyncio
import time

_MARGIN_SECONDS = 2.0


class LateCalls:
    """Told by whoever makes a company late, asked by whoever settles a write in doubt."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def note(self, company: str, seconds: float) -> None:
        """The company applies within so many seconds what it has been asked for by now."""
        self._until[company] = max(self._until.get(company, 0.0), time.monotonic() + seconds + _MARGIN_SECONDS)

    def are_in_hand(self, company: str) -> bool:
        return time.monotonic() < self._until.get(company, 0.0)

    async def until_none(self) -> None:
        """Return once no company has one in hand."""
        await asyncio.sleep(max(0.0, max(self._until.values(), default=0.0) - time.monotonic()))
