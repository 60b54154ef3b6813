"""`purple learn report`: how a benchmark went, from its reports, and training rows out of them."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.child_json import run_for_json
from cli.console import Complaint, err, give_up, out, say_json
from cli.gateway.asking import AsJson, objects_in
from shared.domain.exact_json import Json, JsonObject, dumps

_SECONDS = 120.0
_TITLES = (
    ("dimension_analysis", "Dimensions"),
    ("top_failures", "Top failures"),
    ("scenario_difficulty_ranking", "Scenarios by difficulty"),
    ("next_4h_recommended_tests", "Recommended tests"),
)
_HEAD = ("generated_at", "period_hours", "total_runs", "pass_rate", "source")
_SHOWN = 20  # lines of a table
_WIDE = 60  # characters of a cell


def report(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Reports in files, in place of a bucket.", exists=True, dir_okay=False)
    ] = None,
    bucket: Annotated[str, typer.Option(help="The bucket; S3_TRAINING_BUCKET, if nothing is said.")] = "",
    most: Annotated[int, typer.Option(help="How many reports, the newest first.", min=1, max=100)] = 1,
    rows: Annotated[Path | None, typer.Option(help="Write training rows out of the reports to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the newest benchmark report below agentbench-reports/: dimensions, top failures, hard scenarios.

    With --rows, what failed becomes rows in the training format (JSON lines), as the learner loads them from a bucket.
    No score is made up: what has none is left out, and named.

    Example:

      S3_TRAINING_BUCKET=my-bucket purple learn report --rows training.jsonl
      purple learn report report.json --json
    """
    arguments = ("report", *map(str, files or ()), "--bucket", bucket, "--most", str(most))
    try:
        found = asyncio.run(run_for_json("services.learner", *arguments, doing="Reading reports", seconds=_SECONDS))
    except Complaint as complaint:
        give_up(complaint)
    prepared = objects_in(found.pop("training_rows"))
    if rows is not None:
        _write(rows, prepared)
        found["written"] = {"file": str(rows), "rows": len(prepared)}
    if as_json:
        return say_json(dumps(found))
    for one in objects_in(found.get("reports")):
        _show(one)
    return _say_rest(found, rows is not None)


def _write(file: Path, prepared: list[JsonObject]) -> None:
    try:
        file.write_text("".join(f"{dumps(row)}\n" for row in prepared))
    except OSError as error:
        give_up(Complaint(f"{file} cannot be written: {error.strerror}."))


def _show(one: JsonObject) -> None:
    head = ((name.replace("_", " "), _cell(one.get(name))) for name in _HEAD if one.get(name) is not None)
    out.print(Text(", ".join(f"{name} {value}" for name, value in head), "bold"), soft_wrap=True)
    for name, title in _TITLES:
        part = one.get(name)
        if isinstance(part, dict):
            _show_part(title, part)


def _show_part(title: str, part: JsonObject) -> None:
    names, lines = part.get("columns"), part.get("rows")
    if not (isinstance(names, list) and isinstance(lines, list)) or not lines:
        out.print(Text(f"{title}: none.", "dim"))
        return
    table = Table(*(str(name).replace("_", " ") for name in names), title=title, title_justify="left")
    for line in lines[:_SHOWN]:
        table.add_row(*(Text(_cell(cell)) for cell in (line if isinstance(line, list) else [line])))  # words of others
    out.print(table)
    if len(lines) > _SHOWN:
        err.print(f"and {len(lines) - _SHOWN} more: --json has all of them", style="dim")


def _say_rest(found: JsonObject, written: bool) -> None:
    for name, words in (("unread", "was left out"), ("skipped", "became no training row")):
        lines = found.get(name)
        if isinstance(lines, list) and lines and (name == "unread" or written):
            first = "; ".join(map(str, lines[:3]))
            err.print(f"{len(lines)} {words}: {first}", style="yellow", markup=False, soft_wrap=True)
    told = found.get("written")
    if isinstance(told, dict):
        out.print(f"{told['rows']} training rows in {told['file']}", markup=False, soft_wrap=True)


def _cell(value: Json) -> str:
    match value:
        case None:
            return ""
        case str():
            text = value
        case list():
            text = ", ".join(map(_cell, value))
        case dict():
            text = ", ".join(f"{name}: {_cell(inner)}" for name, inner in value.items())
        case _:
            text = dumps(value)
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 3]}..."
