"""One run: a stack with lines that fail, its load, its strikes, and then quiet, until everything has settled."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

import httpx

from cli.console import CommandError
from cli.gateway.messages import TaskView
from cli.stack.child import ReportProgress, wait_until_ready
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from shared.infra.tls import load_client_tls_context
from tools.chaos.balancer import Balancer
from tools.chaos.burst import BURST_MESSAGES, Bursts
from tools.chaos.crew import ProcessCrew
from tools.chaos.evidence import RunEvidence
from tools.chaos.findings import is_settled
from tools.chaos.followers import Followers
from tools.chaos.full_disk import NoDisk, SmallDisk
from tools.chaos.gateway_caller import AcceptedTask, GatewayCaller, RpcRefused
from tools.chaos.intruder import Intruder
from tools.chaos.judgement import RunCourse, count_as_asked
from tools.chaos.ledgers import CompanyLedger, plant_rows
from tools.chaos.load import CLAIMANT, Load
from tools.chaos.pace import BURST_TASKS, LONE_TASKS, Pace, measure_pace
from tools.chaos.people import LateCalls, People
from tools.chaos.recovery import Recoveries
from tools.chaos.roller import RollingEvidence, RollingRestarter
from tools.chaos.schedule import (
    LONGEST_ROUND,
    MOST_A_SECOND,
    QUIET_SHARE,
    WARM_UP_FROM,
    PlannedTask,
    Schedule,
    make_burst_tasks,
    make_warm_up_tasks,
)
from tools.chaos.sent_calls import CallTap
from tools.chaos.shifted_clock import ClockFile
from tools.chaos.sight import Sight
from tools.chaos.state_server import StateServer
from tools.chaos.striker import StrikeMeans, Striker
from tools.chaos.strikes import BY_NAME, CLOCKS, MOST_BURSTS, Blow
from tools.chaos.tails import TailRepair
from tools.chaos.tenants import TenantSetup, TenantTokens
from tools.chaos.wiring import CALLED_BY_NAME, GATEWAYS, MCP, QUEUE, REST, Wiring
from tools.tcp_proxy import TcpProxy

READY_SECONDS = 90.0
SETTLE_SECONDS = 150.0  # more than a task may take
_LOOK_EVERY = 0.25
_VIEWS_AT_ONCE = 8
_VIEW_SECONDS = 20.0
PROTOCOLS = ("mcp", "rest")
_TO_STATE = ">redis"
_SIGHT = f"sight{_TO_STATE}"  # a line that nothing strikes


@dataclass(frozen=True)
class ChaosRun:
    """A run under way, for whoever shows how it goes."""

    schedule: Schedule
    wiring: Wiring
    crew: ProcessCrew
    striker: Striker
    recoveries: Recoveries
    load: Load
    people: People
    sight: Sight
    gateways: GatewayCaller
    roller: RollingRestarter
    balancer: Balancer
    followers: Followers
    taps: Mapping[str, CallTap]
    repair: TailRepair
    intruder: Intruder
    late: LateCalls
    bursts: Bursts
    patience: float
    began: float
    pace: Pace | None = None
    without: tuple[str, ...] = ()  # faults that cannot be tried on this machine, with the reason

    @property
    def books(self) -> Mapping[str, Path]:
        return {protocol: self.wiring.database(protocol) for protocol in PROTOCOLS}

    def count_ended(self) -> int:
        return sum(sent.has_ended for sent, _ in self.load.accepted_tasks())

    def count_unsettled(self) -> int:
        """Accepted tasks that neither ended nor wait as they should, by the last look."""
        return sum(not is_settled(sent.planned.task.kind, sent.state) for sent, _ in self.load.accepted_tasks())


@asynccontextmanager
async def running_stack(
    schedule: Schedule, wiring: Wiring, tell: ReportProgress, patience: float = SETTLE_SECONDS
) -> AsyncIterator[ChaosRun]:
    """The stack, ready, its books filled. Everything is stopped on leaving, whatever happened.

    ``patience``: seconds that everything has at the end to settle.
    """
    folder = wiring.options.folder
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as held:
        disk, without = _mount_disk(schedule, folder / "redis", held)
        state = StateServer(folder / "redis")
        held.callback(state.stop)
        state.server.start()
        queue = EmbeddedRedis(folder / "queue", is_durable=False)
        held.callback(queue.stop)
        queue.start()
        ends = {**wiring.lines(state.server.url, queue.url), _SIGHT: state.server.url}
        taps = {name: CallTap(protocol) for name, protocol in ((MCP, "mcp"), (REST, "rest"))}
        made = {name: TcpProxy(end, listen=taps[name].listen if name in taps else None) for name, end in ends.items()}
        lines = {name: await held.enter_async_context(line) for name, line in made.items()}
        clocks = _make_clocks(schedule, wiring)
        specs = wiring.specs({name: line.address for name, line in lines.items()}, clocks)
        crew = ProcessCrew(specs, folder / "logs", {"redis": state.server, QUEUE: queue})
        state.on_change = partial(_switch_state_server, crew, lines)
        held.push_async_callback(crew.stop)
        await wait_until_ready(crew.children, READY_SECONDS, tell)
        http = await held.enter_async_context(
            httpx.AsyncClient(
                trust_env=False,
                verify=load_client_tls_context(),
            )
        )
        redis = connect(f"redis://{lines[_SIGHT].address}/0")
        held.push_async_callback(redis.aclose)
        keyring = await _open_tenants(schedule, wiring, crew, lines, http)
        told = (Sight(redis), http, keyring, {name: ClockFile(file) for name, file in clocks.items()}, disk)
        run = _build_run(schedule, wiring, crew, lines, taps, state, *told, patience)
        yield replace(run, without=without)


def _make_clocks(schedule: Schedule, wiring: Wiring) -> Mapping[str, Path]:
    """A file for each process whose clock may be set wrong; none where no fault does so."""
    if not any(BY_NAME[name].blow is Blow.CLOCK for name in schedule.faults):
        return {}
    files = {name: wiring.clock_file(name) for name in CLOCKS}
    for file in files.values():
        file.parent.mkdir(exist_ok=True)
        ClockFile(file)
    return files


async def _open_tenants(
    schedule: Schedule, wiring: Wiring, crew: ProcessCrew, lines: Mapping[str, TcpProxy], http: httpx.AsyncClient
) -> TenantTokens:
    """A key for each of the people of each tenant; none where there is one tenant, which asks nobody for a key."""
    if len(schedule.tenants) == 1:
        return TenantTokens()
    company = f"http://{lines[MCP].address}"
    redis = f"redis://{lines[_SIGHT].address}/0"
    opened = TenantSetup(crew.url(GATEWAYS[0]), redis, wiring.options.environ, company, wiring.tenant_file)
    return await opened.open_all(schedule.tenants, http)


def _switch_state_server(crew: ProcessCrew, lines: Mapping[str, TcpProxy], server: EmbeddedRedis) -> None:
    """All that speak to Redis speak to that server from now on, as where a name is given to a promoted replica."""
    for name, line in lines.items():
        if name.endswith(_TO_STATE):
            line.upstream = server.url
            line.cut()
    crew.replace_server("redis", server)


def _mount_disk(schedule: Schedule, folder: Path, held: AsyncExitStack) -> tuple[SmallDisk | None, tuple[str, ...]]:
    """A disk of its own for Redis where its being full is listed, and why there is none where nobody may mount one."""
    if not any(BY_NAME[name].blow is Blow.DISK for name in schedule.faults):
        return None, ()
    disk = SmallDisk(folder)
    try:
        disk.mount()
    except NoDisk as problem:
        return None, (f"full-disk: {problem}",)
    held.callback(disk.unmount)
    return disk, ()


def _build_run(
    schedule: Schedule,
    wiring: Wiring,
    crew: ProcessCrew,
    lines: Mapping[str, TcpProxy],
    taps: Mapping[str, CallTap],
    state: StateServer,
    sight: Sight,
    http: httpx.AsyncClient,
    keyring: TenantTokens,
    clocks: Mapping[str, ClockFile],
    disk: SmallDisk | None,
    patience: float,
) -> ChaosRun:
    books = {protocol: wiring.database(protocol) for protocol in PROTOCOLS}
    in_bursts = _burst_tasks(schedule)
    tasks = (*schedule.tasks, *_warm_up_tasks(schedule), *in_bursts)
    for protocol, database in books.items():
        plant_rows(database, (row for task in tasks if task.protocol == protocol for row in task.task.rows))
    recoveries = Recoveries(sight)
    addresses = [crew.url(name) for name in GATEWAYS]
    balancer = Balancer(addresses, http)
    followers = Followers(balancer, http)
    gateways = GatewayCaller(addresses, http, balancer if schedule.rolling else None, keyring)
    load = Load(gateways, schedule.seed, f"http://{lines[REST].address}", followers if schedule.rolling else None)
    late = LateCalls()
    people = People(gateways, load, sight, books, schedule.seed, late)
    repair = TailRepair(load, sight, recoveries)
    intruder = Intruder(gateways, load, schedule.tenants)
    bursts = Bursts(load, sight, in_bursts)
    means = StrikeMeans(state, repair, intruder, late, clocks, bursts, disk)
    striker = Striker(crew, lines, tuple(taps.values()), recoveries, sight, http, means)
    roller = RollingRestarter(crew, {name: lines[name] for name in CALLED_BY_NAME})
    parts = (crew, striker, recoveries, load, people, sight, gateways, roller, balancer, followers, taps)
    return ChaosRun(schedule, wiring, *parts, repair, intruder, late, bursts, patience, time.monotonic())


def _burst_tasks(schedule: Schedule) -> tuple[PlannedTask, ...]:
    """As many as may be needed: a burst that meets another fault is sent again."""
    is_listed = any(BY_NAME[name].blow is Blow.BURST for name in schedule.faults)
    return make_burst_tasks(schedule.seed, MOST_BURSTS * BURST_MESSAGES) if is_listed else ()


def _warm_up_tasks(schedule: Schedule) -> tuple[PlannedTask, ...]:
    return make_warm_up_tasks(schedule.seed, LONE_TASKS + BURST_TASKS)


async def set_pace(run: ChaosRun, rate: float | None) -> ChaosRun:
    """The run at the rate that was stated, else at half of what its stack carries while nothing is struck."""
    tasks = _warm_up_tasks(run.schedule)
    async with run.crew.supervise():
        pace = await measure_pace(run.load, run.gateways, tasks if rate is None else tasks[:LONE_TASKS])
    half = MOST_A_SECOND if pace.carried is None else min(MOST_A_SECOND, pace.carried / 2)
    schedule = run.schedule.at_rate(rate or half)
    if run.without:
        unlisted = {told.partition(":")[0] for told in run.without}
        kept = tuple(name for name in schedule.faults if name not in unlisted)
        strikes = tuple(one for one in schedule.strikes if one.fault.name not in unlisted)
        schedule = replace(schedule, faults=kept, strikes=strikes)
    return replace(run, schedule=schedule, pace=pace, began=time.monotonic())


def course_of(run: ChaosRun, evidence: RunEvidence) -> RunCourse:
    """How the run went, for whoever judges it. Of a rolling run only the tasks count that came before its last restart:
    its schedule has more, in case that one takes long.
    """
    of_schedule = [one for one in evidence.sent if one.planned.number < WARM_UP_FROM]
    struck = {name: run.striker.carried_out[name] for name in run.schedule.faults}
    return RunCourse(
        planned=len(of_schedule if run.schedule.rolling else run.schedule.tasks),
        sent=sum(one.accepted is not None for one in of_schedule),
        ended_as_asked=count_as_asked(evidence),
        recoveries=tuple(run.recoveries.known),
        outstanding=run.recoveries.outstanding,
        struck=struck,
        undisturbed=run.pace.undisturbed if run.pace else None,
        unreadable=sum(tap.unreadable for tap in run.taps.values()),
    )


async def carry_out(run: ChaosRun) -> RunEvidence:
    """Load and strikes to their end, then quiet until everything has settled or its time is over."""
    async with run.crew.supervise(), asyncio.TaskGroup() as group:
        serving = (run.people.serve(), run.recoveries.serve(), run.balancer.serve())
        attending = [group.create_task(work) for work in serving]
        await _await_strikes(run)
        await run.striker.heal()
        await _run_bounded(_await_ready(run), READY_SECONDS)
        await _run_bounded(run.load.finish_sending(), READY_SECONDS)
        await run.late.wait_for_none()
        await _run_bounded(_await_settled_and_counted(run), run.patience)
        evidence = await _gather_evidence(run)
        for task in attending:
            task.cancel()
    return evidence


async def _await_strikes(run: ChaosRun) -> None:
    """Until the last strike is over and every client is done, or has waited too long for an answer."""
    patience = run.schedule.seconds + run.patience + (LONGEST_ROUND if run.schedule.rolling else 0.0)
    async with asyncio.TaskGroup() as group:
        group.create_task(_run_bounded(run.load.run(run.schedule.tasks), patience))
        group.create_task(_restart_all(run) if run.schedule.rolling else _run_bounded(_strike(run), patience))


async def _strike(run: ChaosRun) -> None:
    """All strikes of the plan, then what met nobody once more; the rest of the time is quiet."""
    ends = time.monotonic() + run.schedule.seconds * (1 - QUIET_SHARE)
    await run.striker.run(run.schedule.strikes)
    random = Random(f"second tries {run.schedule.seed}")  # noqa: S311  # not a secret
    listed = [BY_NAME[name] for name in run.schedule.faults]
    await _run_bounded(run.striker.strike_again(random, listed), max(0.0, ends - time.monotonic()))


async def _restart_all(run: ChaosRun) -> None:
    """The load lasts as long."""
    async with asyncio.TaskGroup() as group:
        visiting = group.create_task(TaskViewers(run.gateways, run.load).serve())
        await run.roller.run(run.schedule.seconds)
        visiting.cancel()
    run.load.stop()


async def _run_bounded(work: Coroutine[None, None, None], seconds: float) -> None:
    """What is not done in time is broken off: the findings then show what was lost."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await work


