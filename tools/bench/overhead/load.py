"""Tasks of one kind after another on a stack of their own, whose model is the rule-based planner at no latency."""

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple, cast

from redis.asyncio import Redis

from cli.console import Complaint, err
from cli.gateway.client import GatewayClient, connect_gateway
from cli.gateway.live import follow
from cli.gateway.messages import Speaker, Utterance
from cli.launcher import Stack, running
from cli.stack.free_ports import free_ports
from cli.stack.plan import StackOptions
from shared.domain.words import Strategy
from shared.infra import keys
from shared.infra.redis import connect
from tools.bench.overhead.spending import Costs, Spent, a_task, idle_second, read_spending
from tools.chaos.chaos_tasks import ChaosTask, ChaosTaskKind, make_task
from tools.chaos.ledgers import plant

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


class Measured(NamedTuple):
    """``a_second``: tasks a second at this load on this machine, which says more of the machine than of the product."""

    tasks: int
    at_once: int
    idle: Costs
    kinds: Mapping[str, Costs]
    a_second: Mapping[str, float]


async def overhead(tasks: int, at_once: int, strategy: str) -> Measured:
    """Raises ``Complaint`` if the stack cannot be had, or a task does not end as it should."""
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        async with (
            running(stack_options(Path(folder), strategy)) as stack,
            connect_gateway(stack.url("gateway")) as client,
        ):
            state, queue = connect(stack.redis_url), connect(stack.queue.url if stack.queue else stack.redis_url)
            try:
                return await _Load(stack, client, state, queue, at_once).measure(tasks)
            finally:
                await state.aclose()
                await queue.aclose()


def stack_options(folder: Path, strategy: str = Strategy.FSM) -> StackOptions:
    """A stack of its own beside whatever the environment names."""
    kept = {name: value for name, value in os.environ.items() if name not in (*_NOT_ITS_OWN, *_MODEL)}
    return StackOptions(folder, {**kept, "STRATEGIES": strategy}, port=free_ports(1)[0])


def _plant_tasks(database: Path, each: int) -> Mapping[ChaosTaskKind, list[ChaosTask]]:
    """So many errands of each kind, with the rows that they need in the company's books."""
    numbers = iter(range(each * len(KINDS)))
    made = {
        kind: [make_task(kind, number, Random(number)) for number in islice(numbers, each)]  # noqa: S311  amounts
        for kind in KINDS.values()
    }
    plant(database, [row for errands in made.values() for one in errands for row in one.rows])
    return made


class _Load:
    def __init__(self, stack: Stack, client: GatewayClient, state: Redis, queue: Redis, at_once: int) -> None:
        self._stack, self._client, self._state, self._queue = stack, client, state, queue
        self._at_once = at_once
        self._number = 0
        self._planted: Mapping[ChaosTaskKind, list[ChaosTask]] = {}

    async def measure(self, tasks: int) -> Measured:
        self._planted = _plant_tasks(self._stack.options.company_database, _WARM + tasks)
        kinds: dict[str, Costs] = {}
        a_second: dict[str, float] = {}
        for kind in KINDS.values():
            await self._carry_out(kind, _WARM)
        before = await self._read_spent()
        await asyncio.sleep(_IDLE_SECONDS)  # what nothing costs
        idle = idle_second(before, await self._read_spent())
        for name, kind in KINDS.items():
            with err.status(f"{tasks} tasks: {name} ..."):
                before = await self._read_spent()
                ended = await self._carry_out(kind, tasks)
                kinds[name] = a_task(before, await self._read_spent(), idle, tasks)
                a_second[name] = tasks / (ended - before.at)
        return Measured(tasks, self._at_once, idle, kinds, a_second)

    async def _read_spent(self) -> Spent:
        return await read_spending(self._stack, self._state, self._queue, asyncio.get_running_loop().time())

    async def _carry_out(self, kind: ChaosTaskKind, tasks: int) -> float:
        """When the last of them ended; returns when they are archived and learned too."""
        self._number += tasks
        waiting = iter([self._planted[kind].pop() for _ in range(tasks)])
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._at_once):
                    group.create_task(self._one_after_another(waiting))
        except* Complaint as problems:
            raise Complaint(str(problems.exceptions[0])) from problems
        ended = asyncio.get_running_loop().time()
        async with asyncio.timeout(_SETTLED_SECONDS):
            while await self._count_unsettled():  # noqa: ASYNC110  # what other processes do
                await asyncio.sleep(_LOOK_SECONDS)
        return ended

    async def _one_after_another(self, waiting: Iterator[ChaosTask]) -> None:
        for each in waiting:
            view, _ = await follow(self._client, Utterance(each.text, Speaker("casey")), None)
            if view.state != "completed":
                raise Complaint(f"{each.text!r} ended {view.state}: {view.answer}")

    async def _count_unsettled(self) -> int:
        """Ended tasks that are still to be archived or learned."""
        async with self._state.pipeline(transaction=False) as pipe:
            for partition in keys.all_partitions():
                pipe.zcard(partition.unarchived)
            pipe.hget(keys.learned_keys(_TENANT).counts, "events")
            *unarchived, learned = cast("list[int | str | None]", await pipe.execute())
        return sum(int(count or 0) for count in unarchived) + self._number - int(learned or 0)
