"""Restarts every service, one process after another, as a new version does, and what must not have come of it."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cli.stack.child import wait_until_ready
from cli.stack.plan import find_free_ports
from tools.chaos.crew import ProcessCrew
from tools.chaos.endings import UnforeseenApproval
from tools.tcp_proxy import TcpProxy

READY_SECONDS = 60.0
GONE_SECONDS = 60.0  # the longest grace of any service, and time to spare
SERVES_ON = 1.0  # seconds between the new process's first work and the old one's signal: ``preStop``


class Restart(NamedTuple):
    """``seconds``: from the signal to the end. ``code``: the exit code; None if it had to be killed."""

    name: str
    seconds: float
    code: int | None


class RollingRestarter:
    """``lines``: the services that are called by a name; a new process of these is ready before the old one leaves.

    The others are stopped, and started again: replicas, and consumers whose work waits for them.
    """

    def __init__(self, crew: ProcessCrew, lines: Mapping[str, TcpProxy], serves_on: float = SERVES_ON) -> None:
        self._crew = crew
        self._lines = lines
        self._serves_on = serves_on
        self.restarts: list[Restart] = []
        self.rounds = 0

    @property
    def counts(self) -> Counter[str]:
        return Counter(restart.name for restart in self.restarts)

    async def run(self, seconds: float) -> None:
        """Whole rounds, the last of which begins before the time is over."""
        ends = time.monotonic() + seconds
        while not self.rounds or time.monotonic() < ends:
            for name in self._in_order():
                await self._restart(name)
                await asyncio.sleep(self._serves_on / 2)  # a breath between two
            self.rounds += 1

    def _in_order(self) -> tuple[str, ...]:
        """All but the companies: their servers are somebody else's."""
        return tuple(name for name in sorted(self._crew.processes) if not name.startswith("company"))

    async def _restart(self, name: str) -> None:
        line = self._lines.get(name)
        if line is None:
            self.restarts.append(Restart(name, *await self._crew.terminate(name, GONE_SECONDS)))
            await wait_until_ready((self._crew.child(name),), READY_SECONDS)
            return
        (port,) = find_free_ports(1)
        replacement = self._crew.start_beside(name, port)
        await wait_until_ready((replacement,), READY_SECONDS)
        line.upstream = replacement.spec.url.removeprefix("http://")
        await asyncio.sleep(self._serves_on)
        self.restarts.append(Restart(name, *await self._crew.hand_over(name, replacement, GONE_SECONDS)))


@dataclass(frozen=True)
class RollingEvidence:
    """What is left of a run in which everything was restarted with care.

    ``failed``: requests and streams that came to nothing. ``streams``: events as told, and the whole story, by task.

    ``by_themselves``: processes that ended unasked. ``doubts``: writes whose fate nobody could tell.
    """

    failed: Sequence[str]
    streams: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    restarts: Sequence[Restart]
    by_themselves: Sequence[str]
    doubts: frozenset[str]
    unforeseen: Sequence[UnforeseenApproval] = ()

    def gaps(self) -> Iterator[tuple[str, str]]:
        """Tasks whose watchers lack an event, or got one twice, and what is the matter."""
        for task_id, (told, story) in self.streams.items():
            if told != story[: len(told)] or not told:
                yield task_id, f"{len(told)} events were told, and they do not begin the story of {len(story)}"

    def rough_ends(self) -> Iterator[str]:
        for restart in self.restarts:
            if restart.code != 0:
                how = "had to be killed" if restart.code is None else f"ended with exit code {restart.code}"
                yield f"{restart.name} {how} {restart.seconds:.1f} s after it was asked to stop"
        yield from self.by_themselves
