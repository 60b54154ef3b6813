"""How a replica stops: it becomes unready, then ends its streams, and at last answers requests that still wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ShutdownState:
    """How far this replica's shutdown has come. ``linger_seconds`` and ``grace_seconds``: see ``ShutdownHooks``."""

    def __init__(self, linger_seconds: float = 0, grace_seconds: float = 10) -> None:
        self.linger_seconds, self.grace_seconds = linger_seconds, grace_seconds
        self.is_announced = False
        self.streams_end = asyncio.Event()
        self._waits: set[asyncio.Timeout] = set()
        self._is_hurried = False

    def announce(self) -> None:
        self.is_announced = True

    def close(self) -> None:
        self.is_announced = True
        self.streams_end.set()

    def end_waits(self) -> None:
        self._is_hurried = True
        for wait in self._waits:
            if not wait.expired():  # one that has just ended by itself can be given no other time
                wait.reschedule(0)

    @asynccontextmanager
    async def limit_wait(self, seconds: float) -> AsyncIterator[None]:
        """Limits a wait: raises ``TimeoutError`` after ``seconds``, or at once when the shutdown's time is over."""
        async with asyncio.timeout(0 if self._is_hurried else seconds) as wait:
            self._waits.add(wait)
            try:
                yield
            finally:
                self._waits.discard(wait)
