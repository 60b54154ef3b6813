"""`purple learn export` and `import`: what is learned of a tenant, as files."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.console import Complaint, err, give_up, out, say_json
from cli.gateway.asking import AsJson, Gateway, Name, ask_gateway, speaker_claim
from cli.indented import indent_json
from cli.send import DEFAULT_URL
from shared.contracts.learning_files import LearningFile
from shared.domain.exact_json import Json, JsonObject, dumps, loads

_REFUSED = 1
_PIECE = 250  # entities in one request


def export(
    folder: Annotated[Path, typer.Argument(help="Where the files go; it is made if it is not there.", file_okay=False)],
    name: Name = "",
    url: Gateway = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Write what is learned of the tenant as files: cases, bandit, facts, processes, entities, statistics.

    It takes the role operator. docs/learning-files.md describes the files.

    Example:

      purple learn export ./learned
    """
    found = ask_gateway(url, "POST", "/learn/export", speaker_claim(name)).get("files")
    files = found if isinstance(found, dict) else {}
    known: JsonObject = {
        name: files[name] for name in map(str, LearningFile) if name in files
    }  # no other leads anywhere
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file_name, content in known.items():
            (folder / file_name).write_text(indent_json(content) + "\n", encoding="utf-8")
    except OSError as error:
        give_up(Complaint(f"{folder} cannot be written: {error.strerror}."))
    sizes: JsonObject = {file_name: _size(content) for file_name, content in known.items()}
    if as_json:
        return say_json(dumps({"folder": str(folder), "entries": sizes}))
    table = Table("file", "entries")
    for file_name, size in sizes.items():
        table.add_row(str(folder / file_name), str(size))
    return out.print(table)


def bring(
    folder: Annotated[Path, typer.Argument(help="The folder with the files.", exists=True, file_okay=False)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would become of each file.")] = False,
    name: Name = "",
    url: Gateway = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Bring files of what is learned into the tenant: those of `export`, or the four of an earlier system.

    All files are checked before anything is stored. Imported twice, nothing counts twice: cases are merged by quality,
    and of two records of an arm the one with more pulls holds. It takes the role operator.

    Example:

      purple learn import ./learned --dry-run
      purple learn import ./learned
    """
    contents = [piece for file, content in _contents(folder).items() for piece in pieces(file, content)]
    checked = [_import_file(url, name, file, content, dry_run=True) for file, content in contents]
    refused = any(report.get("problems") for report in checked)
    reports = checked
    if not (refused or dry_run):
        reports = [_import_file(url, name, file, content, dry_run=False) for file, content in contents]
        refused = any(report.get("problems") for report in reports)
    _say(reports, refused, as_json)
    if refused:
        raise typer.Exit(_REFUSED)


def _contents(folder: Path) -> dict[LearningFile, Json]:
    found = {file: folder / file.value for file in LearningFile if (folder / file.value).is_file()}
    if not found:
        names = ", ".join(LearningFile)
        give_up(Complaint(f"{folder} holds none of the files.", f"They are called {names}."))
    try:
        return {file: loads(path.read_text(encoding="utf-8")) for file, path in found.items()}
    except OSError as error:
        give_up(Complaint(f"{error.filename} cannot be read: {error.strerror}."))
    except ValueError as error:
        give_up(Complaint(f"A file in {folder} is no JSON: {error}."))


def pieces(file: LearningFile, content: Json) -> list[tuple[LearningFile, Json]]:
    """The file, in pieces that a request may be as large as: of a thousand entities with all that they stand with."""
    rows = content.get("entities") if isinstance(content, dict) else None
    if file is not LearningFile.ENTITIES or not isinstance(rows, list) or len(rows) <= _PIECE:
        return [(file, content)]
    return [(file, {"entities": rows[first : first + _PIECE]}) for first in range(0, len(rows), _PIECE)]


def _import_file(url: str, name: str, file: LearningFile, content: Json, *, dry_run: bool) -> JsonObject:
    body: JsonObject = {"file": file.value, "content": content, "dry_run": dry_run, **speaker_claim(name)}
    with err.status(f"{'Checking' if dry_run else 'Importing'} {file.value} ..."):
        return ask_gateway(url, "POST", "/learn/import", body)


def _say(reports: list[JsonObject], refused: bool, as_json: bool) -> None:
    if as_json:
        return say_json(dumps({"imported": not refused, "files": [*reports]}))
    taken = "would be taken" if refused or all(report.get("dry_run") for report in reports) else "taken"
    table = Table("file", taken, "known", "left out", "problems")
    for report in reports:
        cells = (str(report.get(key, "")) for key in ("file", "taken", "known", "left_out"))
        problems = report.get("problems")
        lines = [str(line) for line in problems] if isinstance(problems, list) else []
        table.add_row(*cells, Text("\n".join(lines), "red"))  # words of a file, no markup
    out.print(table)
    if refused:
        err.print("Nothing was imported: every file must be right.", style="bold red")
    return None


def _size(content: Json) -> int:
    if isinstance(content, dict):
        inner = next((content[name] for name in ("facts", "entities", "counts") if name in content), content)
        return len(inner) if isinstance(inner, dict | list) else 1
    return len(content) if isinstance(content, list) else 1
