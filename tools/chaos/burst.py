"""Many messages at once while no executor takes any: at most so many sessions wait as the setting allows."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from tools.chaos.evidence import NOWHERE, Crossing
from tools.chaos.gateway_caller import GatewayCaller
from tools.chaos.load import Load
from tools.chaos.schedule import Planned
from tools.chaos.sight import Sight
from tools.chaos.wiring import MOST_WAITING

BURST_MESSAGES = 60
COUNT_IS_KEPT_SECONDS = 1.5  # for which a gateway may rely on a count, in which the other's accepts are missing


class Burst(NamedTuple):
    """What became of one burst. ``before``: sessions that waited when it began."""

    before: int
    accepted: int
    refused: int


class Bursts:
    """``made``: each that met stopped executors from its beginning to its end."""

    def __init__(self, doors: GatewayCaller, load: Load, sight: Sight, tasks: Sequence[Planned]) -> None:
        self._doors, self._load, self._sight = doors, load, sight
        self._tasks = iter([tasks[at : at + BURST_MESSAGES] for at in range(0, len(tasks), BURST_MESSAGES)])
        self.made: list[Burst] = []
        self.over: list[Crossing] = []

    @asynccontextmanager
    async def hold_alone(self) -> AsyncIterator[None]:
        """Nothing else is sent inside, and was long enough before that every gateway's count knows of it."""
        self._load.hold()
        try:
            await asyncio.sleep(COUNT_IS_KEPT_SECONDS)
            yield
        finally:
            self._load.go_on()

    async def send(self, gateway: str) -> bool:
        """To one gateway; whether every session that it was accepted for still waits, so that the figures count."""
        began = time.monotonic()
        tasks = next(self._tasks, ())
        if not tasks:
            return False
        before = await self._sight.waiting()
        sent = await asyncio.gather(*(self._load.send_once(task, gateway) for task in tasks))
        after = await self._sight.waiting()
        burst = Burst(before, sum(one is True for one in sent), sum(one is False for one in sent))
        if not burst.accepted or after < before + burst.accepted:
            return False
        self.made.append(burst)
        most = MOST_WAITING + self._doors.count_sent_elsewhere(gateway, began - COUNT_IS_KEPT_SECONDS)
        if before + burst.accepted > most:
            told = f"{burst.accepted} of {len(tasks)} messages at once were accepted where {before} waited"
            self.over.append(Crossing(NOWHERE, f"{told}: the limit is {MOST_WAITING}"))
        return True
