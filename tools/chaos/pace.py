"""What a stack carries while nothing is struck: how long one task takes alone, and how many a second it gets done."""

import asyncio
import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from tools.chaos.gateway_caller import GatewayCaller
from tools.chaos.load import CLAIMANT, ENDED, Load
from tools.chaos.schedule import PlannedTask

LONE_TASKS = 6  # one after another; the first is for the connections, and not counted
BURST_TASKS = 16
_LOOK_EVERY = 0.03
_MOST_SECONDS = 60.0


class Pace(NamedTuple):
    """``undisturbed``: median seconds of a task alone. ``carried``: tasks a second of a burst, if one was sent."""

    undisturbed: float
    carried: float | None = None


async def measure_pace(load: Load, gateways: GatewayCaller, tasks: Sequence[PlannedTask]) -> Pace:
    """The first tasks one after another, the others at once. A task that does not end counts for as long as awaited."""
    alone = [await _seconds(load, gateways, task) for task in tasks[:LONE_TASKS]]
    undisturbed = median(alone[1:])
    burst = tasks[LONE_TASKS:]
    if not burst:
        return Pace(undisturbed)
    began = time.monotonic()
    await asyncio.gather(*(_seconds(load, gateways, task) for task in burst))
    return Pace(undisturbed, len(burst) / (time.monotonic() - began))


async def _seconds(load: Load, gateways: GatewayCaller, task: PlannedTask) -> float:
    began = time.monotonic()
    sent = await load.send(task)
    while sent.accepted and not sent.has_ended and time.monotonic() < began + _MOST_SECONDS:
        sent.state = (await gateways.view(sent.accepted, CLAIMANT)).state
        if sent.state not in ENDED:
            await asyncio.sleep(_LOOK_EVERY)
    return time.monotonic() - began
