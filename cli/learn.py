"""`purple learn`: export, import and forget what the worker has learned, and read benchmark reports."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.child_json import run_module_for_json
from cli.console import CommandError, err, indent_json, out, print_answer, print_json, text_table
from cli.gateway import client as gateway
from cli.gateway.messages import list_or_empty
from shared.contracts.learning_files import LearningFile
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, loads, objects_in

_EXIT_REFUSED = 1
_ENTITIES_A_REQUEST = 250  # entities in one request


def export(
    folder: Annotated[Path, typer.Argument(help="Where the files go; it is made if it is not there.", file_okay=False)],
    name: gateway.Name = "",
    url: gateway.Gateway = "",
    as_json: gateway.AsJson = False,
) -> None:
    """Write what was learned for the tenant to files: cases, bandit, facts, processes, entities, statistics.

    Requires the role operator. docs/learning-files.md describes the files.

    Example:

      purple learn export ./learned
    """
    files = as_object(gateway.ask_as_operator(url, name, "learn", "export").get("files"))
    known = {name: files[name] for name in map(str, LearningFile) if name in files}  # no other leads anywhere
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file_name, content in known.items():
            (folder / file_name).write_text(indent_json(content) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror}.") from error
    sizes: JsonObject = {file_name: _entry_count(content) for file_name, content in known.items()}
    table = text_table(("file", "entries"), ((folder / file_name, size) for file_name, size in sizes.items()))
    print_answer({"folder": str(folder), "entries": sizes}, lambda _: out.print(table), as_json=as_json)


def import_files(
    folder: Annotated[Path, typer.Argument(help="The folder with the files.", exists=True, file_okay=False)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would become of each file.")] = False,
    name: gateway.Name = "",
    url: gateway.Gateway = "",
    as_json: gateway.AsJson = False,
) -> None:
    """Import learned data into the tenant from files: those of `export`, or the four files of an earlier system.

    All files are checked before anything is stored. Importing twice counts nothing twice: cases are merged by quality,
    and of two records of an arm the one with more pulls is kept. Requires the role operator.

    Example:

      purple learn import ./learned --dry-run
      purple learn import ./learned
    """
    contents = [
        piece for file, content in _read_contents(folder).items() for piece in split_for_requests(file, content)
    ]
    checked = [_import_file(url, name, file, content, dry_run=True) for file, content in contents]
    refused = any(report.get("problems") for report in checked)
    reports = checked
    if not (refused or dry_run):
        reports = [_import_file(url, name, file, content, dry_run=False) for file, content in contents]
        refused = any(report.get("problems") for report in reports)
    _print_reports(reports, refused, as_json)
    if refused:
        raise typer.Exit(_EXIT_REFUSED)


def _read_contents(folder: Path) -> dict[LearningFile, Json]:
    found = {file: folder / file.value for file in LearningFile if (folder / file.value).is_file()}
    if not found:
        names = ", ".join(LearningFile)
        raise CommandError(f"{folder} holds none of the files.", f"They are called {names}.")
    try:
        return {file: loads(path.read_text(encoding="utf-8")) for file, path in found.items()}
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CommandError(f"A file in {folder} is no JSON: {error}.") from error


def split_for_requests(file: LearningFile, content: Json) -> list[tuple[LearningFile, Json]]:
    """The file in pieces that each fit into one request: entities are split, other files stay whole."""
    rows = content.get("entities") if isinstance(content, dict) else None
    if file is not LearningFile.ENTITIES or not isinstance(rows, list) or len(rows) <= _ENTITIES_A_REQUEST:
        return [(file, content)]
    return [
        (file, {"entities": rows[first : first + _ENTITIES_A_REQUEST]})
        for first in range(0, len(rows), _ENTITIES_A_REQUEST)
    ]


def _import_file(url: str, name: str, file: LearningFile, content: Json, *, dry_run: bool) -> JsonObject:
    body: JsonObject = {"file": file.value, "content": content, "dry_run": dry_run, **gateway.build_speaker_claim(name)}
    with err.status(f"{'Checking' if dry_run else 'Importing'} {file.value} ..."):
        return gateway.ask_gateway(url, "POST", "/learn/import", body)


def _print_reports(reports: list[JsonObject], refused: bool, as_json: bool) -> None:
    if as_json:
        return print_json(dumps({"imported": not refused, "files": [*reports]}))
    taken = "would be taken" if refused or all(report.get("dry_run") for report in reports) else "taken"
    table = Table("file", taken, "known", "left out", "problems")
    for report in reports:
        cells = (str(report.get(key, "")) for key in ("file", "taken", "known", "left_out"))
        problems = "\n".join(map(str, list_or_empty(report.get("problems"))))
        table.add_row(*cells, Text(problems, "red"))  # words of a file, no markup
    out.print(table)
    if refused:
        err.print("Nothing was imported: every file must be right.", style="bold red")
    return None


def _entry_count(content: Json) -> int:
    if isinstance(content, dict):
        inner = next((content[name] for name in ("facts", "entities", "counts") if name in content), content)
        return len(inner) if isinstance(inner, dict | list) else 1
    return len(content) if isinstance(content, list) else 1


_PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.2
_NOT_YET, _SAID_NO = 3, 1


def forget(
    entity: Annotated[str, typer.Option(help="A vendor, person, id or anything else, as people write it.")] = "",
    session: Annotated[str, typer.Option(help="A session: what its tasks taught, and what it remembers.")] = "",
    tenant: Annotated[bool, typer.Option("--tenant", help="All that was learned of the tenant.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    name: gateway.Name = "",
    url: gateway.Gateway = "",
    as_json: gateway.AsJson = False,
) -> None:
    """Delete cases, facts and entities that name an entity or belong to a session, or all of the tenant, permanently.

    Asks for confirmation, and may be repeated. At the end it prints what stays, such as the audit trail of writes.
    Requires the role operator.

    Example:

      purple learn forget --entity "Initech Ltd"
      purple learn forget --session s-42 --yes --json
    """
    scope, subject = _scope_and_subject(entity, session, tenant)
    if not yes:
        _confirm_forget(scope, subject)
    found = gateway.run_with_gateway(url, lambda client: _forget_and_wait(client, scope, subject, name))
    print_answer(found, _print_forgotten, as_json=as_json)
    if found.get("state") != "done":
        err.print("It goes on; look again with the same command.", style="yellow")
        raise typer.Exit(_NOT_YET)


def _scope_and_subject(entity: str, session: str, tenant: bool) -> tuple[str, str]:
    named = [(scope, subject) for scope, subject in (("entity", entity), ("session", session)) if subject]
    named += [("tenant", "")] if tenant else []
    if len(named) != 1:
        raise CommandError("Say one of --entity, --session and --tenant: what is to be forgotten.")
    return named[0]


def _confirm_forget(scope: str, subject: str) -> None:
    what = "all that was learned of the tenant" if scope == "tenant" else f"what was learned of {scope} {subject!r}"
    if not sys.stdin.isatty():
        raise CommandError(f"Nobody is here to say yes to forgetting {what}.", "Say --yes.")
    if not typer.confirm(f"Forget {what}, for good?", err=True):
        err.print("Nothing was forgotten.")
        raise typer.Exit(_SAID_NO)


async def _forget_and_wait(client: gateway.GatewayClient, scope: str, subject: str, name: str) -> JsonObject:
    """Send a request to forget and wait until it is done or a time limit is reached; returns the request's state."""
    found = await client.request_json(
        "POST", "/memory/forget", {"scope": scope, "subject": subject, **gateway.build_speaker_claim(name)}
    )
    until = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    with err.status("Waiting for a learner ...") as status:
        while found.get("state") != "done" and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(_LOOK_SECONDS)
            asked = gateway.path_of("memory", "forget", str(found["request_id"]), "show")
            found = await client.request_json("POST", asked, gateway.build_speaker_claim(name))
            if found.get("state") == "working":
                status.update("Removed; waiting for outcomes that were under way ...")
    return found


