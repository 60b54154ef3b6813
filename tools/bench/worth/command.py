"""`purple bench worth`: what the guarded conversation is worth beside a plain tool loop, with the same models."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import typer

from cli.console import CommandError, err, out, print_json
from shared.domain.exact_json import JsonObject, dumps, loads_object
from shared.domain.words import Strategy
from tools.bench.worth.plot import CannotPlotWorth, plot_worth
from tools.bench.worth.tables import draw_tables

MODELS = "perfect,faulty,gullible"
RATES = "0.05,0.1,0.2,0.4"


def worth_command(
    seed: Annotated[list[int] | None, typer.Option(help="Which worlds; may be given several times.")] = None,
    tasks: Annotated[int | None, typer.Option(help="How many tasks of each seed; all by default.", min=1)] = None,
    strategies: Annotated[str, typer.Option(help="Which strategies play.")] = ",".join(Strategy),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
    models: Annotated[str, typer.Option(help="Which scripted models play.")] = MODELS,
    rates: Annotated[str, typer.Option(help="In which shares of its replies the faulty model commits faults.")] = RATES,
    kept: Annotated[
        Path | None,
        typer.Option(help="Keep each play in this file; what it holds is not played again.", metavar="FILE"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a picture of tasks right by share of faults (SVG).", metavar="FILE")
    ] = None,
) -> None:
    """Business tasks over foreign worlds: right ends and wrong writes, with a perfect, a faulty and a gullible model.

    Every model plays each task twice: through the worker, and through a plain tool loop. No model is paid for.

    Examples:

      purple bench worth

      purple bench worth --seed 1 --seed 2 --seed 3 --strategies fsm --plot docs/images/worth.svg

      purple bench worth --tasks 15 --models perfect --check --json

      purple bench worth --seed 1 --seed 2 --seed 3 --tasks 60 --rates 0.2 --check --kept plays.jsonl
    """
    asked = [*(part for one in seed or [1] for part in ("--seed", str(one)))]
    asked += [f"--strategies={strategies}", f"--models={models}", f"--rates={rates}"]
    asked += [f"--tasks={tasks}"] * (tasks is not None) + [f"--kept={kept}"] * (kept is not None)
    try:
        figures = run_plays(asked)
        if plot is not None:
            plot_worth(figures, plot)
    except CannotPlotWorth as problem:
        raise CommandError(str(problem)) from problem
    if as_json:
        print_json(dumps(figures))
    else:
        for table in draw_tables(figures):
            out.print(table)
    missed = cast("list[str]", figures["missed"])
    if missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


def run_plays(asked: Sequence[str]) -> JsonObject:
    """The figures, from a process of its own: the command line starts without the worker. Raises `CommandError`."""
    ended = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "tools.bench.worth", *asked], stdout=subprocess.PIPE, text=True, check=False
    )
    if ended.returncode:
        raise CommandError("Playing the tasks ended with an error, which stands above.")
    return loads_object(ended.stdout.strip().splitlines()[-1])
