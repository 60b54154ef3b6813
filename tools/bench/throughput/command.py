"""`purple bench throughput`: tasks a second, how long one takes, what holding many costs; beside others' agents."""

import asyncio
import os
from typing import Annotated

import typer
from rich.table import Table

from cli.console import err, out, print_json
from shared.domain.exact_json import dumps
from tools.bench.throughput.load import CellFigures, LoadCell, ThroughputPlan, measure

A_SECOND, AT_ONCE = 60.0, 64  # reads at no latency
HELD_MB = 500.0
HELD_PERCENT = 2.0
HELD_LATENCY = 30.0
TWO_OF_ONE, BOUND_PERCENT = 1.8, 60.0
_OURS = "ours"
_AT_ONCE = (1, 16, 64, 256)
_ROUNDS_OF = {1: 20, 16: 4, 64: 3}  # how many tasks for each at once; more at once: one


def throughput_command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
    at_once: Annotated[
        list[int] | None, typer.Option(help="Tasks at once, at no latency; may be repeated. [default: 1, 16, 64, 256]")
    ] = None,
    bound: Annotated[int, typer.Option(help="Tasks of each executor, bound by slots at 1 s; 0: none.", min=0)] = 64,
    langgraph: Annotated[bool, typer.Option(help="Whether a LangGraph agent is measured too.")] = True,
    held: Annotated[int, typer.Option(help="Tasks that one executor holds at 30 s; 0: none.", min=0)] = 1000,
) -> None:
    """Questions over the example company with a canned model that answers after 0, 1 and 30 seconds.

    At no latency our stack, a bare loop on the official SDKs and a LangGraph agent take turns in the same run; both of
    those keep nothing. At 1 second one and two executors of 16 slots; at 30 seconds what holding many tasks costs.

    Examples:

      purple bench throughput

      purple bench throughput --at-once 1 --at-once 1000 --bound 0 --held 0

      purple bench throughput --check --json
    """
    speeds = [LoadCell(0.0, each, each * _ROUNDS_OF.get(each, 1)) for each in at_once or _AT_ONCE]
    figures = asyncio.run(measure(ThroughputPlan(speeds, bound, held, langgraph), os.cpu_count() or 1))
    missed = missed_targets(figures)
    if as_json:
        print_json(dumps({"cells": [cell.as_json() for cell in figures], "missed": list(missed)}))
    else:
        out.print(_table(figures))
    if missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


def missed_targets(figures: list[CellFigures]) -> tuple[str, ...]:
    """A sentence for each that was measured and missed."""
    ours = [cell for cell in figures if cell.subject.startswith(_OURS)]
    missed = [
        f"{cell.at_once} reads at once: {cell.a_second:.1f} a second, target at least {A_SECOND:.0f}"
        for cell in ours
        if not cell.latency and cell.at_once == AT_ONCE and cell.a_second < A_SECOND
    ]
    for cell in ours:
        if cell.latency == HELD_LATENCY and cell.memory_mb > HELD_MB:
            missed.append(f"{cell.at_once} held: {cell.memory_mb:.0f} MB, target at most {HELD_MB:.0f}")
        if cell.latency == HELD_LATENCY and cell.idle_percent is not None and cell.idle_percent > HELD_PERCENT:
            missed.append(f"{cell.at_once} held: {cell.idle_percent:.1f} % of a core, target at most {HELD_PERCENT:g}")
    bound = [cell for cell in ours if cell.latency == 1.0]
    if len(bound) == 2:  # one executor and two
        times = bound[1].a_second / bound[0].a_second
        busiest = max(cell.cpu_percent for cell in bound)
        if busiest > BOUND_PERCENT:
            missed.append(f"one and two executors: not judged, the machine was {busiest:.0f} % busy")
        elif times < TWO_OF_ONE:
            missed.append(f"two executors do {times:.2f} times as much as one, target at least {TWO_OF_ONE}")
    return tuple(missed)


def _table(figures: list[CellFigures]) -> Table:
    columns = (
        "model",
        "at once",
        "tasks",
        "tasks/s",
        "p50 ms",
        "p95 ms",
        "MB",
        "CPU ms a task",
        "machine %",
        "quiet %",
    )
    table = Table("subject", *columns, title="throughput: questions, each in a session of its own")
    for cell in figures:
        speed = (f"{cell.a_second:.1f}", f"{cell.p50_ms:,.0f}", f"{cell.p95_ms:,.0f}", f"{cell.memory_mb:.0f}")
        quiet = "" if cell.idle_percent is None else f"{cell.idle_percent:.1f}"
        cost = (f"{cell.cpu_ms:.1f}", f"{cell.cpu_percent:.0f}", quiet)
        table.add_row(cell.subject, f"{cell.latency:g} s", str(cell.at_once), str(cell.tasks), *speed, *cost)
    return table
