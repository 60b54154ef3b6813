"""A queue before a fixed number of places: first come, first served, and everybody is told how many are before them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from services.assessor.ports.participants import Emitter
from shared.contracts.assessment.messages import AssessmentQueued

_TELL_SECONDS = 20.0  # who waits is told again after so long, so that no client takes the silence for an end


class AssessmentQueue:
    def __init__(self, places: int) -> None:
        self._places = places
        self._running = 0
        self._waiting: list[object] = []
        self._moved = asyncio.Event()

    @asynccontextmanager
    async def hold_place(self, emitter: Emitter) -> AsyncIterator[None]:
        """A context with one of the places; whoever waits for one is told each new position."""
        await self._wait_for_place(emitter)
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._wake_all()

    async def _wait_for_place(self, emitter: Emitter) -> None:
        """Waits for a free place, in order.

        It awaits nothing after it found one, so that the caller can take it at once.
        """
        me = object()
        self._waiting.append(me)
        try:
            while self._running >= self._places or self._waiting[0] is not me:
                moved, position = self._moved, self._waiting.index(me) + 1
                await emitter.emit(AssessmentQueued(position=position, running=self._running))
                with suppress(TimeoutError):
                    async with asyncio.timeout(_TELL_SECONDS):
                        await moved.wait()
        finally:
            self._waiting.remove(me)
            self._wake_all()

    def _wake_all(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()
