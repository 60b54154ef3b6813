"""A burst of one tenant's tasks on a stack of its own, and another tenant's trivial tasks beside it."""

import asyncio
import os
import statistics
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple, cast

import httpx
from redis.asyncio import Redis

from cli.console import CommandError, err
from cli.gateway.client import GatewayClient, build_path
from cli.gateway.messages import OutgoingMessage, Speaker
from cli.launcher import Stack, run_stack
from cli.stack.plan import StackOptions, find_free_ports
from services.gateway.first_key import create_first_key
from shared.domain.exact_json import Json, loads_object, to_exact
from shared.infra.installation import InstallationGaugeReader
from shared.infra.redis import connect
from shared.infra.tls import load_client_tls_context
from tools.bench.overhead.spending import cpu_ms
from tools.chaos.chaos_tasks import ChaosTask, ChaosTaskKind, make_task
from tools.chaos.ledgers import plant_rows

_FLOOD, _QUIET = "default", "quiet"
_NOT_ITS_OWN = ("REDIS_URL", "QUEUE_REDIS_URL", "GREEN_AGENT_MCP_URL", "TENANT_FILE", "PURPLE_AGENT_CARD_URL")
_MODEL = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "STRATEGIES")
_SPEAKER = Speaker("")  # the keys say who speaks
_TRIVIAL = "What is 12 plus 30?"
_WARM = 10  # tasks before the burst
_LINES = 500  # connections of the burst's clients
_LOOK_SECONDS = 0.1
_DRAIN_SECONDS = 1800.0
_LONGEST_SECONDS = 30.0  # for which one of the quiet tenant's tasks is waited for
_QUIET_PAUSE = 0.5


class BurstPlan(NamedTuple):
    """``capacity``: sessions of each executor. ``most_waiting``: the gateway's limit; 0 for its default."""

    tasks: int
    executors: int
    capacity: int
    most_waiting: int = 0


class QuietTask(NamedTuple):
    """One trivial task of the other tenant: seconds from its acceptance until it was begun, and until it ended."""

    begun: float
    ended: float


class BurstFigures(NamedTuple):
    """``slots_used``: of all slots of all executors, as a mean over the time in which tasks waited. ``cores_used``: CPU
    time of all executors until the burst had drained, by one core for each.

    ``warnings``: events that executors and gateway wrote as warnings or errors meanwhile, and how often.
    """

    sent: int
    accepted: int
    refused: int
    seconds_to_send: float
    seconds_to_drain: float
    wakes_a_task: float
    slots_used: float
    cores_used: float
    most_waiting: int
    quiet_tasks: int
    quiet_begun_median: float
    quiet_begun_most: float
    quiet_ended_most: float
    warnings: Mapping[str, int]

    def as_json(self) -> dict[str, Json]:
        return {
            name: to_exact(round(value, 2) if isinstance(value, float) else value)
            for name, value in self._asdict().items()
        }


async def measure_burst(plan: BurstPlan) -> BurstFigures:
    """Raises ``CommandError`` if the stack cannot be had; ``TimeoutError`` if the burst does not drain."""
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        async with run_stack(_options(Path(folder), plan)) as stack, _redis_of(stack) as (state, queue):
            flood, quiet = await _headers(stack, _FLOOD), await _headers(stack, _QUIET)
            lines = httpx.Limits(max_connections=_LINES)
            async with (
                httpx.AsyncClient(
                    trust_env=False,
                    limits=lines,
                    headers=flood,
                    verify=load_client_tls_context(),
                ) as flooding,
                httpx.AsyncClient(
                    trust_env=False,
                    headers=quiet,
                    verify=load_client_tls_context(),
                ) as asking,
            ):
                return await _Burst(stack, state, queue, plan, flooding, asking).measure()


def _options(folder: Path, plan: BurstPlan) -> StackOptions:
    kept = {name: value for name, value in os.environ.items() if name not in (*_NOT_ITS_OWN, *_MODEL)}
    own = {
        "AUTHENTICATION": "keys",
        "RATE_REQUESTS": "0",
        "RATE_MESSAGES": "0",
        "EXECUTOR_CAPACITY": str(plan.capacity),
    }
    if plan.most_waiting:
        own["MAX_WAITING_SESSIONS"] = str(plan.most_waiting)
    return StackOptions(folder, {**kept, **own}, port=find_free_ports(1)[0], executors=plan.executors)


@asynccontextmanager
async def _redis_of(stack: Stack) -> AsyncIterator[tuple[Redis, Redis]]:
    state = connect(stack.redis_url)
    queue = connect(stack.queue.url if stack.queue else stack.redis_url)
    try:
        yield state, queue
    finally:
        await state.aclose()
        await queue.aclose()


async def _headers(stack: Stack, tenant: str) -> Mapping[str, str]:
    made = await create_first_key(stack.redis_url, tenant, "bench", allows_another=False)
    return {"Authorization": f"Bearer {made.token}"}


