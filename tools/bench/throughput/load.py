"""Questions, so many at once, each in a session of its own and followed as a stream until it has ended."""

import asyncio
import json
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from random import Random
from time import perf_counter
from typing import NamedTuple

from cli.console import CommandError, err
from cli.launcher import Stack
from shared.domain.exact_json import Json, to_exact
from tools.bench.gateway.client import BenchConnection, encode_request, open_connections
from tools.bench.throughput.subjects import Latency, Subject, measure_least_share, other_agents, our_stack
from tools.chaos.chaos_tasks import ChaosTaskKind, make_task
from tools.chaos.ledgers import plant_rows

_WARM = 8
_FEW_SLOTS = 16  # of an executor, where slots are what bounds it
_LOOK_SECONDS, _QUIET_SECONDS = 0.5, 3.0
_SLOTS = 100_000  # sessions of an executor, where slots are not what bounds it


class LoadCell(NamedTuple):
    """``latency``: of the model, in seconds. ``tasks`` in all, ``at_once`` of them at a time."""

    latency: float
    at_once: int
    tasks: int


class CellFigures(NamedTuple):
    """``memory_mb``: resident, of the processes that hold the tasks, at its most. ``cpu_ms``: a task, all processes.

    ``cpu_percent``: of the machine's cores. ``idle_percent``: of a core, of the workers, in the quietest seconds.
    """

    subject: str
    latency: float
    at_once: int
    tasks: int
    a_second: float
    p50_ms: float
    p95_ms: float
    memory_mb: float
    cpu_ms: float
    cpu_percent: float
    idle_percent: float | None

    def as_json(self) -> Json:
        return {
            name: to_exact(round(value, 2) if isinstance(value, float) else value)
            for name, value in self._asdict().items()
        }


class ThroughputPlan(NamedTuple):
    """``speeds``: at no latency, beside the others. ``bound``: tasks at 1 s by one and by two executors of few slots.

    ``held``: tasks that one executor holds at 30 s. None is measured where there is none.
    """

    speeds: Sequence[LoadCell]
    bound: int
    held: int
    langgraph: bool = True


async def measure(plan: ThroughputPlan, cores: int) -> list[CellFigures]:
    """Raises ``CommandError`` if something does not start, or a task does not end as it should."""
    found = await _measure_speeds(plan, cores) if plan.speeds else []
    for executors in (1, 2) if plan.bound else ():
        cell = LoadCell(1.0, _FEW_SLOTS * 2 * executors, plan.bound * executors)
        found.append(await _measure_ours(cell, Latency(cell.latency, _FEW_SLOTS), executors, cores))
    if plan.held:
        found.append(await _measure_ours(LoadCell(30.0, plan.held, plan.held), Latency(30.0, _SLOTS), 1, cores))
    return found


async def _measure_speeds(plan: ThroughputPlan, cores: int) -> list[CellFigures]:
    """All subjects run beside each other and take turns."""
    found: list[CellFigures] = []
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        async with our_stack(Path(folder), Latency(0.0, _SLOTS), 1) as (ours, stack):
            company = next(child.spec.url for child in stack.children if child.spec.name == "company")
            async with other_agents(f"{company}/mcp", 0.0, langgraph=plan.langgraph) as others:
                subjects = (ours, *others)
                texts = _plant(stack, (sum(cell.tasks for cell in plan.speeds) + _WARM) * len(subjects))
                for subject in subjects:
                    await _play(subject, LoadCell(0.0, 1, _WARM), texts, cores)
                for cell in plan.speeds:
                    found += [await _play(subject, cell, texts, cores) for subject in subjects]
    return found


async def _measure_ours(cell: LoadCell, latency: Latency, executors: int, cores: int) -> CellFigures:
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        async with our_stack(Path(folder), latency, executors) as (ours, stack):
            return await _play(ours, cell, _plant(stack, cell.tasks), cores)


def _plant(stack: Stack, tasks: int) -> Iterator[str]:
    """The texts of so many questions, whose rows stand in the company's books."""
    made = [make_task(ChaosTaskKind.QUESTION, number, Random(number)) for number in range(tasks)]  # noqa: S311  amounts
    plant_rows(stack.options.company_database, [row for one in made for row in one.rows])
    return (one.text for one in made)


async def _play(subject: Subject, cell: LoadCell, texts: Iterator[str], cores: int) -> CellFigures:
    waiting = iter(list(islice(texts, cell.tasks)))
    took = list[float]()
    most = [0.0]
    done = asyncio.Event()

    async def one_after_another(connection: BenchConnection) -> None:
        for text in waiting:
            began = perf_counter()
            answer = await connection.ask(_request(text))
            if b"TASK_STATE_COMPLETED" not in answer:
                raise CommandError(
                    f"{subject.name}: {text!r} did not end well.", answer[-500:].decode(errors="replace")
                )
            took.append((perf_counter() - began) * 1000)

    async def watch_memory() -> None:
        while not done.is_set():
            most[0] = max(most[0], subject.memory_mb())
            await asyncio.sleep(_LOOK_SECONDS)

    async with open_connections(subject.port, cell.at_once) as connections:
        with err.status(f"{subject.name}: {cell.tasks} tasks, {cell.at_once} at once, model {cell.latency:g} s ..."):
            async with asyncio.TaskGroup() as group:
                group.create_task(watch_memory())
                quiet = group.create_task(measure_least_share(subject.workers, _QUIET_SECONDS, _LOOK_SECONDS, done))
                spent, began = subject.cpu_ms(), perf_counter()
                await asyncio.gather(*map(one_after_another, connections))
                seconds, spent = perf_counter() - began, subject.cpu_ms() - spent
                done.set()
    cuts = statistics.quantiles(took, n=20) if len(took) > 1 else took * 19
    share = spent / (10 * seconds * cores)
    speed = cell.tasks / seconds
    of_task = spent / cell.tasks
    return CellFigures(subject.name, *cell, speed, cuts[9], cuts[18], most[0], of_task, share, quiet.result())


_NAMES = count()


def _request(text: str) -> bytes:
    message = {"messageId": f"m{next(_NAMES)}", "role": "ROLE_USER", "parts": [{"text": text}]}
    params = {"message": message}
    return encode_request(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params}).encode()
    )
