"""Keeping a stack up: a process that ended by itself is started again, after a pause that grows with each early end."""

import asyncio
import time
from collections.abc import Callable

from cli.console import Complaint
from cli.stack.child import Child
from cli.stack.readiness import wait_until_ready

Say = Callable[[str], None]

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
STEADY_SECONDS = 60.0  # who ran for so long has not failed to start
LOOK_EVERY = 0.2


class Restarts:
    """How often one process ended soon after its start."""

    def __init__(self) -> None:
        self._early = 0

    def pause_after(self, lived: float) -> float:
        """How many seconds it rests now that it ended ``lived`` seconds after it was started."""
        self._early = 0 if lived >= STEADY_SECONDS else self._early
        pause = min(FIRST_PAUSE * 2.0**self._early, LONGEST_PAUSE)
        self._early += 1
        return pause


async def keep_up(child: Child, ready_seconds: float, say: Say) -> None:
    """Start the child again whenever it ends, until this is cancelled; ``say`` is told of each end and each return.

    A child that refuses its settings or its port is tried again like any other: what it lacks may come back.
    """
    restarts = Restarts()
    while True:
        started = time.monotonic()
        await child.wait()
        pause = restarts.pause_after(time.monotonic() - started)
        ended = f"{child.spec.name} ended with exit code {child.exit_code}"
        say(f"{ended}; it is started again in {pause:g} s ({child.log}).")
        await asyncio.sleep(pause)
        child.start_again()
        try:
            await wait_until_ready((child,), ready_seconds)
        except Complaint as complaint:
            say(complaint.sentence)  # an end is seen above; one that runs and is not ready yet may still get there
        else:
            say(f"{child.spec.name} is up again, pid {child.pid}.")
