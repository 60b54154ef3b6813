"""Tasks of one kind after another on a stack with a canned model at no latency; in turns with it, the floor."""

import asyncio
import os
import statistics
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from cli.console import CommandError, err
from cli.gateway.client import GatewayClient, connect_gateway
from cli.gateway.messages import OutgoingMessage, Speaker
from cli.launcher import Stack, run_stack
from cli.stack.plan import StackOptions, find_free_ports
from shared.domain.words import Strategy
from shared.infra import keys
from shared.infra.redis import connect
from shared.infra.stored_tasks import parse_task_events
from tools.bench.canned.running_model import canned_model, model_environment
from tools.bench.floor.yardstick import FloorCosts, FloorProcess, start_floor
from tools.bench.overhead.spending import Asked, Costs, Spent, idle_costs, mean_costs, read_spending, task_costs
from tools.chaos.chaos_tasks import ChaosTask, ChaosTaskKind, make_task
from tools.chaos.ledgers import plant_rows

KINDS: Mapping[str, ChaosTaskKind] = {
    "read": ChaosTaskKind.QUESTION,
    "write": ChaosTaskKind.CLAIM,
    "write_and_notice": ChaosTaskKind.CLAIM_AND_NOTICE,
}
_NOT_ITS_OWN = ("REDIS_URL", "QUEUE_REDIS_URL", "GREEN_AGENT_MCP_URL", "TENANT_FILE", "PURPLE_AGENT_CARD_URL")
_MODEL = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "STRATEGIES")
_IDLE_SECONDS = 30.0  # the slowest sweeps come once in so long
_WARM = 10  # tasks before the first that is counted
_SETTLED_SECONDS, _LOOK_SECONDS = 60.0, 0.25
_TENANT = "default"
_ROUNDS = 3  # of the stack and of the floor, in turns
_ALONE = 10  # tasks one at a time, for the time on the clock
_SDK_CALLS = 50  # after each round
_BY_FLOOR = ("read", "write")


class OverheadFigures(NamedTuple):
    """``a_second``: tasks a second at this load on this machine, which says more of the machine than of the product.

    ``floor``: the least that a durable worker can cost, in the same run. ``p50_ms``: on the clock, one at a time.
    ``sdk_ms``: CPU of a call of a model by the official SDK, in turns with the rounds; 0 if it was not measured.
    """

    tasks: int
    at_once: int
    idle: Costs
    kinds: Mapping[str, Costs]
    a_second: Mapping[str, float]
    p50_ms: Mapping[str, float] = {}
    floor: Mapping[str, FloorCosts] = {}
    sdk_ms: float = 0.0


class RoundCosts(NamedTuple):
    """``seconds``: until the last of its tasks ended."""

    tasks: int
    seconds: float
    of_task: Costs


async def measure_overhead(tasks: int, at_once: int, strategy: str) -> OverheadFigures:
    """Raises ``CommandError`` if the stack cannot be had, or a task does not end as it should."""
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        async with AsyncExitStack() as open_:
            model = await open_.enter_async_context(canned_model())
            options = stack_options(Path(folder) / "stack", strategy, model_environment(model))
            stack = await open_.enter_async_context(run_stack(options))
            company = next(child.spec.url for child in stack.children if child.spec.name == "company")
            at = start_floor(Path(folder) / "floor", model, urlsplit(company).port or 0)
            floor = await open_.enter_async_context(at)
            client = await open_.enter_async_context(connect_gateway(stack.get_url("gateway")))
            state = connect(stack.redis_url)
            queue = connect(stack.queue.url if stack.queue else stack.redis_url)
            open_.push_async_callback(state.aclose)
            open_.push_async_callback(queue.aclose)
            return await _OverheadLoad(stack, client, state, queue, floor, at_once).measure(tasks)


def stack_options(folder: Path, strategy: str = Strategy.FSM, model: Mapping[str, str] | None = None) -> StackOptions:
    """A stack of its own beside whatever the environment names; ``model``: what its model needs, else the planner."""
    kept = {name: value for name, value in os.environ.items() if name not in (*_NOT_ITS_OWN, *_MODEL)}
    return StackOptions(folder, {**kept, "STRATEGIES": strategy, **(model or {})}, port=find_free_ports(1)[0])


def _plant_tasks(database: Path, each: int) -> Mapping[ChaosTaskKind, list[ChaosTask]]:
    """So many errands of each kind, with the rows that they need in the company's books."""
    numbers = iter(range(each * len(KINDS)))
    made = {
        kind: [make_task(kind, number, Random(number)) for number in islice(numbers, each)]  # noqa: S311  amounts
        for kind in KINDS.values()
    }
    plant_rows(database, [row for tasks in made.values() for one in tasks for row in one.rows])
    return made


