"""What the processes of a stack and its Redis have spent so far."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self, cast

from redis.asyncio import Redis

from cli.launcher import Stack
from shared.domain.exact_json import Json, to_exact

_TICKS = os.sysconf("SC_CLK_TCK")


class OfRedis(NamedTuple):
    """Counters of one server since its start; ``reads``: how often it read from a connection (round trips)."""

    cpu_ms: float = 0
    reads: int = 0
    commands: int = 0
    memory_bytes: int = 0
    aof_bytes: int = 0

    @classmethod
    async def read(cls, redis: Redis) -> Self:
        said = cast("Mapping[str, float]", await redis.info("everything"))
        return cls(
            (said["used_cpu_user"] + said["used_cpu_sys"]) * 1000,
            int(said["total_reads_processed"]),
            int(said["total_commands_processed"]),
            int(said["used_memory"]),
            int(said.get("aof_current_size", 0)),
        )


class Asked(NamedTuple):
    """What the bench itself has asked of the state's Redis, to find out when all is done."""

    reads: int = 0
    commands: int = 0

    def add_trip(self, commands: int) -> "Asked":
        """With one more round trip."""
        return Asked(self.reads + 1, self.commands + commands)


class Spent(NamedTuple):
    """CPU time in milliseconds by process, and what its two Redis servers counted."""

    at: float
    cpu_ms: Mapping[str, float]
    state: OfRedis
    queue: OfRedis

    def subtract(self, asked: Asked) -> "Spent":
        """What others have spent: the bench's own questions are no task's."""
        reads, commands = self.state.reads - asked.reads, self.state.commands - asked.commands
        return self._replace(state=self.state._replace(reads=reads, commands=commands))


class Costs(NamedTuple):
    """What one task costs, what an idle second costs taken off."""

    cpu_ms: Mapping[str, float]
    redis_round_trips: float
    redis_commands: float
    redis_memory_bytes: float
    redis_log_bytes: float
    queue_round_trips: float
    queue_commands: float

    def as_json(self) -> dict[str, Json]:
        counted = {name: to_exact(round(value, 1)) for name, value in self._asdict().items() if name != "cpu_ms"}
        return {"cpu_ms": to_exact({name: round(value, 2) for name, value in self.cpu_ms.items()}), **counted}


async def read_spending(stack: Stack, state: Redis, queue: Redis, at: float) -> Spent:
    by_name = {child.spec.name.removesuffix("-1"): cpu_ms(child.pid) for child in stack.children}
    of_state, of_queue = await OfRedis.read(state), await OfRedis.read(queue)
    return Spent(at, {**by_name, "redis": of_state.cpu_ms, "queue": of_queue.cpu_ms}, of_state, of_queue)


def idle_costs(before: Spent, after: Spent) -> Costs:
    return _divide_difference(before, after, after.at - before.at)


def task_costs(before: Spent, after: Spent, idle: Costs, tasks: int) -> Costs:
    whole, seconds = _divide_difference(before, after, 1), after.at - before.at
    cpu = {name: max(0.0, value - idle.cpu_ms[name] * seconds) / tasks for name, value in whole.cpu_ms.items()}
    return Costs(
        cpu,
        (whole.redis_round_trips - idle.redis_round_trips * seconds) / tasks,
        (whole.redis_commands - idle.redis_commands * seconds) / tasks,
        whole.redis_memory_bytes / tasks,
        whole.redis_log_bytes / tasks,
        (whole.queue_round_trips - idle.queue_round_trips * seconds) / tasks,
        (whole.queue_commands - idle.queue_commands * seconds) / tasks,
    )


def mean_costs(rounds: Sequence[tuple[Costs, int]]) -> Costs:
    """Of a task, over rounds of so many tasks each."""
    tasks = sum(count for _, count in rounds)
    cpu = {name: sum(costs.cpu_ms[name] * count for costs, count in rounds) / tasks for name in rounds[0][0].cpu_ms}
    counted = Costs._fields[1:]
    return Costs(cpu, *(sum(getattr(costs, name) * count for costs, count in rounds) / tasks for name in counted))


def _divide_difference(before: Spent, after: Spent, parts: float) -> Costs:
    return Costs(
        {name: (value - before.cpu_ms[name]) / parts for name, value in after.cpu_ms.items()},
        (after.state.reads - before.state.reads) / parts,
        (after.state.commands - before.state.commands) / parts,
        (after.state.memory_bytes - before.state.memory_bytes) / parts,
        (after.state.aof_bytes - before.state.aof_bytes) / parts,
        (after.queue.reads - before.queue.reads) / parts,
        (after.queue.commands - before.queue.commands) / parts,
    )


def cpu_ms(pid: int) -> float:
    """User and system time of a process, to the tick of its kernel (10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / _TICKS
