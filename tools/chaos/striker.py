"""Carries out the strikes of a schedule."""

import asyncio
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from random import Random

import httpx

from shared.domain.exact_json import JsonObject, dumps, loads_object
from tools.chaos.burst import Bursts
from tools.chaos.crew import ProcessCrew
from tools.chaos.full_disk import SmallDisk
from tools.chaos.intruder import Intruder
from tools.chaos.people import LateCalls
from tools.chaos.recovery import Recoveries
from tools.chaos.sent_calls import CallTap
from tools.chaos.shifted_clock import ClockFile
from tools.chaos.sight import Sight
from tools.chaos.state_server import StateServer
from tools.chaos.strikes import LEASE_SECONDS, Blow, ListedFault, Strike, second_tries
from tools.chaos.tails import LostTail, TailRepair
from tools.chaos.wiring import GATEWAYS, MODEL_LATENCY_MS
from tools.tcp_proxy import TcpProxy

_TIMEOUT = httpx.Timeout(2.0)
_TRIES = 6
_MEETS_WITHIN = 6.0  # seconds for which a struck line, or model, waits for somebody beyond its time
_BETWEEN = 1.5  # seconds from one strike to the next where all are due
_PAUSE = 0.5  # until a victim that was dead, or a line that nobody used, is tried again
_AT_ONCE = frozenset(  # a miss costs no time
    {Blow.KILL, Blow.TERM, Blow.STOP, Blow.CUT, Blow.REFUSE, Blow.MEMORY, Blow.TAIL, Blow.FAILOVER, Blow.BURST}
)
_BURST_SECONDS = LEASE_SECONDS - 1.0  # for which executors may stand still
_SLOW_SECONDS = 0.15  # for which each piece of a slow line is held back
_STATE, _EVERYTHING = "redis", "everything"
_HEALTHY_MODEL = dumps({"faults": "", "latency_ms": Decimal(MODEL_LATENCY_MS)})


@dataclass(frozen=True)
class StrikeMeans:
    """What some blows need beside processes and lines. ``clocks``: by process. ``disk``: None where none is small."""

    state: StateServer
    repair: TailRepair
    intruder: Intruder
    late: LateCalls
    clocks: Mapping[str, ClockFile]
    bursts: Bursts
    disk: SmallDisk | None


