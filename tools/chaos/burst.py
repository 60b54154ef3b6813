"""Many messages at once while no executor takes any: at most so many sessions wait as the setting allows."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from typing import NamedTuple

from tools.chaos.evidence import NOWHERE, Crossing
from tools.chaos.load import Load
from tools.chaos.schedule import PlannedTask
from tools.chaos.sight import Sight
from tools.chaos.wiring import MOST_WAITING

BURST_MESSAGES = 60


class Burst(NamedTuple):
    """What became of one burst. ``before``: sessions that waited when it began."""

    before: int
    accepted: int
    refused: int


class Bursts:
    """``made``: each that met stopped executors from its beginning to its end."""

    def __init__(self, load: Load, sight: Sight, tasks: Sequence[PlannedTask]) -> None:
        self._load, self._sight = load, sight
        self._tasks = iter([tasks[at : at + BURST_MESSAGES] for at in range(0, len(tasks), BURST_MESSAGES)])
        self.made: list[Burst] = []
        self.over: list[Crossing] = []

    @asynccontextmanager
    async def pausing_load(self) -> AsyncIterator[None]:
        """Nothing of the schedule is sent inside."""
        self._load.pause()
        try:
            yield
        finally:
            self._load.resume()

    async def send_burst(self, gateways: Sequence[str], within: float) -> bool:
        """To all gateways at once; whether all answered in so many seconds, and what was accepted still waits.

        Else the figures do not count. Whoever sends goes on until there is an answer.
        """
        began = time.monotonic()
        tasks = next(self._tasks, ())
        if not tasks:
            return False
        before = await self._sight.count_waiting()
        turns = zip(tasks, cycle(gateways), strict=False)
        sent = await asyncio.gather(*(self._load.send_once(task, gateway) for task, gateway in turns))
        after = await self._sight.count_waiting()
        if time.monotonic() - began > within:
            return False
        burst = Burst(before, sum(one is True for one in sent), sum(one is False for one in sent))
        if not burst.accepted or after < before + burst.accepted:
            return False
        self.made.append(burst)
        if before + burst.accepted > MOST_WAITING:
            told = f"{burst.accepted} of {len(tasks)} messages at once were accepted where {before} waited"
            self.over.append(Crossing(NOWHERE, f"{told}: the limit is {MOST_WAITING}"))
        return True
