"""`purple tenant record`: show, change and restore the versions of a tenant's record (policies, connections, caps)."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cli.child_json import run_module_for_json
from cli.console import CommandError, build_text_table, err, indent_json, join_values, out, print_answer, print_json
from cli.gateway.client import (
    AsJson,
    Gateway,
    SpeakerName,
    ask_as_operator,
    ask_gateway,
    build_path,
    build_speaker_claim,
    print_rows,
)
from cli.gateway.messages import get_list_or_empty
from shared.domain.exact_json import Json, JsonObject, as_object, loads_object, objects_in

_TIMEOUT_SECONDS = 60.0
_EXIT_DIFFERS = 1
TenantId = Annotated[str, typer.Argument(help="The tenant; the embedded profile has one, `default`.")]
RecordFile = Annotated[Path, typer.Argument(help="The record, as `show` prints it.", exists=True, dir_okay=False)]
Comment = Annotated[str, typer.Option(help="Why: it stands in the history.")]

record = typer.Typer(no_args_is_help=True, help="A tenant's record: show it, replace it, look back, go back.")


@record.command("show")
def show_record(
    tenant_id: TenantId,
    version: Annotated[int | None, typer.Option(help="An earlier version.", min=1)] = None,
    speaker: SpeakerName = "",
    url: Gateway = "",
    as_json: AsJson = False,
) -> None:
    """Print the record as JSON, to be edited and stored with `set`. It holds references to secrets, not secrets.

    If no record is stored, the executors use that of their TENANT_FILE, which this command cannot show.

    Example:

      purple tenant record show default > record.json
    """
    answer = _fetch_record(url, tenant_id, speaker, version)
    print_answer(answer, _print_record, as_json=as_json)


def _print_record(answer: JsonObject) -> None:
    err.print(_describe_version(answer), style="dim", soft_wrap=True)
    print_json(indent_json(answer.get("record")))


def _print_stored_version(tenant_id: str, answer: JsonObject, as_json: bool) -> None:
    sentence = f"tenant {tenant_id}: {_describe_version(answer)}"
    print_answer(answer, lambda _: out.print(sentence, style="bold", soft_wrap=True), as_json=as_json)


@record.command("set")
def store_record(
    tenant_id: TenantId,
    file: RecordFile,
    comment: Comment = "",
    force: Annotated[bool, typer.Option("--force", help="Replace whichever version holds now.")] = False,
    speaker: SpeakerName = "",
    url: Gateway = "",
    as_json: AsJson = False,
) -> None:
    """Store a new version of the record. Tasks use it from their next turn on, but keep the policies they began with.

    The file's `version` is the one it was edited from: if a newer one has been stored since, the command fails. Fields
    and rules are checked first, as `purple policy check` does, and every error is printed.

    Example:

      purple tenant record set default record.json --comment "the ERP has a new address"
    """
    document = _read_record_file(file)
    _require_valid_record(file, document, tenant_id)
    document["version"] = _choose_base_version(url, tenant_id, speaker, document.get("version"), force=force)
    body: JsonObject = {"record": document, "comment": comment, **build_speaker_claim(speaker)}
    answer = ask_gateway(url, "PUT", build_path("tenants", tenant_id, "record"), body)
    _print_stored_version(tenant_id, answer, as_json)


@record.command("diff")
def show_changes(tenant_id: TenantId, file: RecordFile, speaker: SpeakerName = "", url: Gateway = "") -> None:
    """Show what `set` would change. Exit code 0 if nothing, 1 otherwise.

    Example:

      purple tenant record diff default record.json
    """
    versions = objects_in(_fetch_history(url, tenant_id, speaker).get("versions"))
    if versions and not versions[0].get("withdrawn"):
        lines_before = _format_record_lines(_fetch_record(url, tenant_id, speaker).get("record"))
    else:
        lines_before = []
        err.print("No record is stored: that of TENANT_FILE holds, which only executors see. All of the file is new.")
    lines_after = _format_record_lines(_read_record_file(file))
    diff_lines = list(difflib.unified_diff(lines_before, lines_after, "stored", str(file), lineterm="", n=3))
    for line in diff_lines:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "none")
        out.print(line, style=style, soft_wrap=True)
    raise typer.Exit(_EXIT_DIFFERS if diff_lines else 0)


@record.command("history")
def list_versions(tenant_id: TenantId, speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """List who changed what and when, the newest first.

    Example:

      purple tenant record history default
    """
    answer = _fetch_history(url, tenant_id, speaker)
    empty_sentence = "No record is stored: that of TENANT_FILE holds."
    print_rows(answer, "versions", _build_version_table, empty_sentence, as_json=as_json)


@record.command("restore")
def restore_version(
    tenant_id: TenantId,
    version: Annotated[int, typer.Argument(help="The version to have again: `history` lists them.", min=1)],
    comment: Comment = "",
    speaker: SpeakerName = "",
    url: Gateway = "",
    as_json: AsJson = False,
) -> None:
    """Store the content of an earlier version as a new version.

    Example:

      purple tenant record restore default 3 --comment "the new ERP is not ready"
    """
    body: JsonObject = {"version": version, "comment": comment}
    answer = ask_as_operator(url, speaker, "tenants", tenant_id, "record", "restore", body=body)
    _print_stored_version(tenant_id, answer, as_json)


@record.command("withdraw")
def withdraw_record(
    tenant_id: TenantId, comment: Comment = "", speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False
) -> None:
    """Withdraw the stored record: executors use that of their TENANT_FILE again. `restore` brings a version back.

    Example:

      purple tenant record withdraw default --comment "one file for all again"
    """
    answer = ask_as_operator(url, speaker, "tenants", tenant_id, "record", "withdraw", body={"comment": comment})
    _print_stored_version(tenant_id, answer, as_json)


def _format_record_lines(document: Json) -> list[str]:
    """The record as lines of JSON, without its version."""
    fields = {name: value for name, value in as_object(document).items() if name != "version"}
    return indent_json(fields).splitlines()


def _fetch_record(url: str, tenant_id: str, speaker: str, version: int | None = None) -> JsonObject:
    body: JsonObject = {} if version is None else {"version": version}
    return ask_as_operator(url, speaker, "tenants", tenant_id, "record", "show", body=body)


def _fetch_history(url: str, tenant_id: str, speaker: str) -> JsonObject:
    return ask_as_operator(url, speaker, "tenants", tenant_id, "record", "history")


def _choose_base_version(url: str, tenant_id: str, speaker: str, edited_version: Json, *, force: bool) -> str:
    """The version that the file is to replace: the one it was made from (``edited_version``).

    With ``force``, or if the record was withdrawn, the newest version; "0" if there never was one. Raises
    ``CommandError`` if there is a record and no ``edited_version``.
    """
    rows = objects_in(_fetch_history(url, tenant_id, speaker).get("versions"))
    if not rows:
        return "0"
    if force or rows[0].get("withdrawn"):
        return str(rows[0].get("version"))
    if edited_version is None:
        advice = f"`purple tenant record show {tenant_id}` prints it with its version; --force replaces it unseen."
        raise CommandError(
            "There is a record already, and the file does not say from which version it was made.", advice
        )
    return str(edited_version)


def _read_record_file(file: Path) -> JsonObject:
    try:
        return loads_object(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read as a record: {error}") from error


def _require_valid_record(file: Path, document: JsonObject, tenant_id: str) -> None:
    """Check the record with the policy service's own command, since a gateway may run without that service.

    Prints all errors and raises ``CommandError`` if there are any.
    """
    if not document.get("policies"):  # the gateway names all that is wrong with the rest
        return
    arguments = ("check", str(file), "--tenant", tenant_id)
    answer = run_module_for_json("services.policy", *arguments, doing="Checking the record", seconds=_TIMEOUT_SECONDS)
    problems = objects_in(as_object(answer.get("details")).get("problems"))
    sentences = [f"policies: {rule.get('policyId')}.{rule.get('ruleId')}: {rule.get('message')}" for rule in problems]
    sentences += [f"{field.get('field')}: {field.get('problem')}" for field in objects_in(answer.get("fields"))]
    sentences += [
        f"policies: nobody reads the field {name}" for name in get_list_or_empty(answer.get("unknown_fields"))
    ]
    for sentence in sentences:
        err.print(sentence, soft_wrap=True)
    if sentences:
        raise CommandError("Nothing was stored: the record cannot be used as it is.")


def _describe_version(answer: JsonObject) -> str:
    repeated = f", which is version {answer.get('restored')} again" if answer.get("restored") else ""
    repeated = ", without a record" if answer.get("withdrawn") else repeated
    comment = f": {answer.get('comment')}" if answer.get("comment") else ""
    return f"version {answer.get('version')}{repeated}, stored by {answer.get('by')} at {answer.get('at')}{comment}"


def _build_version_table(rows: list[JsonObject]) -> Table:
    def list_cells(row: JsonObject) -> Sequence[object]:
        changes = join_values(row["changed"]) if isinstance(row.get("changed"), list) else "all of it"
        if row.get("withdrawn"):
            changes = "withdrawn"
        elif row.get("restored"):
            changes = f"version {row.get('restored')} again: {changes}"
        return row.get("version"), row.get("at"), row.get("by"), changes or "nothing", row.get("comment")

    return build_text_table(("version", "when", "who", "what", "why"), map(list_cells, rows))