class Striker:
    """Strikes processes, lines and manners. ``heal`` undoes what lasts.

    ``carried_out`` counts by fault what met somebody: a process that lived, a line on which something went, a company
    that was asked, a model that was called.
    """

    def __init__(
        self,
        crew: ProcessCrew,
        lines: Mapping[str, TcpProxy],
        taps: Sequence[CallTap],
        recoveries: Recoveries,
        sight: Sight,
        http: httpx.AsyncClient,
        means: StrikeMeans,
    ) -> None:
        self._crew = crew
        self._lines = lines
        self._taps = taps
        self._recoveries = recoveries
        self._http = http
        self._sight = sight
        self._disk = means.disk
        self._clocks = means.clocks
        self._bursts = means.bursts
        self._state = means.state
        self._repair = means.repair
        self._intruder = means.intruder
        self._late = means.late
        self._one_at_a_time = asyncio.Lock()  # where the end of Redis' log is cut, or its place taken
        self._misbehaving = defaultdict[str, asyncio.Lock](asyncio.Lock)  # by company, or the model
        self._stopped: set[str] = set()
        self.carried_out: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()  # the victim was dead already, or nobody met the fault

    async def run(self, strikes: Sequence[Strike]) -> None:
        """Returns when the last one is over."""
        began = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as group:
            for strike in strikes:
                await asyncio.sleep(max(0.0, began + strike.at - asyncio.get_running_loop().time()))
                group.create_task(self._carry_out(strike))

    async def strike_again(self, random: Random, faults: Sequence[ListedFault]) -> None:
        """Until each of these has met somebody as often as it must: one round after another."""
        while again := second_tries(random, faults, self.carried_out):
            for strike in again:
                await self._carry_out(strike)
                await asyncio.sleep(_BETWEEN)

    async def heal(self) -> None:
        """No fault, no stopped process and no broken line is left."""
        for name in tuple(self._stopped):
            self._go_on(name)
        for line in self._lines.values():
            await line.accept()
            line.resume()
            line.requests.delay = line.answers.delay = 0.0
        for clock in self._clocks.values():
            clock.set_wrong(0.0)
        if self._disk:
            self._disk.empty()
        await self._sight.limit_memory(0)
        for name in self._crew.names:
            if name.startswith("company"):
                await self._switch_faults(name, "{}")
        await self._switch_faults("planner", '{"faults": "", "latency_ms": 0}')

    async def _carry_out(self, strike: Strike) -> None:
        blow = self._method_of(strike.blow)
        for attempt in range(_TRIES):
            if await blow(strike):
                self.carried_out[strike.fault.name] += 1
                return
            if strike.blow not in _AT_ONCE or attempt == _TRIES - 1:
                break
            await asyncio.sleep(_PAUSE)
        self.missed[strike.fault.name] += 1

    def _method_of(self, blow: Blow) -> Callable[[Strike], Awaitable[bool]]:
        """What carries out a blow, and says whether it met anybody."""
        return {
            Blow.KILL: self._kill,
            Blow.AT_WRITE: self._kill_at_write,
            Blow.TERM: self._terminate,
            Blow.STOP: self._stop,
            Blow.CUT: self._cut,
            Blow.REFUSE: self._refuse,
            Blow.STALL: self._stall,
            Blow.ONE_WAY: self._one_way,
            Blow.SLOW: self._slow,
            Blow.DROP: self._drop,
            Blow.TOOLS: self._misbehave_tools,
            Blow.MODEL: self._misbehave_model,
            Blow.MEMORY: self._fill_memory,
            Blow.DISK: self._fill_disk,
            Blow.TAIL: self._cut_tail,
            Blow.BURST: self._send_burst,
            Blow.CLOCK: self._set_clock_wrong,
            Blow.FOREIGN_KEY: self._show_foreign_key,
            Blow.FAILOVER: self._fail_over,
            Blow.POWER: self._power_cut,
        }[blow]

    async def _kill(self, strike: Strike) -> bool:
        pid, now = self._crew.pid(strike.victim), time.monotonic()
        hit = self._crew.kill(strike.victim, strike.seconds)
        if hit and pid is not None and strike.victim.startswith("executor"):
            await self._recoveries.note_deaths([pid], now)
        return hit

    async def _kill_at_write(self, strike: Strike) -> bool:
        """The call that met it goes on to its company; nobody is left who hears the answer."""
        met = asyncio.Event()
        dead: list[int] = []

        def kill(_: object) -> None:
            if not met.is_set():
                met.set()
                dead.extend(self._kill_executors())

        for tap in self._taps:
            tap.on_write = kill
        with suppress(TimeoutError):
            await asyncio.wait_for(met.wait(), strike.seconds)
        for tap in self._taps:
            tap.on_write = None
        if dead:
            await self._note_until_one_is_back(dead)
        return bool(dead)

    def _kill_executors(self) -> list[int]:
        pids = {name: self._crew.pid(name) for name in self._executors}
        return [pid for name, pid in pids.items() if pid is not None and self._crew.kill(name)]

    @property
    def _executors(self) -> tuple[str, ...]:
        return tuple(name for name in self._crew.names if name.startswith("executor"))

    async def _terminate(self, strike: Strike) -> bool:
        return self._crew.signal(strike.victim, signal.SIGTERM)

    async def _send_burst(self, _: Strike) -> bool:
        """Executors are stopped for as long as it takes, which is less than their leases last."""
        async with self._bursts.pausing_load(), asyncio.TaskGroup() as group:
            stopped = [name for name in self._executors if self._crew.signal(name, signal.SIGSTOP)]
            self._stopped.update(stopped)
            urls = [self._crew.url(name) for name in GATEWAYS]
            sending = group.create_task(self._bursts.send_burst(urls, _BURST_SECONDS))
            try:
                await asyncio.wait([sending], timeout=_BURST_SECONDS)
            finally:
                for name in stopped:
                    self._go_on(name)
        return sending.result()

    async def _set_clock_wrong(self, strike: Strike) -> bool:
        clock = self._clocks[strike.victim]
        clock.set_wrong(float(strike.fault.detail))
        await asyncio.sleep(strike.seconds)
        met = clock.reads > 0
        clock.set_wrong(0.0)
        return met

    async def _show_foreign_key(self, _: Strike) -> bool:
        return await self._intruder.try_all() > 0

    async def _cut_tail(self, strike: Strike) -> bool:
        """What Redis wrote within the strike's seconds before its end is not in its log when it starts again."""
        async with self._one_at_a_time:
            end, tail = self._state.log_end(), LostTail(strike.fault.name, time.monotonic())
            if end is None:
                return False
            await asyncio.sleep(strike.seconds)
            if not await self._crew.kill_for_good(_STATE):
                return False
            cut = self._state.cut_log(end)
            if cut:
                self._repair.note_cut(tail)
            self._crew.let_start(_STATE)
            if strike.victim == _EVERYTHING:
                await self._kill_everything()
            await self._repair.repair(tail)
        return cut > 0

    async def _fail_over(self, strike: Strike) -> bool:
        """A replica that has not heard of the strike's last seconds serves in the place of its dead primary."""
        async with self._one_at_a_time:
            replica = await self._state.replicate()
            if replica is None:
                return False
            tail = LostTail(strike.fault.name, time.monotonic())
            if not await self._state.catch_up(replica):
                await self._state.drop(replica)
                return False
            replica.line.answers.pause()
            await asyncio.sleep(strike.seconds)
            if not await self._crew.kill_for_good(_STATE):
                await self._state.drop(replica)
                return False
            self._repair.note_cut(tail)
            if not await self._state.promote(replica):
                await self._state.drop(replica)
                self._crew.let_start(_STATE)
                return False
            await self._repair.repair(tail)
        return True

    async def _power_cut(self, _: Strike) -> bool:
        return await self._kill_everything()

    async def _kill_everything(self) -> bool:
        pids = [self._crew.pid(name) for name in self._executors]
        hit = [self._crew.kill(name) for name in self._crew.names]
        await self._note_until_one_is_back([pid for pid in pids if pid is not None])
        return any(hit)

    async def _note_until_one_is_back(self, pids: Sequence[int]) -> None:
        """Where no executor is left, recovery counts from the moment at which one answers again."""
        await self._recoveries.note_deaths(pids, time.monotonic(), everything_was_dead=True)
        await self._until_an_executor_answers()
        self._recoveries.restart_count(time.monotonic())

    async def _until_an_executor_answers(self) -> None:
        while not any([await self._answers(name) for name in self._executors]):  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(_PAUSE / 5)

    async def _answers(self, name: str) -> bool:
        try:
            return (await self._http.get(f"{self._crew.url(name)}/ready", timeout=_TIMEOUT)).is_success
        except httpx.TransportError:
            return False

    async def _stop(self, strike: Strike) -> bool:
        hit = self._crew.signal(strike.victim, signal.SIGSTOP)
        self._stopped.add(strike.victim)
        await asyncio.sleep(strike.seconds if hit else 0.0)
        self._go_on(strike.victim)
        return hit

    def _go_on(self, name: str) -> None:
        self._stopped.discard(name)
        self._crew.signal(name, signal.SIGCONT)

    async def _cut(self, strike: Strike) -> bool:
        return self._lines[strike.victim].cut() > 0

    async def _drop(self, strike: Strike) -> bool:
        """One answer that somebody waits for; the fault is withdrawn where none comes in time."""
        answers = self._lines[strike.victim].answers
        before = answers.swallowed
        answers.cut_at(1)
        for _ in range(20):
            await asyncio.sleep(_PAUSE / 2)
            if answers.swallowed > before:
                return True
        answers.cancel_cut()
        return False

    async def _refuse(self, strike: Strike) -> bool:
        line = self._lines[strike.victim]
        if not line.open_connections:
            return False
        await line.refuse()
        await asyncio.sleep(strike.seconds)
        await line.accept()
        return True

    async def _stall(self, strike: Strike) -> bool:
        line = self._lines[strike.victim]
        line.pause()
        met = await self._is_met(line, strike.seconds)
        line.resume()
        return met

    async def _one_way(self, strike: Strike) -> bool:
        line = self._lines[strike.victim]
        line.answers.pause()
        met = await self._is_met(line, strike.seconds)
        line.answers.resume()
        return met

    async def _slow(self, strike: Strike) -> bool:
        line = self._lines[strike.victim]
        line.requests.delay = line.answers.delay = _SLOW_SECONDS
        met = await self._is_met(line, strike.seconds)
        line.requests.delay = line.answers.delay = 0.0
        return met

    async def _is_met(self, line: TcpProxy, seconds: float) -> bool:
        """Whether a request comes on the line within so many seconds, or else a little later."""
        before = line.requests.pieces
        await asyncio.sleep(seconds)
        ends = time.monotonic() + _MEETS_WITHIN
        while line.requests.pieces == before and time.monotonic() < ends:  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(_PAUSE / 5)
        return line.requests.pieces > before

    async def _fill_memory(self, strike: Strike) -> bool:
        hit = await self._sight.limit_memory(1)
        await asyncio.sleep(strike.seconds)
        await self._sight.limit_memory(0)
        return hit

    async def _fill_disk(self, strike: Strike) -> bool:
        if self._disk is None:
            return False
        with self._disk.fill():
            await asyncio.sleep(strike.seconds)
        return True

    async def _misbehave_model(self, strike: Strike) -> bool:
        async with self._misbehaving[strike.victim]:
            hit = await self._switch_faults(strike.victim, strike.fault.detail)
            met = hit and await self._is_met(self._lines[strike.victim], strike.seconds)
            await self._switch_faults(strike.victim, _HEALTHY_MODEL)
        return met

    async def _misbehave_tools(self, strike: Strike) -> bool:
        """The company keeps the fault until it was asked, or so many seconds; then it is healthy again.

        It has one fault at a time: the next waits for its turn.
        """
        async with self._misbehaving[strike.victim]:
            pid = self._crew.pid(strike.victim)
            if not await self._switch_faults(strike.victim, strike.fault.detail):
                return False
            ends = time.monotonic() + strike.seconds
            used = False
            while not used and time.monotonic() < ends and self._crew.pid(strike.victim) == pid:
                await asyncio.sleep(_PAUSE / 2)
                used = await self._is_used(strike)
            if used:
                self._late.expect(strike.victim, _latest(loads_object(strike.fault.detail)))
            await self._switch_faults(strike.victim, "{}")
            return used

    async def _is_used(self, strike: Strike) -> bool:
        """Whether a call has met the fault: a company counts down how often it lasts."""
        try:
            answer = await self._http.get(f"{self._crew.url(strike.victim)}/faults", timeout=_TIMEOUT)
            left: JsonObject = loads_object(answer.text)
        except (httpx.TransportError, ValueError):
            return False
        return _calls_left(left) < _calls_left(loads_object(strike.fault.detail))

    async def _switch_faults(self, name: str, fault: str) -> bool:
        """Switch faults past the lines; a process that was killed meanwhile has none when it starts again."""
        for _ in range(_TRIES):
            try:
                url = f"{self._crew.url(name)}/faults"
                return (await self._http.post(url, content=fault, timeout=_TIMEOUT)).is_success
            except httpx.TransportError:  # it was killed, and is not back yet
                await asyncio.sleep(_PAUSE)
        return False


def _latest(faults: JsonObject) -> float:
    """Seconds after which the latest of the calls is applied."""
    delays = [fault.get("delay_before_ms", 0) for fault in faults.values() if isinstance(fault, dict)]
    return max([delay for delay in delays if isinstance(delay, int)], default=0) / 1000


def _calls_left(faults: JsonObject) -> int:
    """How many more calls the faults last for."""
    told = [fault.get("times", 0) for fault in faults.values() if isinstance(fault, dict)]
    return sum(times for times in told if isinstance(times, int))