class _OverheadLoad:
    def __init__(
        self, stack: Stack, client: GatewayClient, state: Redis, queue: Redis, floor: FloorProcess, at_once: int
    ) -> None:
        self._stack = stack
        self._client = client
        self._state = state
        self._queue = queue
        self._floor, self._at_once = floor, at_once
        self._asked = Asked()
        self._ends: dict[str, asyncio.Future[str]] = {}
        self._number = 0
        self._planted: Mapping[ChaosTaskKind, list[ChaosTask]] = {}

    async def measure(self, tasks: int) -> OverheadFigures:
        async with self.listening():
            return await self._measure(tasks)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Inside, it is heard when tasks end. Nobody follows them: that would cost round trips which are not theirs."""
        async with self._state.pubsub() as heard:
            await heard.psubscribe(f"pa:*:t:{_TENANT}:*:events")
            listening = asyncio.create_task(self._note_ends(heard))
            try:
                yield
            finally:
                listening.cancel()

    async def _note_ends(self, heard: PubSub) -> None:
        async for message in heard.listen():
            if message["type"] != "pmessage":
                continue
            entry_id, _, entry = str(message["data"]).partition("\n")
            for _, event in parse_task_events(entry_id, entry):
                if event.kind == "turn_finished":
                    self._future_end(str(message["channel"]).split(":")[-2]).set_result(str(event.data["state"]))

    def _future_end(self, task_id: str) -> "asyncio.Future[str]":
        return self._ends.setdefault(task_id, asyncio.get_running_loop().create_future())

    async def _measure(self, tasks: int) -> OverheadFigures:
        each = _split_rounds(tasks)
        self._planted = _plant_tasks(self._stack.options.company_database, 2 * (_WARM + tasks + _ALONE))
        for kind in KINDS.values():
            await self._carry_out(kind, _WARM)
        before = await self._read_spent()
        await asyncio.sleep(_IDLE_SECONDS)  # what nothing costs
        idle = idle_costs(before, await self._read_spent())
        kinds: dict[str, Costs] = {}
        a_second: dict[str, float] = {}
        p50: dict[str, float] = {}
        floors: dict[str, FloorCosts] = {}
        sdk = list[float]()
        for name, kind in KINDS.items():
            with err.status(f"{tasks} tasks: {name} ..."):
                ours, floor = list[RoundCosts](), list[FloorCosts]()
                if name in _BY_FLOOR:
                    await self._play_floor(kind, _WARM, self._at_once)
                for count in each:
                    ours.append(await self._measure_round(kind, count, idle))
                    floor += [await self._play_floor(kind, count, self._at_once)] if name in _BY_FLOOR else []
                    sdk.append(await self._floor.measure_sdk_call(_SDK_CALLS))
                kinds[name] = mean_costs([(costs.of_task, costs.tasks) for costs in ours])
                a_second[name] = tasks / sum(costs.seconds for costs in ours)
                p50[name] = await self._time_alone(kind)
                if floor:
                    alone = await self._play_floor(kind, _ALONE, 1)
                    floors[name] = _mean_floor(floor)._replace(p50_ms=alone.p50_ms)
        return OverheadFigures(tasks, self._at_once, idle, kinds, a_second, p50, floors, statistics.median(sdk))

    async def _measure_round(self, kind: ChaosTaskKind, tasks: int, idle: Costs) -> "RoundCosts":
        before = await self._read_spent()
        ended = await self._carry_out(kind, tasks)
        return RoundCosts(tasks, ended - before.at, task_costs(before, await self._read_spent(), idle, tasks))

    async def _play_floor(self, kind: ChaosTaskKind, tasks: int, at_once: int) -> FloorCosts:
        waiting = [self._planted[kind].pop() for _ in range(tasks)]
        return await self._floor.play({str(one.rows[0].cells["id"]): one.text for one in waiting}, at_once)

    async def _time_alone(self, kind: ChaosTaskKind) -> float:
        """Milliseconds of a task that nothing runs beside: the median."""
        took = list[float]()
        for _ in range(_ALONE):
            began = perf_counter()
            await self._one_after_another(iter([self._planted[kind].pop()]))
            took.append((perf_counter() - began) * 1000)
        self._number += _ALONE
        return statistics.median(took)

    async def _read_spent(self) -> Spent:
        spent = await read_spending(self._stack, self._state, self._queue, asyncio.get_running_loop().time())
        return spent.subtract(self._asked)

    async def _carry_out(self, kind: ChaosTaskKind, tasks: int) -> float:
        """When the last of them ended; returns when they are archived and learned too."""
        self._number += tasks
        waiting = iter([self._planted[kind].pop() for _ in range(tasks)])
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._at_once):
                    group.create_task(self._one_after_another(waiting))
        except* CommandError as problems:
            raise CommandError(str(problems.exceptions[0])) from problems
        ended = asyncio.get_running_loop().time()
        async with asyncio.timeout(_SETTLED_SECONDS):
            while await self._count_unsettled():  # noqa: ASYNC110  # what other processes do
                await asyncio.sleep(_LOOK_SECONDS)
        return ended

    async def _one_after_another(self, waiting: Iterator[ChaosTask]) -> None:
        for each in waiting:
            accepted = await self._client.send_message(OutgoingMessage(each.text, Speaker("casey")))
            async with asyncio.timeout(_SETTLED_SECONDS):
                state = await self._future_end(accepted.id)
            if state != "completed":
                raise CommandError(f"{each.text!r} ended {state}")

    async def _count_unsettled(self) -> int:
        """Ended tasks that are still to be archived, learned or remembered, or whose facts are to be found."""
        names = keys.learned_keys(_TENANT)
        async with self._state.pipeline(transaction=False) as pipe:
            for partition in keys.all_partitions():
                pipe.zcard(partition.unarchived)
            pipe.zcard(keys.OPEN_FACT_SEARCHES)
            pipe.zcard(names.remembered)
            pipe.hget(names.counts, "events")
            self._asked = self._asked.add_trip(len(pipe))
            *waiting, remembered, learned = cast("list[int | str | None]", await pipe.execute())
        behind = (self._number - int(count or 0) for count in (remembered, learned))
        return sum(int(count or 0) for count in waiting) + sum(behind)


def _split_rounds(tasks: int) -> list[int]:
    """Into rounds of about the same size; none is empty."""
    rounds = min(_ROUNDS, tasks)
    return [tasks // rounds + (number < tasks % rounds) for number in range(rounds)]


def _mean_floor(rounds: list[FloorCosts]) -> FloorCosts:
    return FloorCosts(*(statistics.fmean(values) for values in zip(*rounds, strict=True)))
