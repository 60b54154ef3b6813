"""Carries out the strikes of a schedule."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import httpx

from shared.infra.tcp_proxy import TcpProxy
from tools.chaos.crew import Crew
from tools.chaos.recovery import Recoveries
from tools.chaos.strikes import Blow, Strike

_TIMEOUT = httpx.Timeout(2.0)
_TRIES = 3
_PAUSE = 0.3


class Striker:
    """Strikes processes, lines and manners. ``heal`` undoes what lasts."""

    def __init__(
        self, crew: Crew, lines: Mapping[str, TcpProxy], recoveries: Recoveries, http: httpx.AsyncClient
    ) -> None:
        self._crew, self._lines, self._recoveries, self._http = crew, lines, recoveries, http
        self._stopped: set[str] = set()
        self.carried_out: Counter[str] = Counter()
        self.missed = 0  # the victim was dead already

    async def run(self, strikes: Sequence[Strike]) -> None:
        """Returns when the last one is over."""
        began = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as group:
            for strike in strikes:
                await asyncio.sleep(max(0.0, began + strike.at - asyncio.get_running_loop().time()))
                group.create_task(self._carry_out(strike))

    async def heal(self) -> None:
        """No fault, no stopped process and no broken line is left."""
        for name in tuple(self._stopped):
            self._go_on(name)
        for line in self._lines.values():
            await line.accept()
            line.resume()
        for name in self._crew.names:
            if name.startswith("company"):
                await self._tell(name, "{}")
        await self._tell("planner", '{"faults": "", "latency_ms": 0}')

    async def _carry_out(self, strike: Strike) -> None:
        match strike.blow:
            case Blow.KILL:
                hit = await self._kill(strike)
            case Blow.TERM:
                hit = self._crew.signal(strike.victim, signal.SIGTERM)
            case Blow.STOP:
                hit = await self._stop(strike)
            case Blow.POWER:
                hit = await self._power_cut()
            case Blow.TOOLS | Blow.MODEL:
                hit = await self._misbehave(strike)
            case _:
                hit = await self._strike_line(strike)
        if hit:
            self.carried_out[strike.blow.value] += 1
        else:
            self.missed += 1

    async def _kill(self, strike: Strike) -> bool:
        pid, now = self._crew.pid(strike.victim), time.monotonic()
        hit = self._crew.kill(strike.victim, strike.seconds)
        if hit and pid is not None and strike.victim.startswith("executor"):
            await self._recoveries.note([pid], now)
        return hit

    async def _power_cut(self) -> bool:
        executors = [name for name in self._crew.names if name.startswith("executor")]
        pids, now = [self._crew.pid(name) for name in executors], time.monotonic()
        hit = [self._crew.kill(name) for name in self._crew.names]
        await self._recoveries.note([pid for pid in pids if pid is not None], now, everything_was_dead=True)
        return any(hit)

    async def _stop(self, strike: Strike) -> bool:
        hit = self._crew.signal(strike.victim, signal.SIGSTOP)
        self._stopped.add(strike.victim)
        await asyncio.sleep(strike.seconds)
        self._go_on(strike.victim)
        return hit

    def _go_on(self, name: str) -> None:
        self._stopped.discard(name)
        self._crew.signal(name, signal.SIGCONT)

    async def _strike_line(self, strike: Strike) -> bool:
        line = self._lines[strike.victim]
        match strike.blow:
            case Blow.CUT:
                return line.cut() > 0
            case Blow.DROP:
                line.answers.cut_at(1)
            case Blow.STALL:
                line.pause()
                await asyncio.sleep(strike.seconds)
                line.resume()
            case _:
                await line.refuse()
                await asyncio.sleep(strike.seconds)
                await line.accept()
        return True

    async def _misbehave(self, strike: Strike) -> bool:
        hit = await self._tell(strike.victim, strike.fault)
        if strike.blow is Blow.MODEL:
            await asyncio.sleep(strike.seconds)
            await self._tell(strike.victim, '{"faults": "", "latency_ms": 150}')
        return hit

    async def _tell(self, name: str, fault: str) -> bool:
        """Switch faults past the lines; a process that was killed meanwhile has none when it starts again."""
        for _ in range(_TRIES):
            try:
                url = f"{self._crew.url(name)}/faults"
                return (await self._http.post(url, content=fault, timeout=_TIMEOUT)).is_success
            except httpx.TransportError:  # it was killed, and is not back yet
                await asyncio.sleep(_PAUSE)
        return False
