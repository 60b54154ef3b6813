"""One run: a stack with lines that fail, its load, its strikes, and then quiet, until everything has settled."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from cli.console import Complaint
from cli.gateway.messages import TaskView
from cli.stack.readiness import Tell, wait_until_ready
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from shared.infra.tcp_proxy import TcpProxy
from tools.chaos.balancer import Balancer
from tools.chaos.crew import Crew
from tools.chaos.doors import Doors
from tools.chaos.findings import Evidence, is_settled
from tools.chaos.followers import Followers
from tools.chaos.ledgers import CompanyLedger, plant
from tools.chaos.load import CLERK, Load
from tools.chaos.people import People
from tools.chaos.recovery import Recoveries
from tools.chaos.rolled import Rolled
from tools.chaos.roller import Roller
from tools.chaos.schedule import LONGEST_ROUND, Schedule
from tools.chaos.sight import Sight
from tools.chaos.striker import Striker
from tools.chaos.visitors import Visitors
from tools.chaos.wiring import CALLED_BY_NAME, GATEWAYS, QUEUE, REST, Wiring

READY_SECONDS = 90.0
SETTLE_SECONDS = 150.0  # more than a task may take
COUNT_SECONDS = 30.0
_LOOK_EVERY = 0.25
_VIEWS_AT_ONCE = 8
PROTOCOLS = ("mcp", "rest")


@dataclass(frozen=True)
class Run:
    """A run under way, for whoever shows how it goes."""

    schedule: Schedule
    wiring: Wiring
    crew: Crew
    striker: Striker
    recoveries: Recoveries
    load: Load
    people: People
    sight: Sight
    doors: Doors
    roller: Roller
    balancer: Balancer
    followers: Followers
    began: float

    @property
    def books(self) -> Mapping[str, Path]:
        return {protocol: self.wiring.database(protocol) for protocol in PROTOCOLS}

    def ended(self) -> int:
        return sum(sent.has_ended for sent, _ in self.load.accepted())

    def unsettled(self) -> int:
        """Accepted tasks that neither ended nor wait as they should, by the last look."""
        return sum(not is_settled(sent.planned.errand.kind, sent.state) for sent, _ in self.load.accepted())


@asynccontextmanager
async def stack_of(schedule: Schedule, wiring: Wiring, tell: Tell) -> AsyncIterator[Run]:
    """The stack, ready, its books filled. Everything is stopped on leaving, whatever happened."""
    folder = wiring.options.folder
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as held:
        servers = {"redis": EmbeddedRedis(folder / "redis"), QUEUE: EmbeddedRedis(folder / "queue", durable=False)}
        for server in servers.values():
            held.callback(server.stop)
            server.start()
        ends = wiring.lines(servers["redis"].url, servers[QUEUE].url)
        lines = {name: await held.enter_async_context(TcpProxy(end)) for name, end in ends.items()}
        specs = wiring.specs({name: line.address for name, line in lines.items()})
        crew = Crew(specs, folder / "logs", servers)
        held.push_async_callback(crew.stop)
        await wait_until_ready(crew.children, READY_SECONDS, tell)
        http = await held.enter_async_context(httpx.AsyncClient(trust_env=False))
        redis = connect(servers["redis"].url)
        held.push_async_callback(redis.aclose)
        yield _run(schedule, wiring, crew, lines, Sight(redis), http)


def _run(
    schedule: Schedule,
    wiring: Wiring,
    crew: Crew,
    lines: Mapping[str, TcpProxy],
    sight: Sight,
    http: httpx.AsyncClient,
) -> Run:
    books = {protocol: wiring.database(protocol) for protocol in PROTOCOLS}
    for protocol, database in books.items():
        plant(database, (row for task in schedule.tasks if task.protocol == protocol for row in task.errand.rows))
    recoveries = Recoveries(sight)
    gateways = [crew.url(name) for name in GATEWAYS]
    balancer = Balancer(gateways, http)
    followers = Followers(balancer, http)
    doors = Doors(gateways, http, balancer if schedule.rolling else None)
    load = Load(doors, schedule.seed, f"http://{lines[REST].address}", followers if schedule.rolling else None)
    people = People(doors, load, sight, books, schedule.seed)
    striker = Striker(crew, lines, recoveries, http)
    roller = Roller(crew, {name: lines[name] for name in CALLED_BY_NAME})
    parts = (crew, striker, recoveries, load, people, sight, doors, roller, balancer, followers)
    return Run(schedule, wiring, *parts, time.monotonic())


async def carry_out(run: Run) -> Evidence:
    """Load and strikes to their end, then quiet until everything has settled or its time is over."""
    async with run.crew.supervised(), asyncio.TaskGroup() as group:
        serving = (run.people.serve(), run.recoveries.serve(), run.balancer.serve())
        attending = [group.create_task(work) for work in serving]
        await _struck(run)
        await run.striker.heal()
        await _bounded(_ready(run), READY_SECONDS)
        await _bounded(_settled(run), SETTLE_SECONDS)
        await _bounded(_all_counted(run), COUNT_SECONDS)
        evidence = await _evidence(run)
        for task in attending:
            task.cancel()
    return evidence


async def _struck(run: Run) -> None:
    """Until the last strike is over and every client is done, or has waited too long for an answer."""
    patience = run.schedule.seconds + SETTLE_SECONDS + (LONGEST_ROUND if run.schedule.rolling else 0.0)
    async with asyncio.TaskGroup() as group:
        group.create_task(_bounded(run.load.run(run.schedule.tasks), patience))
        group.create_task(_restarts(run) if run.schedule.rolling else run.striker.run(run.schedule.strikes))


async def _restarts(run: Run) -> None:
    """The load lasts as long."""
    async with asyncio.TaskGroup() as group:
        visiting = group.create_task(Visitors(run.doors, run.load).serve())
        await run.roller.run(run.schedule.seconds)
        visiting.cancel()
    run.load.stop()


async def _bounded(work: Coroutine[None, None, None], seconds: float) -> None:
    """What is not done in time is broken off: the findings then show what was lost."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await work


