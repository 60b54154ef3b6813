"""`purple bench overhead`: what a task costs beside the model and the tools."""

import asyncio
from typing import Annotated

import typer
from rich.table import Table

from cli.console import Complaint, err, give_up, out, say_json
from shared.domain.exact_json import Json, dumps, plain
from shared.domain.words import Strategy
from tools.bench.overhead.load import Measured, overhead

OURS = ("gateway", "executor", "policy", "learner", "redis", "queue")  # planner and company stand for others' costs
TARGETS = {"read": 150.0, "write": 300.0, "write_and_notice": 400.0}  # CPU milliseconds of all that is ours, a task

IDLE_COMMANDS = 100.0  # of both Redis, a second in which nothing is asked


def overhead_command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
    tasks: Annotated[int, typer.Option(help="How many tasks of each kind.", min=1, max=5_000)] = 100,
    at_once: Annotated[int, typer.Option(help="How many of them at once.", min=1, max=200)] = 4,
    strategy: Annotated[Strategy, typer.Option(help="How the worker thinks.")] = Strategy.FSM,
) -> None:
    """What a task costs beside model and tools: CPU time by process, Redis' round trips, memory and log.

    CPU time is measured, not time on the clock: a busy machine spoils it little.

    Examples:

      purple bench overhead

      purple bench overhead --tasks 300 --at-once 8 --json
    """
    try:
        measured = asyncio.run(overhead(tasks, at_once, strategy.value))
    except Complaint as complaint:
        give_up(complaint)
    missed = missed_targets(measured)
    if as_json:
        say_json(dumps({**_as_json(measured), "missed": list(missed)}))
    else:
        out.print(_table(measured))
    if missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


def missed_targets(measured: Measured) -> tuple[str, ...]:
    ours = {name: sum(costs.cpu_ms[part] for part in OURS) for name, costs in measured.kinds.items()}
    missed = [
        f"{name.replace('_', ' ')}: {spent:.0f} ms of CPU a task, target at most {TARGETS[name]:.0f}"
        for name, spent in ours.items()
        if spent > TARGETS[name]
    ]
    idle = measured.idle.redis_commands + measured.idle.queue_commands
    if idle > IDLE_COMMANDS:
        missed.append(f"idle: {idle:.0f} Redis commands a second, target at most {IDLE_COMMANDS:.0f}")
    return tuple(missed)


def _as_json(measured: Measured) -> dict[str, Json]:
    kinds: dict[str, Json] = {
        name: {
            **costs.as_json(),
            "cpu_ms_ours": plain(round(sum(costs.cpu_ms[part] for part in OURS), 1)),
            "tasks_a_second": plain(round(measured.a_second[name], 1)),
        }
        for name, costs in measured.kinds.items()
    }
    return {"tasks": measured.tasks, "at_once": measured.at_once, "idle_second": measured.idle.as_json(), "task": kinds}


def _table(measured: Measured) -> Table:
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
    return table