def _print_forgotten(found: JsonObject) -> None:
    removed, left = _name_value_rows(found.get("removed")), _name_value_rows(found.get("left"))
    out.print(text_table(("removed", "how many"), removed) if removed else "Nothing of it was remembered.")
    if left:
        out.print(text_table(("stays", "why, and until when"), left))


def _name_value_rows(value: Json) -> list[tuple[str, str]]:
    return [(key.replace("_", " "), str(said)) for key, said in as_object(value).items()]


_TIMEOUT_SECONDS = 120.0
_TITLES = (
    ("dimension_analysis", "Dimensions"),
    ("top_failures", "Top failures"),
    ("scenario_difficulty_ranking", "Scenarios by difficulty"),
    ("next_4h_recommended_tests", "Recommended tests"),
)
_HEAD = ("generated_at", "period_hours", "total_runs", "pass_rate", "source")
_MOST_ROWS = 20  # lines of a table
_LONGEST_CELL = 60  # characters of a cell


def report(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Reports in files, in place of a bucket.", exists=True, dir_okay=False)
    ] = None,
    bucket: Annotated[str, typer.Option(help="The bucket; S3_TRAINING_BUCKET, if nothing is said.")] = "",
    most: Annotated[int, typer.Option(help="How many reports, the newest first.", min=1, max=100)] = 1,
    rows: Annotated[Path | None, typer.Option(help="Write training rows out of the reports to this file.")] = None,
    as_json: gateway.AsJson = False,
) -> None:
    """Show the newest benchmark report below agentbench-reports/: dimensions, top failures, hard scenarios.

    With --rows, failures are written as rows in the training format (JSON lines), which the learner loads from a
    bucket. Failures without a score are left out, and listed.

    Example:

      S3_TRAINING_BUCKET=my-bucket purple learn report --rows training.jsonl
      purple learn report report.json --json
    """
    arguments = ("report", *map(str, files or ()), "--bucket", bucket, "--most", str(most))
    found = run_module_for_json("services.learner", *arguments, doing="Reading reports", seconds=_TIMEOUT_SECONDS)
    prepared = objects_in(found.pop("training_rows"))
    if rows is not None:
        try:
            rows.write_text("".join(f"{dumps(row)}\n" for row in prepared))
        except OSError as error:
            raise CommandError(f"{rows} cannot be written: {error.strerror}.") from error
        found["written"] = {"file": str(rows), "rows": len(prepared)}
    if as_json:
        return print_json(dumps(found))
    for one in objects_in(found.get("reports")):
        _print_report(one)
    return _print_left_out(found, rows is not None)


