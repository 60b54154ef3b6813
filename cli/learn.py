"""`purple learn`: export, import and forget what the worker has learned, and read benchmark reports."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.child_json import run_module_for_json
from cli.console import CommandError, build_text_table, err, indent_json, out, print_answer, print_json
from cli.gateway import client as gateway
from cli.gateway.messages import get_list_or_empty
from shared.contracts.learning_files import LearningFile
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, loads, objects_in

_EXIT_REFUSED = 1
_OWNER_ONLY_MODE = 0o600
_ENTITIES_PER_REQUEST = 250  # entities in one request


def export_learned(
    folder: Annotated[Path, typer.Argument(help="Where the files go; it is made if it is not there.", file_okay=False)],
    speaker: gateway.SpeakerName = "",
    url: gateway.Gateway = "",
    as_json: gateway.AsJson = False,
) -> None:
    """Write what was learned for the tenant to files: cases, bandit, facts, processes, entities, statistics.

    Requires the role operator. docs/learning-files.md describes the files, which only their owner can read.

    Example:

      purple learn export ./learned
    """
    files = as_object(gateway.ask_as_operator(url, speaker, "learn", "export").get("files"))
    contents = {name: files[name] for name in map(str, LearningFile) if name in files}  # no other leads anywhere
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file_name, content in contents.items():
            _write_for_owner(folder / file_name, indent_json(content) + "\n")
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror}.") from error
    sizes: JsonObject = {file_name: _count_entries(content) for file_name, content in contents.items()}
    table = build_text_table(("file", "entries"), ((folder / file_name, size) for file_name, size in sizes.items()))
    print_answer({"folder": str(folder), "entries": sizes}, lambda _: out.print(table), as_json=as_json)


def _write_for_owner(path: Path, text: str) -> None:
    """Write a file that only its owner can read, since learned data has the texts of tasks."""
    path.touch(mode=_OWNER_ONLY_MODE)
    path.chmod(_OWNER_ONLY_MODE)
    path.write_text(text, encoding="utf-8")


def _import_files(
    folder: Annotated[Path, typer.Argument(help="The folder with the files.", exists=True, file_okay=False)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would become of each file.")] = False,
    speaker: gateway.SpeakerName = "",
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
        file_part for file, content in _read_contents(folder).items() for file_part in split_for_requests(file, content)
    ]
    dry_reports = [_import_file(url, speaker, file, content, dry_run=True) for file, content in contents]
    is_refused = any(report.get("problems") for report in dry_reports)
    reports = dry_reports
    if not (is_refused or dry_run):
        reports = [_import_file(url, speaker, file, content, dry_run=False) for file, content in contents]
        is_refused = any(report.get("problems") for report in reports)
    _print_reports(reports, is_refused, as_json)
    if is_refused:
        raise typer.Exit(_EXIT_REFUSED)


def _read_contents(folder: Path) -> dict[LearningFile, Json]:
    paths = {file: folder / file.value for file in LearningFile if (folder / file.value).is_file()}
    if not paths:
        names = ", ".join(LearningFile)
        raise CommandError(f"{folder} holds none of the files.", f"They are called {names}.")
    try:
        return {file: loads(path.read_text(encoding="utf-8")) for file, path in paths.items()}
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CommandError(f"A file in {folder} is no JSON: {error}.") from error


def split_for_requests(file: LearningFile, content: Json) -> list[tuple[LearningFile, Json]]:
    """The file in pieces that each fit into one request: entities are split, other files stay whole."""
    rows = content.get("entities") if isinstance(content, dict) else None
    if file is not LearningFile.ENTITIES or not isinstance(rows, list) or len(rows) <= _ENTITIES_PER_REQUEST:
        return [(file, content)]
    return [
        (file, {"entities": rows[start : start + _ENTITIES_PER_REQUEST]})
        for start in range(0, len(rows), _ENTITIES_PER_REQUEST)
    ]


def _import_file(url: str, speaker: str, file: LearningFile, content: Json, *, dry_run: bool) -> JsonObject:
    body: JsonObject = {"file": file.value, "content": content, "dry_run": dry_run}
    with err.status(f"{'Checking' if dry_run else 'Importing'} {file.value} ..."):
        return gateway.ask_as_operator(url, speaker, "learn", "import", body=body)


def _print_reports(reports: list[JsonObject], is_refused: bool, as_json: bool) -> None:
    if as_json:
        return print_json(dumps({"imported": not is_refused, "files": [*reports]}))
    taken_title = "would be taken" if is_refused or all(report.get("dry_run") for report in reports) else "taken"
    table = Table("file", taken_title, "known", "left out", "problems")
    for report in reports:
        cells = (str(report.get(key, "")) for key in ("file", "taken", "known", "left_out"))
        problems = "\n".join(map(str, get_list_or_empty(report.get("problems"))))
        table.add_row(*cells, Text(problems, "red"))
    out.print(table)
    if is_refused:
        err.print("Nothing was imported: every file must be right.", style="bold red")
    return None


def _count_entries(content: Json) -> int:
    if isinstance(content, dict):
        inner = next((content[name] for name in ("facts", "entities", "counts") if name in content), content)
        return len(inner) if isinstance(inner, dict | list) else 1
    return len(content) if isinstance(content, list) else 1


_FORGET_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.2
_EXIT_NOT_YET, _EXIT_DECLINED = 3, 1


def forget_learned(
    entity: Annotated[str, typer.Option(help="A vendor, person, id or anything else, as people write it.")] = "",
    session: Annotated[str, typer.Option(help="A session: what its tasks taught, and what it remembers.")] = "",
    tenant: Annotated[bool, typer.Option("--tenant", help="All that was learned of the tenant.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    speaker: gateway.SpeakerName = "",
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
    scope, subject = _choose_scope_and_subject(entity, session, tenant)
    if not yes:
        _confirm_forget(scope, subject)
    request = gateway.run_with_gateway(url, lambda client: _forget_and_wait(client, scope, subject, speaker))
    print_answer(request, _print_forget_request, as_json=as_json)
    if request.get("state") != "done":
        err.print("It goes on; look again with the same command.", style="yellow")
        raise typer.Exit(_EXIT_NOT_YET)


def _choose_scope_and_subject(entity: str, session: str, tenant: bool) -> tuple[str, str]:
    subjects = [(scope, subject) for scope, subject in (("entity", entity), ("session", session)) if subject]
    subjects += [("tenant", "")] if tenant else []
    if len(subjects) != 1:
        raise CommandError("Say one of --entity, --session and --tenant: what is to be forgotten.")
    return subjects[0]


def _confirm_forget(scope: str, subject: str) -> None:
    content = "all that was learned of the tenant" if scope == "tenant" else f"what was learned of {scope} {subject!r}"
    if not sys.stdin.isatty():
        raise CommandError(f"Nobody is here to say yes to forgetting {content}.", "Say --yes.")
    if not typer.confirm(f"Forget {content}, for good?", err=True):
        err.print("Nothing was forgotten.")
        raise typer.Exit(_EXIT_DECLINED)


async def _forget_and_wait(client: gateway.GatewayClient, scope: str, subject: str, speaker: str) -> JsonObject:
    """Send a request to forget and wait until it is done or a time limit is reached; returns the request's state."""
    request = await client.request_json(
        "POST", "/memory/forget", {"scope": scope, "subject": subject, **gateway.build_speaker_claim(speaker)}
    )
    until = asyncio.get_running_loop().time() + _FORGET_WAIT_SECONDS
    with err.status("Waiting for a learner ...") as status:
        while request.get("state") != "done" and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(_POLL_SECONDS)
            path = gateway.build_path("memory", "forget", str(request["request_id"]), "show")
            request = await client.request_json("POST", path, gateway.build_speaker_claim(speaker))
            if request.get("state") == "working":
                status.update("Removed; waiting for outcomes that were under way ...")
    return request