class _Burst:
    def __init__(
        self,
        stack: Stack,
        state: Redis,
        queue: Redis,
        plan: BurstPlan,
        flooding: httpx.AsyncClient,
        asking: httpx.AsyncClient,
    ) -> None:
        self._stack = stack
        self._queue = queue
        self._plan = plan
        self._flood = GatewayClient(stack.get_url("gateway"), flooding)
        self._quiet = GatewayClient(stack.get_url("gateway"), asking)
        self._installation = InstallationGaugeReader(state)
        self._drained = asyncio.Event()
        self._used: list[float] = []
        self._most_waiting = 0

    async def measure(self) -> BurstFigures:
        record: dict[str, Json] = {"id": _QUIET, "version": "0", "time_zone": "UTC", "unruled_writes": "allow"}
        await self._quiet.request_json("PUT", build_path("tenants", _QUIET, "record"), {"record": record})
        tasks = self._make_tasks(_WARM + self._plan.tasks)
        for one in [tasks.pop() for _ in range(_WARM)]:  # what only the first tasks cost
            await _send_and_await_end(self._flood, one.text)
        clock, wakes = asyncio.get_running_loop().time, await self._count_wakes()
        began, spent = clock(), self._executors_cpu()
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(self._ask_quiet_tasks())
            with err.status(f"{len(tasks)} tasks at once ..."):
                taken = sum(await asyncio.gather(*(self._send(one) for one in tasks)))
                sent = clock() - began
                await self._await_drain()
            self._drained.set()
        drained, quiet = clock() - began, asking.result()
        spent = self._executors_cpu() - spent
        wakes = await self._count_wakes() - wakes
        return BurstFigures(
            sent=len(tasks),
            accepted=taken,
            refused=len(tasks) - taken,
            seconds_to_send=sent,
            seconds_to_drain=drained,
            wakes_a_task=wakes / (taken + len(quiet)),
            slots_used=statistics.fmean(self._used) if self._used else 0.0,
            cores_used=spent / drained / self._plan.executors,
            most_waiting=self._most_waiting,
            quiet_tasks=len(quiet),
            quiet_begun_median=statistics.median(one.begun for one in quiet),
            quiet_begun_most=max(one.begun for one in quiet),
            quiet_ended_most=max(one.ended for one in quiet),
            warnings=_count_warnings(self._stack.logs),
        )

    def _make_tasks(self, count: int) -> list[ChaosTask]:
        tasks = [make_task(ChaosTaskKind.QUESTION, number, Random(number)) for number in range(count)]  # noqa: S311  amounts
        plant_rows(self._stack.options.company_database, [row for one in tasks for row in one.rows])
        return tasks

    async def _send(self, one: ChaosTask) -> bool:
        """Whether the task was accepted."""
        try:
            await self._flood.send_message(OutgoingMessage(one.text, _SPEAKER))
        except CommandError:
            return False
        return True

    async def _ask_quiet_tasks(self) -> list[QuietTask]:
        """The quiet tenant asks one thing after another until the burst has drained; it sends again what is refused."""
        asked: list[QuietTask] = []
        while not (self._drained.is_set() and asked):
            try:
                async with asyncio.timeout(_LONGEST_SECONDS):
                    asked.append(await _ask_quiet_task(self._quiet))
            except TimeoutError:
                asked.append(QuietTask(_LONGEST_SECONDS, _LONGEST_SECONDS))
            except CommandError as refused:
                err.print(str(refused), style="dim")
            await asyncio.sleep(_QUIET_PAUSE)
        return asked

    async def _await_drain(self) -> None:
        """Looks now and then how many sessions wait and how many are worked on, until none is left."""
        slots = self._plan.executors * self._plan.capacity
        async with asyncio.timeout(_DRAIN_SECONDS):
            while True:
                now = await self._installation.read_gauges()
                waiting = now.sessions_due + now.sessions_put_off
                self._most_waiting = max(self._most_waiting, waiting)
                if waiting:
                    self._used.append(now.sessions_leased / slots)
                elif not now.sessions_leased:
                    return
                await asyncio.sleep(_LOOK_SECONDS)

    def _executors_cpu(self) -> float:
        """Seconds that the executors have spent so far."""
        executors = [one for one in self._stack.children if one.spec.name.startswith("executor-")]
        return sum(cpu_ms(one.pid) for one in executors) / 1000

    async def _count_wakes(self) -> int:
        """How often the doorbell rang: once for each session that was put into the queue."""
        said = cast("Mapping[str, Mapping[str, int]]", await self._queue.info("commandstats"))
        return int(said.get("cmdstat_rpush", {}).get("calls", 0))


async def _send_and_await_end(client: GatewayClient, text: str) -> None:
    task = await client.send_message(OutgoingMessage(text, _SPEAKER))
    async for _ in client.stream_events(task.id):
        pass


async def _ask_quiet_task(client: GatewayClient) -> QuietTask:
    task = await client.send_message(OutgoingMessage(_TRIVIAL, _SPEAKER))
    events = [event async for event in client.stream_events(task.id)]
    accepted, begun = events[0].at, next(event.at for event in events if event.kind != "submitted")
    return QuietTask((begun - accepted).total_seconds(), (events[-1].at - accepted).total_seconds())


def _count_warnings(logs: Path) -> Mapping[str, int]:
    counted: Counter[str] = Counter()
    for path in (*logs.glob("executor-*.log"), *logs.glob("gateway.log")):
        for line in path.read_text(errors="replace").splitlines():
            said = loads_object(line) if line.startswith("{") else {}
            if said.get("level") in ("warning", "error"):
                counted[f"{path.stem}: {said.get('event')}"] += 1
    return dict(counted.most_common(20))
