"""`purple bench start`: what it costs until the whole stack takes tasks, and until the command line says its help."""

import asyncio
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Annotated, NamedTuple

import typer
from rich.table import Table

from cli.console import err, out, print_json
from cli.launcher import run_stack
from shared.domain.exact_json import dumps, to_exact
from tools.bench.overhead.load import stack_options
from tools.bench.overhead.spending import cpu_ms

STACK_CPU_SECONDS = 5.0
STACK_SECONDS = 5.0
HELP_CPU_SECONDS = 0.25
_TIMES = 3  # help is asked for: the least counts


class StartFigures(NamedTuple):
    """Seconds. ``cpu``: CPU time of each process until all were ready, and of the imports that all share."""

    wall: float
    cpu: dict[str, float]
    help_cpu: float

    @property
    def missed(self) -> tuple[str, ...]:
        figures = (
            ("the stack's CPU time until it is ready", sum(self.cpu.values()), STACK_CPU_SECONDS),
            ("the stack's time until it is ready", self.wall, STACK_SECONDS),
            ("the CPU time of purple --help", self.help_cpu, HELP_CPU_SECONDS),
        )
        return tuple(f"{name}: {is_:.2f} s, target at most {most:.2f}" for name, is_, most in figures if is_ > most)


def start_command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
) -> None:
    """What a start costs: the whole stack until every process is ready, by process; `purple --help`.

    CPU time says more than time on the clock, which a busy machine spoils.

    Examples:

      purple bench start

      purple bench start --check --json
    """
    started = asyncio.run(measure_start())
    if as_json:
        seconds = {**started.cpu, "stack_cpu": sum(started.cpu.values()), "stack_wall": started.wall}
        figures = {name: to_exact(round(value, 3)) for name, value in {**seconds, "help_cpu": started.help_cpu}.items()}
        print_json(dumps({**figures, "missed": list(started.missed)}))
    else:
        out.print(_table(started))
    if started.missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in started.missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


async def measure_start() -> StartFigures:
    """Raises ``CommandError`` if the stack cannot be had."""
    help_cpu = min(_help_cpu() for _ in range(_TIMES))
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        began = perf_counter()
        async with run_stack(stack_options(Path(folder))) as stack:
            wall = perf_counter() - began
            cpu = {"imports": cpu_ms(_parent_of(stack.children[0].pid)) / 1000}
            cpu |= {child.spec.name: cpu_ms(child.pid) / 1000 for child in stack.children}
    return StartFigures(wall, cpu, help_cpu)


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _help_cpu() -> float:
    """Seconds of CPU time of one process that says the command line's help."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "cli.main", "--help"], stdout=subprocess.DEVNULL, timeout=60, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _table(started: StartFigures) -> Table:
    table = Table("figure", "seconds", title="start: until every process is ready")
    for name, seconds in started.cpu.items():
        table.add_row(f"CPU, {name}", f"{seconds:.2f}")
    table.add_row("CPU, all processes", f"{sum(started.cpu.values()):.2f}", style="bold")
    table.add_row("on the clock", f"{started.wall:.2f}")
    table.add_row("CPU, purple --help", f"{started.help_cpu:.2f}")
    return table