async def _await_ready(run: ChaosRun) -> None:
    """Until all processes are; one that ends because another is not back yet is started again meanwhile."""
    while True:
        with suppress(CommandError):
            return await wait_until_ready(run.crew.children, READY_SECONDS)
        await asyncio.sleep(_LOOK_EVERY)


async def _await_settled_and_counted(run: ChaosRun) -> None:
    await _await_settled(run)
    await _await_counted(run)


async def _await_settled(run: ChaosRun) -> None:
    while run.count_unsettled():  # noqa: ASYNC110  # Redis is looked at by polling
        await asyncio.sleep(_LOOK_EVERY)


async def _await_counted(run: ChaosRun) -> None:
    """Until the learner has counted as many outcomes as tasks have ended."""
    ended = run.count_ended()
    while (await run.sight.count_all(run.schedule.tenants)).events < ended:  # noqa: ASYNC110  # the learner tells nobody
        await asyncio.sleep(_LOOK_EVERY)


async def _gather_evidence(run: ChaosRun) -> RunEvidence:
    await run.recoveries.drop_finished()
    views = await _read_views(run)
    books = {protocol: CompanyLedger.read(database) for protocol, database in run.books.items()}
    seen = (await run.sight.count_all(run.schedule.tenants), await run.sight.known_tasks())
    rolled = await _read_rolled(run) if run.schedule.rolling else None
    calls = sorted((call for tap in run.taps.values() for call in tap.calls), key=lambda call: call.at)
    crossings, tails = (tuple(run.intruder.let_in), tuple(run.bursts.over)), tuple(run.repair.tails)
    return RunEvidence(run.load.sent, views, books, *seen, rolled, calls, *crossings, tails)


