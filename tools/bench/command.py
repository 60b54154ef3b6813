"""`purple bench`: measure, and compare with the stated targets."""

from typing import Annotated

import typer
from rich.table import Table

from cli.child_json import run_module_for_json
from cli.console import err, out, print_json
from shared.domain.exact_json import Json, JsonObject, dumps
from tools.bench.capacity.command import capacity_command
from tools.bench.days.command import days_command
from tools.bench.gateway.command import gateway_command
from tools.bench.learning.command import learner
from tools.bench.overhead.command import overhead_command
from tools.bench.planner.command import planner_command
from tools.bench.scale.command import scale_command
from tools.bench.start import start_command
from tools.bench.throughput.command import throughput_command
from tools.bench.worth.command import worth_command

BENCH_SECONDS = 300.0
SESSIONS_SECONDS = 1200.0

bench = typer.Typer(no_args_is_help=True)


@bench.callback()
def describe_bench() -> None:
    """Each measurement starts what it needs and stops it again."""


@bench.command()
def queue(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
    sessions: Annotated[int, typer.Option(help="How many sessions run meanwhile.", min=1, max=20_000)] = 200,
) -> None:
    """From accepting a task to starting it: on an idle executor, and while many sessions run; what keeping them costs.

    Examples:

      purple bench queue

      purple bench queue --sessions 1000

      purple bench queue --check --json
    """
    figures = run_module_for_json(
        "tools.bench.executor",
        "queue",
        "--json",
        "--sessions",
        str(sessions),
        doing="Measuring",
        seconds=BENCH_SECONDS,
    )
    if as_json:
        print_json(dumps(figures))
    else:
        out.print(_table(figures))
    _report_missed(figures, check)


@bench.command()
def sessions(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
    finished: Annotated[int, typer.Option(help="How many sessions are finished.", min=1, max=1_000_000)] = 10_000,
    turns: Annotated[int, typer.Option(help="How many turns the long session has.", min=20, max=100_000)] = 500,
) -> None:
    """What finished sessions leave in Redis as time passes; whether a long session slows its next turn.

    Whether many running sessions delay a new one: purple bench queue --sessions 1000.

    Examples:

      purple bench sessions

      purple bench sessions --check --json
    """
    arguments = ("sessions", "--json", "--finished", str(finished), "--turns", str(turns))
    figures = run_module_for_json("tools.bench.executor", *arguments, doing="Measuring", seconds=SESSIONS_SECONDS)
    if as_json:
        print_json(dumps(figures))
    else:
        out.print(_sessions_table(figures))
    _report_missed(figures, check)


@bench.command()
def policy(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
) -> None:
    """A condition in our language against the same by hand and in other libraries; the policy service with many rules.

    Examples:

      purple bench policy

      purple bench policy --check --json
    """
    figures = run_module_for_json("tools.bench.policy", "--json", doing="Measuring", seconds=BENCH_SECONDS)
    if as_json:
        print_json(dumps(figures))
    else:
        out.print(_policy_table(figures))
    _report_missed(figures, check)


@bench.command()
def simulator(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
) -> None:
    """What a simulator costs: its start, an advance by how many events wait, posting, reading an unchanged mailbox.

    Examples:

      purple bench simulator

      purple bench simulator --check --json
    """
    figures = run_module_for_json("tools.bench.simulator", "--json", doing="Measuring", seconds=BENCH_SECONDS)
    if as_json:
        print_json(dumps(figures))
    else:
        out.print(_table(figures, "simulator: CPU time of the process"))
    _report_missed(figures, check)


bench.command()(learner)
bench.command("capacity")(capacity_command)
bench.command("gateway")(gateway_command)
bench.command("days")(days_command)
bench.command("overhead")(overhead_command)
bench.command("planner")(planner_command)
bench.command("scale")(scale_command)
bench.command("start")(start_command)
bench.command("throughput")(throughput_command)
bench.command("worth")(worth_command)


def _report_missed(figures: JsonObject, check: bool) -> None:
    missed = figures.get("missed")
    if isinstance(missed, list) and missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


def _table(figures: JsonObject, title: str = "queue: from accepted to started") -> Table:
    table = Table("figure", "value", title=title)
    for name, value in figures.items():
        if name != "missed":
            table.add_row(name.replace("_", " "), _as_text(value))
    return table


def _sessions_table(figures: JsonObject) -> Table:
    """Figures of figures stand each on a line of its own."""
    table = Table("of", "figure", "value", title="sessions: what they leave in Redis, what a long one costs")
    for name, value in figures.items():
        for row in value if isinstance(value, list) and name != "missed" else []:
            if isinstance(row, dict):
                table.add_row(name.replace("_", " "), f"after {_as_text(row['hours'])} h", _as_text(row["bytes"]))
        rows = value.items() if isinstance(value, dict) else [("", value)]
        for figure, number in rows if not isinstance(value, list) else []:
            table.add_row(name.replace("_", " "), figure.replace("_", " "), _as_text(number))
    return table


def _policy_table(figures: JsonObject) -> Table:
    """Nested figures stand each on a line of its own."""
    table = Table("of", "figure", "value", title="policy: evaluations a second, and answers of the service")
    for name, value in figures.items():
        rows = value if isinstance(value, list) else [value]
        for row in rows if name != "missed" else []:
            of = f"{row['rules']} rules" if isinstance(row, dict) and "rules" in row else name.replace("_", " ")
            for figure, number in row.items() if isinstance(row, dict) else [("", row)]:
                if figure != "rules":
                    table.add_row(of, figure.replace("_", " "), _as_text(number))
    return table


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)