def _print_report(one: JsonObject) -> None:
    head = ((name.replace("_", " "), _cell_text(one.get(name))) for name in _HEAD if one.get(name) is not None)
    out.print(Text(", ".join(f"{name} {value}" for name, value in head), "bold"), soft_wrap=True)
    for name, title in _TITLES:
        if part := as_object(one.get(name)):
            _print_report_table(title, part)


def _print_report_table(title: str, part: JsonObject) -> None:
    names, lines = list_or_empty(part.get("columns")), list_or_empty(part.get("rows"))
    if not lines:
        out.print(Text(f"{title}: none.", "dim"))
        return
    table = Table(*(str(name).replace("_", " ") for name in names), title=title, title_justify="left")
    for line in lines[:_MOST_ROWS]:
        table.add_row(
            *(Text(_cell_text(cell)) for cell in (line if isinstance(line, list) else [line]))
        )  # words of others
    out.print(table)
    if len(lines) > _MOST_ROWS:
        err.print(f"and {len(lines) - _MOST_ROWS} more: --json has all of them", style="dim")


def _print_left_out(found: JsonObject, written: bool) -> None:
    for name, words in (("unread", "was left out"), ("skipped", "became no training row")):
        lines = list_or_empty(found.get(name))
        if lines and (name == "unread" or written):
            first = "; ".join(map(str, lines[:3]))
            err.print(f"{len(lines)} {words}: {first}", style="yellow", markup=False, soft_wrap=True)
    if told := as_object(found.get("written")):
        out.print(f"{told['rows']} training rows in {told['file']}", markup=False, soft_wrap=True)


def _cell_text(value: Json) -> str:
    match value:
        case None:
            return ""
        case str():
            text = value
        case list():
            text = ", ".join(map(_cell_text, value))
        case dict():
            text = ", ".join(f"{name}: {_cell_text(inner)}" for name, inner in value.items())
        case _:
            text = dumps(value)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 3]}..."


learn = typer.Typer(
    no_args_is_help=True, help="What is learned: reports; import and export as files; what is to be forgotten."
)
learn.command()(report)
learn.command()(export)
learn.command()(forget)
learn.command("import")(import_files)