def _print_forget_request(request: JsonObject) -> None:
    removed = _list_name_value_rows(request.get("removed"))
    remaining = _list_name_value_rows(request.get("left"))
    out.print(build_text_table(("removed", "how many"), removed) if removed else "Nothing of it was remembered.")
    if remaining:
        out.print(build_text_table(("stays", "why, and until when"), remaining))


def _list_name_value_rows(value: Json) -> list[tuple[str, str]]:
    return [(key.replace("_", " "), str(text)) for key, text in as_object(value).items()]


_TIMEOUT_SECONDS = 120.0
_TABLE_TITLES = (
    ("dimension_analysis", "Dimensions"),
    ("top_failures", "Top failures"),
    ("scenario_difficulty_ranking", "Scenarios by difficulty"),
    ("next_4h_recommended_tests", "Recommended tests"),
)
_HEAD_FIELDS = ("generated_at", "period_hours", "total_runs", "pass_rate", "source")
_MOST_ROWS = 20  # lines of a table
_LONGEST_CELL = 60  # characters of a cell


def show_report(
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
    answer = run_module_for_json("services.learner", *arguments, doing="Reading reports", seconds=_TIMEOUT_SECONDS)
    training_rows = objects_in(answer.pop("training_rows"))
    if rows is not None:
        try:
            rows.write_text("".join(f"{dumps(row)}\n" for row in training_rows))
        except OSError as error:
            raise CommandError(f"{rows} cannot be written: {error.strerror}.") from error
        answer["written"] = {"file": str(rows), "rows": len(training_rows)}
    if as_json:
        return print_json(dumps(answer))
    for report_json in objects_in(answer.get("reports")):
        _print_report(report_json)
    return _print_left_out(answer, rows is not None)


def _print_report(report_json: JsonObject) -> None:
    names = [name for name in _HEAD_FIELDS if report_json.get(name) is not None]
    head = ", ".join(f"{name.replace('_', ' ')} {_format_cell(report_json[name])}" for name in names)
    out.print(head, style="bold", soft_wrap=True)
    for name, title in _TABLE_TITLES:
        if part := as_object(report_json.get(name)):
            _print_report_table(title, part)


def _print_report_table(title: str, part: JsonObject) -> None:
    columns, rows = get_list_or_empty(part.get("columns")), get_list_or_empty(part.get("rows"))
    if not rows:
        out.print(f"{title}: none.", style="dim")
        return
    table = Table(*(str(name).replace("_", " ") for name in columns), title=title, title_justify="left")
    for row in rows[:_MOST_ROWS]:
        cells = row if isinstance(row, list) else [row]
        table.add_row(*(_format_cell(cell) for cell in cells))
    out.print(table)
    if len(rows) > _MOST_ROWS:
        err.print(f"and {len(rows) - _MOST_ROWS} more: --json has all of them", style="dim")


def _print_left_out(answer: JsonObject, has_written_rows: bool) -> None:
    for name, consequence in (("unread", "was left out"), ("skipped", "became no training row")):
        reasons = get_list_or_empty(answer.get(name))
        if reasons and (name == "unread" or has_written_rows):
            first_reasons = "; ".join(map(str, reasons[:3]))
            err.print(f"{len(reasons)} {consequence}: {first_reasons}", style="yellow", soft_wrap=True)
    if written := as_object(answer.get("written")):
        out.print(f"{written['rows']} training rows in {written['file']}", soft_wrap=True)


def _format_cell(value: Json) -> str:
    match value:
        case None:
            return ""
        case str():
            text = value
        case list():
            text = ", ".join(map(_format_cell, value))
        case dict():
            text = ", ".join(f"{name}: {_format_cell(inner)}" for name, inner in value.items())
        case _:
            text = dumps(value)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 3]}..."


learn = typer.Typer(
    no_args_is_help=True, help="What is learned: reports; import and export as files; what is to be forgotten."
)
learn.command("report")(show_report)
learn.command("export")(export_learned)
learn.command("forget")(forget_learned)
learn.command("import")(_import_files)