async def _ready(run: Run) -> None:
    """Until all processes are; one that ends because another is not back yet is started again meanwhile."""
    while True:
        with suppress(Complaint):
            return await wait_until_ready(run.crew.children, READY_SECONDS)
        await asyncio.sleep(_LOOK_EVERY)


async def _settled(run: Run) -> None:
    while run.unsettled():  # noqa: ASYNC110  # Redis is looked at by polling
        await asyncio.sleep(_LOOK_EVERY)


async def _all_counted(run: Run) -> None:
    """Until the learner has counted as many outcomes as tasks have ended."""
    ended = run.ended()
    while (await run.sight.counted()).events < ended:  # noqa: ASYNC110  # the learner tells nobody
        await asyncio.sleep(_LOOK_EVERY)


async def _evidence(run: Run) -> Evidence:
    views = await _views(run)
    books = {protocol: CompanyLedger.read(database) for protocol, database in run.books.items()}
    seen = (await run.sight.counted(), await run.sight.known_tasks())
    return Evidence(run.load.sent, views, books, *seen, await _rolled(run) if run.schedule.rolling else None)


async def _rolled(run: Run) -> Rolled:
    streams = {task_id: (told, await run.followers.story(task_id)) for task_id, told in run.followers.told.items()}
    by_themselves = tuple(run.crew.ended_by_themselves)
    failed = (*run.doors.failed, *run.followers.broken)
    doubts, unforeseen = frozenset(run.people.resolved), tuple(run.people.unforeseen)
    return Rolled(failed, streams, tuple(run.roller.restarts), by_themselves, doubts, unforeseen)


async def _views(run: Run) -> dict[str, TaskView]:
    """Every accepted task as the gateway shows it."""
    gate = asyncio.Semaphore(_VIEWS_AT_ONCE)

    async def look(task_id: str) -> TaskView:
        async with gate:
            return await run.doors.view(task_id, CLERK)

    ids = [task.task_id for _, task in run.load.accepted()]
    async with asyncio.timeout(SETTLE_SECONDS):
        found = await asyncio.gather(*(look(task_id) for task_id in ids), return_exceptions=True)
    return {task_id: view for task_id, view in zip(ids, found, strict=True) if isinstance(view, TaskView)}
