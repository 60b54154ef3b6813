"""`purple bench days`: points on days that are generated from a seed, and the model's calls in a turn."""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
from rich.table import Table

from cli.console import CommandError, err, out, print_json
from services.assessor.adapters.scenario_folder import load_scenario
from services.assessor.core.days.generation import generate_day
from services.assessor.generating import write_day
from shared.domain.exact_json import Json, JsonObject, dumps, to_exact
from shared.ports.simulator import SimulatorFailed
from tools.bench.days.planner import MeasuredDay, measure_planner
from tools.bench.days.played import GOLD, IDLE, VANDAL, play_days

GOLD_EARNS = 0.95
OTHERS_EARN = 0.10
PLANNER_EARNS = 0.40
QUIET_CALLS, BUSY_CALLS = 4, 6
TOKENS = 6_000  # fresh ones of a turn


def days_command(
    seed: Annotated[str, typer.Option(help="The same seed makes the same days.")] = "1",
    count: Annotated[int, typer.Option(help="How many days: easy, middle and hard ones in turn.", min=1, max=100)] = 6,
    planner: Annotated[bool, typer.Option(help="Whether a stack on the rule-based planner does them too.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
) -> None:
    """Points of careful work, of doing nothing, of a vandal and of the planner on generated days; calls in a turn.

    Examples:

      purple bench days --seed 4f2a

      purple bench days --seed 4f2a --count 12 --check --json
    """
    try:
        figures = asyncio.run(measure_days(seed, count, planner=planner))
    except SimulatorFailed as error:
        raise CommandError(f"No simulator can be had: {error}") from error
    if as_json:
        print_json(dumps(figures))
    else:
        out.print(_table(figures))
    missed = figures["missed"]
    if isinstance(missed, list) and missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


async def measure_days(seed: str, count: int, *, planner: bool) -> JsonObject:
    """Shares of the points by day and participant, and the planner's calls. Raises ``CommandError``."""
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        root = Path(folder, "scenarios")
        days = {day.scenario_id: day for day in (generate_day(seed, number) for number in range(count))}
        for name, day in days.items():
            write_day(root / name, day)
        played = await play_days({name: (day, load_scenario(root / name)) for name, day in days.items()})
        by_planner = await measure_planner(root, days, Path(folder, "stack")) if planner else {}
    shares = {name: {**played[name], **_planner_shares(by_planner.get(name))} for name in days}
    calls = _count_calls(by_planner)
    return {
        "seed": seed,
        "days": {name: {who: to_exact(round(share, 3)) for who, share in of.items()} for name, of in shares.items()},
        "calls": calls,
        "missed": [*find_missed_points(shares), *find_missed_calls(calls)],
    }


def _planner_shares(day: MeasuredDay | None) -> dict[str, float]:
    return {"planner": day.share} if day else {}


def _count_calls(days: Mapping[str, MeasuredDay]) -> JsonObject:
    """The most calls of a turn in which nothing was written, and of one in which something was; and the mean of all."""
    turns = [turn for day in days.values() for turn in day.turns]
    if not turns:
        return {}
    most = {kind: max((turn.calls for turn in turns if turn.busy is busy), default=0) for kind, busy in _KINDS}
    return {
        "turns": len(turns),
        **most,
        "mean": to_exact(round(fmean(turn.calls for turn in turns), 2)),
        "most_tokens": max(turn.tokens for turn in turns),
    }


_KINDS = (("most_quiet", False), ("most_busy", True))


def find_missed_points(shares: Mapping[str, Mapping[str, float]]) -> list[Json]:
    missed: list[Json] = []
    for name, of in shares.items():
        if of[GOLD] < GOLD_EARNS:
            missed.append(f"{name}: {GOLD} earns {of[GOLD]:.0%}, target at least {GOLD_EARNS:.0%}")
        wrong = [who for who in (IDLE, VANDAL) if of[who] > OTHERS_EARN]
        missed += [f"{name}: {who} earns {of[who]:.0%}, target at most {OTHERS_EARN:.0%}" for who in wrong]
        if of.get("planner", 1.0) < PLANNER_EARNS:
            missed.append(f"{name}: the planner earns {of['planner']:.0%}, target at least {PLANNER_EARNS:.0%}")
    return missed


def find_missed_calls(calls: JsonObject) -> list[Json]:
    bounds = {"most_quiet": QUIET_CALLS, "most_busy": BUSY_CALLS}
    tokens = calls.get("most_tokens")
    dear: list[Json] = []
    if isinstance(tokens, int) and tokens >= TOKENS:
        dear = [f"a turn took {tokens:,} fresh tokens, target under {TOKENS:,}"]
    return dear + [
        f"{name.replace('_', ' ')} turn: {value} calls of the model, target {bounds[name]}"
        for name, value in calls.items()
        if name in bounds and isinstance(value, int) and value > bounds[name]
    ]


def _table(figures: JsonObject) -> Table:
    table = Table(
        "of", "figure", "value", title=f"days of seed {figures['seed']}: shares of the points, calls in a turn"
    )
    days = figures["days"]
    for name, of in [*(days.items() if isinstance(days, dict) else ()), ("calls in a turn", figures["calls"])]:
        for figure, value in of.items() if isinstance(of, dict) else ():
            table.add_row(name, figure.replace("_", " "), dumps(value))
    return table
