"""`purple bench scale`: what grows with an installation, and whether what is done beside it costs the same."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import typer
from rich.table import Table

from cli.console import err, out, print_json
from shared.domain.exact_json import dumps
from tools.bench.scale.catalogues import grow_tools
from tools.bench.scale.growth import FLAT, Growth
from tools.bench.scale.policies import grow_rules
from tools.bench.scale.stores import grow_archive, grow_finished, grow_learned, grow_tenants, grow_turns, grow_waiting

_SMALLER = 100  # times, for a quick look


def scale_command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit code 1, naming what is neither flat nor explained.")
    ] = False,
    small: Annotated[bool, typer.Option("--small", help="A hundredth of everything: does it run?")] = False,
    repeats: Annotated[int, typer.Option(help="How often each is timed, small and large in turns.", min=3)] = 60,
) -> None:
    """Rules, learned things, tenants, turns, tools, archived, waiting and finished tasks, each few and many.

    What is done beside them is to cost the same within a fifth, or the reason is told.

    Examples:

      purple bench scale

      purple bench scale --check --json
    """
    with err.status("Few and many, in turns ..."):
        grown = asyncio.run(_collect(_SMALLER if small else 1, repeats))
    missed = [_say_missed(one) for one in grown if not one.is_flat and not one.reason]
    if as_json:
        print_json(dumps({"grown": [one.as_json() for one in grown], "missed": list(missed)}))
    else:
        out.print(_table(grown))
    if missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


async def _collect(divided: int, repeats: int) -> list[Growth]:
    return [one async for one in measure_scale(divided, repeats)]


async def measure_scale(divided: int, repeats: int) -> AsyncIterator[Growth]:
    """Each as it is measured; ``divided``: by what the large sizes are."""
    yield await grow_rules(10, max(20, 1_000 // divided), repeats)
    yield await grow_learned(3, repeats)
    yield await grow_tenants(1, max(2, 10_000 // divided), repeats)
    yield await grow_turns(max(2, 500 // divided), min(repeats, 20))
    yield await grow_tools(10, max(20, 1_000 // divided), repeats)
    for growth in await grow_archive(100, max(200, 100_000 // divided), repeats):
        yield growth
    yield await grow_waiting(10, max(20, 10_000 // divided), repeats)
    yield await grow_finished(10, max(20, 5_000 // divided), repeats)


def _say_missed(growth: Growth) -> str:
    grown = f"{growth.of} from {growth.small:,} to {growth.large:,}"
    return f"{grown}: {growth.doing} costs {growth.growth_factor:.2f} times as much, target at most {FLAT:g}"


def _table(grown: list[Growth]) -> Table:
    title = "scale: what is done beside it costs, in milliseconds"
    table = Table("what grows", "from", "to", "what is done", "few", "many", "times", "why", title=title)
    for one in grown:
        sizes = (f"{one.small:,}", f"{one.large:,}")
        times = (f"{one.small_ms:.3f}", f"{one.large_ms:.3f}")
        table.add_row(one.of, *sizes, one.doing, *times, f"{one.growth_factor:.2f}", "" if one.is_flat else one.reason)
    return table
