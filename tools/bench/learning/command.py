"""`purple bench learner`: whether it learns, how fast, and what reading what was learned costs."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cli.child_json import run_for_json
from cli.console import err, out, print_json
from shared.domain.exact_json import Json, JsonObject, dumps, to_exact
from tools.bench.learning.story import LAST, TASKS, WORSE, LearningFigures, measure_learning

_SECONDS = 600.0
_STATUS_TARGET_MS = 20.0


def learner(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Write a picture of the bandit's regret (SVG) to this file.", metavar="FILE")
    ] = None,
) -> None:
    """Learning on the example company, one strategy made worse; events per second; the bandit's regret; PRIME's reads.

    Examples:

      purple bench learner

      purple bench learner --check --json

      purple bench learner --plot docs/images/regret.svg
    """
    figures = asyncio.run(_measure_all(plot))
    if as_json:
        print_json(dumps(figures))
    else:
        out.print(_table(figures))
    missed = figures["missed"]
    if isinstance(missed, list) and missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


async def _measure_all(plot: Path | None) -> JsonObject:
    """One after the other: each has the machine to itself."""
    drawn = ("--plot", str(plot)) if plot else ()
    speed = await run_for_json("tools.bench.learner", "--json", *drawn, doing="Measuring the learner", seconds=_SECONDS)
    reads = await run_for_json("tools.bench.executor", "recall", "--json", doing="Measuring PRIME", seconds=_SECONDS)
    story = await measure_learning()
    missed: list[Json] = [*_missed_targets(speed), *_missed_targets(reads), *_find_missed(story)]
    rest = {name: value for name, value in speed.items() if name != "missed"}
    recall = {name: value for name, value in reads.items() if name != "missed"}
    return {"learning": _story_as_json(story), **rest, "recall": recall, "missed": missed}


def _missed_targets(figures: JsonObject) -> list[Json]:
    missed = figures.get("missed")
    return missed if isinstance(missed, list) else []


def _find_missed(story: LearningFigures) -> list[Json]:
    found: list[Json] = []
    if not story.has_left_worse:
        found.append(f"{WORSE} is still used {story.uses_at_last[WORSE]} times in the last {LAST} of {TASKS} tasks")
    if not story.shows_failing_case:
        found.append("a task that is about the same as a failed one was not shown the failing case")
    if story.status_p99_ms > _STATUS_TARGET_MS:
        found.append(f"GET /rl/status: p99 {story.status_p99_ms} ms, target {_STATUS_TARGET_MS} ms")
    return found


def _story_as_json(story: LearningFigures) -> JsonObject:
    return {
        "tasks": len(story.used),
        "made_worse": WORSE,
        "uses": dict(sorted(story.uses.items())),
        f"uses_in_last_{LAST}": dict(sorted(story.uses_at_last.items())),
        "used": list(story.used),
        "mean_reward": dict(story.rewards),
        "left_the_worse": story.has_left_worse,
        "failing_case_in_primer": story.shows_failing_case,
        "primer": [dict(case) for case in story.shown],
        "status_p50_ms": to_exact(story.status_p50_ms),
        "status_p99_ms": to_exact(story.status_p99_ms),
    }


def _table(figures: JsonObject) -> Table:
    """Figures of figures stand each on a line of its own."""
    table = Table("of", "figure", "value", title="learner: whether it learns, how fast, what it costs")
    for name, value in figures.items():
        rows = value.items() if isinstance(value, dict) else [("", value)]
        for figure, number in rows if name != "missed" else []:
            table.add_row(
                name.replace("_", " "), figure.replace("_", " "), number if isinstance(number, str) else dumps(number)
            )
    return table
