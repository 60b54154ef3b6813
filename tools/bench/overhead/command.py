"""`purple bench overhead`: what a task costs beside the model and the tools."""

import asyncio
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.table import Table

from cli.console import err, out, print_json
from shared.domain.exact_json import Json, dumps, to_exact
from shared.domain.words import Strategy
from tools.bench.floor.yardstick import FloorCosts
from tools.bench.overhead.load import OverheadFigures, measure_overhead

OURS = ("gateway", "executor", "policy", "learner", "redis", "queue")  # the company stands for others' costs
TARGETS = {"read": 12.0, "write": 25.0}  # CPU milliseconds of all that is ours, a task
SLOW_TARGETS = {
    "read": 16.0,
    "write": 32.0,
}  # the same, where a call by the official SDK costs more than ``QUICK_SDK_MS``
QUICK_SDK_MS = 1.0
ROUND_TRIPS = {"read": 12.0, "write": 22.0}  # to the state's Redis, of all processes
LOG_BYTES = {"read": 12_000.0, "write": 25_000.0}
TIMES_THE_FLOOR = 3.0  # on the clock, one at a time

IDLE_COMMANDS = 100.0  # of both Redis, a second in which nothing is asked

_FLOOR_ROWS = {"CPU ms": "cpu_ms", "round trips": "round_trips", "bytes of log": "log_bytes", "p50 ms": "p50_ms"}


def overhead_command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
    tasks: Annotated[int, typer.Option(help="How many tasks of each kind.", min=1, max=5_000)] = 100,
    at_once: Annotated[int, typer.Option(help="How many of them at once.", min=1, max=200)] = 4,
    strategy: Annotated[Strategy, typer.Option(help="How the worker thinks.")] = Strategy.FSM,
) -> None:
    """What a task costs beside model and tools: CPU time by process, Redis' round trips, memory and log.

    CPU time is measured: a busy machine spoils it little. The floor, beside it in turns in the same run, is the least
    that a worker of the same durability can cost; what is ours divided by it is steady on any machine. A call of a
    model by the official SDK, in the same run too, tells how quick the machine is: where it takes more than 1 ms of
    CPU, a read may take 16 ms in place of 12, and a write 32 in place of 25.

    Examples:

      purple bench overhead

      purple bench overhead --tasks 300 --at-once 8 --json
    """
    measured = asyncio.run(measure_overhead(tasks, at_once, strategy.value))
    missed = missed_targets(measured)
    if as_json:
        print_json(dumps({**_as_json(measured), "missed": list(missed)}))
    else:
        out.print(_table(measured))
    if missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


def cpu_targets(sdk_ms: float) -> Mapping[str, float]:
    """CPU milliseconds of a task by kind, at most, on a machine where a call by the official SDK costs ``sdk_ms``."""
    return TARGETS if sdk_ms <= QUICK_SDK_MS else SLOW_TARGETS


def missed_targets(measured: OverheadFigures) -> tuple[str, ...]:
    ours = {name: sum(costs.cpu_ms[part] for part in OURS) for name, costs in measured.kinds.items()}
    missed = list[str]()
    for name, most in cpu_targets(measured.sdk_ms).items():
        costs = measured.kinds[name]
        figures = (
            ("ms of CPU", ours[name], most),
            ("round trips", costs.redis_round_trips, ROUND_TRIPS[name]),
            ("bytes of log", costs.redis_log_bytes, LOG_BYTES[name]),
        )
        missed += [
            f"{name}: {is_:,.0f} {what} a task, target at most {top:,.0f}" for what, is_, top in figures if is_ > top
        ]
    for name, floor in measured.floor.items():
        times = measured.p50_ms[name] / floor.p50_ms
        if times > TIMES_THE_FLOOR:
            missed.append(
                f"{name}: {times:.1f} times the floor's time on the clock, target at most {TIMES_THE_FLOOR:g}"
            )
    idle = measured.idle.redis_commands + measured.idle.queue_commands
    if idle > IDLE_COMMANDS:
        missed.append(f"idle: {idle:.0f} Redis commands a second, target at most {IDLE_COMMANDS:.0f}")
    return tuple(missed)


def _as_json(measured: OverheadFigures) -> dict[str, Json]:
    kinds: dict[str, Json] = {
        name: {
            **costs.as_json(),
            "cpu_ms_ours": to_exact(round(sum(costs.cpu_ms[part] for part in OURS), 1)),
            "tasks_a_second": to_exact(round(measured.a_second[name], 1)),
            "p50_ms": to_exact(round(measured.p50_ms[name], 1)),
            "floor": _floor_json(measured.floor.get(name)),
        }
        for name, costs in measured.kinds.items()
    }
    return {
        "tasks": measured.tasks,
        "at_once": measured.at_once,
        "sdk_call_ms": to_exact(round(measured.sdk_ms, 2)),
        "idle_second": measured.idle.as_json(),
        "task": kinds,
    }


def _floor_json(floor: FloorCosts | None) -> Json:
    return to_exact({name: round(value, 2) for name, value in floor._asdict().items()}) if floor else None


def _table(measured: OverheadFigures) -> Table:
    title = f"overhead: a task ({measured.tasks} of each kind, {measured.at_once} at once), and an idle second"
    table = Table("figure", *(name.replace("_", " ") for name in measured.kinds), "idle second", title=title)
    columns = [*measured.kinds.values(), measured.idle]
    for part in measured.idle.cpu_ms:
        beside = "" if part in OURS else " (not ours)"
        table.add_row(f"CPU ms, {part}{beside}", *(f"{costs.cpu_ms[part]:.1f}" for costs in columns))
    ours = [sum(costs.cpu_ms[part] for part in OURS) for costs in columns]
    table.add_row("CPU ms, all that is ours", *(f"{value:.1f}" for value in ours), style="bold")
    for figure in measured.idle._fields[1:]:
        table.add_row(figure.replace("_", " "), *(f"{getattr(costs, figure):,.0f}" for costs in columns))
    table.add_row("p50 ms on the clock, one at a time", *(f"{value:.0f}" for value in measured.p50_ms.values()))
    floors = [measured.floor.get(name) for name in measured.kinds]
    for label, field in _FLOOR_ROWS.items():
        table.add_row(f"the floor's {label}", *(f"{getattr(one, field):,.1f}" if one else "" for one in floors))
    times = [value / one.cpu_ms if one else None for value, one in zip(ours, floors, strict=False)]
    bounds = cpu_targets(measured.sdk_ms)
    table.add_row("CPU ms, target", *(f"{bounds[name]:.0f}" if name in bounds else "" for name in measured.kinds))
    table.add_row("CPU ms, a call by the official SDK", f"{measured.sdk_ms:.2f}")
    table.add_row("CPU, times the floor's", *(f"{value:.1f}" if value else "" for value in times), style="bold")
    return table