async def _read_rolled(run: ChaosRun) -> RollingEvidence:
    streams = {task_id: (told, await run.followers.event_ids(task_id)) for task_id, told in run.followers.told.items()}
    by_themselves = tuple(run.crew.ended_by_themselves)
    failed = (*run.gateways.failed, *run.followers.broken)
    doubts, unforeseen = frozenset(run.people.resolved), tuple(run.people.unforeseen)
    return RollingEvidence(failed, streams, tuple(run.roller.restarts), by_themselves, doubts, unforeseen)


async def _read_views(run: ChaosRun) -> dict[str, TaskView]:
    """Every accepted task as the gateway shows it."""
    gate = asyncio.Semaphore(_VIEWS_AT_ONCE)

    async def look(task: AcceptedTask) -> TaskView:
        async with gate, asyncio.timeout(_VIEW_SECONDS):
            return await run.gateways.view(task, CLAIMANT)

    tasks = [task for _, task in run.load.accepted_tasks()]
    found = await asyncio.gather(*(look(task) for task in tasks), return_exceptions=True)
    return {task.task_id: view for task, view in zip(tasks, found, strict=True) if isinstance(view, TaskView)}


VISITORS = 3
_PAUSE = 0.04


class TaskViewers:
    def __init__(self, gateways: GatewayCaller, load: Load) -> None:
        self._gateways, self._load = gateways, load

    async def serve(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(VISITORS):
                group.create_task(self._visit(number))

    async def _visit(self, first: int) -> None:
        for turn in count(first):
            known = [accepted for _, accepted in self._load.accepted_tasks()]
            if known:
                await self._look(known[turn % len(known)])
            await asyncio.sleep(_PAUSE)

    async def _look(self, task: AcceptedTask) -> None:
        try:
            await self._gateways.view(task, CLAIMANT)
        except RpcRefused as refusal:  # a task that was accepted is shown
            self._gateways.failed.append(f"task {task.task_id} is not shown: {refusal}")
