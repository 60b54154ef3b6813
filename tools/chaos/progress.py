"""How a run goes, while it goes: a spinner's text on a terminal, a line now and then in a file."""

import asyncio
import time

from rich.console import Console
from rich.status import Status

from tools.chaos.run import ChaosRun

_EVERY = 1.0
_LINE_EVERY = 10.0


async def follow(run: ChaosRun, console: Console) -> None:
    """Tell how the run stands, until cancelled."""
    if not console.is_terminal:
        while True:
            await asyncio.sleep(_LINE_EVERY)
            console.print(line_of(run), style="dim")
    with Status(line_of(run), console=console) as status:
        while True:
            await asyncio.sleep(_EVERY)
            status.update(line_of(run))


def line_of(run: ChaosRun) -> str:
    """One line: time, tasks, kills."""
    elapsed, seconds = time.monotonic() - run.began, run.schedule.seconds
    accepted = sum(1 for _ in run.load.accepted_tasks())
    kills = sum(run.crew.killed.values())
    phase = "struck" if elapsed < seconds else "settling"
    if run.schedule.rolling:
        phase = f"{len(run.roller.restarts)} restarts"
    return (
        f"{elapsed:5.0f} s of {seconds:.0f}, {phase}: {accepted} tasks accepted, {run.count_ended()} ended,"
        f" {run.count_unsettled()} open, {kills} kills, {run.striker.carried_out.total()} strikes"
    )
