"""`purple bench`: figures of the running product against its stated targets."""

import asyncio
import sys
from typing import Annotated

import typer
from rich.table import Table

from cli.console import Complaint, err, give_up, out, say_json
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

BENCH_SECONDS = 300.0

bench = typer.Typer(no_args_is_help=True)


@bench.callback()
def about() -> None:
    """Each measurement starts what it needs and stops it again."""


@bench.command()
def queue(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
) -> None:
    """From accepting a task to starting it: on an idle executor, and while 200 sessions run."""
    try:
        figures = asyncio.run(_measure("services.executor", "bench-queue", "--json"))
    except Complaint as complaint:
        give_up(complaint)
    if as_json:
        say_json(dumps(figures))
    else:
        out.print(_table(figures))
    missed = figures.get("missed")
    if isinstance(missed, list) and missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


async def _measure(*arguments: str) -> JsonObject:
    """Run a measurement in a process of its own; its last line on stdout is one JSON object."""
    with err.status("Measuring ..."):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(BENCH_SECONDS):
                said, complained = await process.communicate()
        except TimeoutError:
            process.kill()
            raise Complaint(f"No figures within {BENCH_SECONDS:.0f} seconds.") from None
    return _figures(said.decode(), complained.decode())


def _figures(said: str, complained: str) -> JsonObject:
    lines = said.strip().splitlines()
    try:
        return loads_object(lines[-1])
    except (IndexError, ValueError):
        raise Complaint("The measurement gave no figures.", complained[-2000:]) from None


def _table(figures: JsonObject) -> Table:
    table = Table("figure", "value", title="queue: from accepted to started")
    for name, value in figures.items():
        if name != "missed":
            table.add_row(name.replace("_", " "), _shown(value))
    return table


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)
