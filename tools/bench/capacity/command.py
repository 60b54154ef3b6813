"""`purple bench capacity`: a burst of one tenant, and what another notices of it."""

import asyncio
from typing import Annotated

import typer
from rich.table import Table

from cli.console import err, out, print_json
from shared.domain.exact_json import dumps
from tools.bench.capacity.burst import BurstFigures, BurstPlan, measure_burst

WAKES_A_TASK = 1.2
QUIET_SECONDS = 2.0  # until a trivial task of another tenant is begun
SLOTS_USED = 0.8
CORES_USED = 0.8  # of what an executor can have: then it is the core, and no empty slot, that holds the burst up


def capacity_command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
    tasks: Annotated[int, typer.Option(help="How many tasks come at once.", min=1, max=20_000)] = 600,
    executors: Annotated[int, typer.Option(help="How many executors.", min=1, max=16)] = 1,
    capacity: Annotated[int, typer.Option(help="Sessions that one executor runs at once.", min=1, max=5_000)] = 16,
    most_waiting: Annotated[int, typer.Option(help="The gateway's limit of waiting sessions; 0: its default.")] = 0,
) -> None:
    """A burst of tasks of one tenant: does it drain with every slot or core used, and does another tenant notice it?

    Examples:

      purple bench capacity

      purple bench capacity --tasks 1000 --executors 2 --check --json
    """
    figures = asyncio.run(measure_burst(BurstPlan(tasks, executors, capacity, most_waiting)))
    missed = missed_targets(figures)
    if as_json:
        print_json(dumps({**figures.as_json(), "missed": list(missed)}))
    else:
        out.print(_table(figures))
    if missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


def missed_targets(figures: BurstFigures) -> tuple[str, ...]:
    """A sentence for each. Slots count only where the burst was longer than what fills them, and cores were idle."""
    missed = []
    if figures.wakes_a_task > WAKES_A_TASK:
        missed.append(f"{figures.wakes_a_task:.2f} wakes a task, target at most {WAKES_A_TASK}")
    if figures.quiet_begun_most >= QUIET_SECONDS:
        waited = f"another tenant's trivial task waited {figures.quiet_begun_most:.1f} s"
        missed.append(f"{waited}, target under {QUIET_SECONDS:g} s")
    if figures.most_waiting and figures.slots_used < SLOTS_USED and figures.cores_used < CORES_USED:
        used = f"{figures.slots_used:.0%} of the slots and {figures.cores_used:.0%} of the executors' cores were used"
        missed.append(f"{used}, target at least {SLOTS_USED:.0%} of either")
    return tuple(missed)


def _table(figures: BurstFigures) -> Table:
    table = Table("figure", "value", title="capacity: a burst of one tenant, and another beside it")
    for name, value in figures.as_json().items():
        for row, number in value.items() if isinstance(value, dict) else [("", value)]:
            table.add_row(f"{name.replace('_', ' ')} {row}".strip(), dumps(number))
    return table
