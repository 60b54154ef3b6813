"""`purple audit`: list each write: who asked for it and approved it, what was sent, its status, and its proof."""

import csv
import io
from collections.abc import Callable
from typing import Annotated

import typer

from cli.console import CommandError, format_local_time, format_plain_text, out, print_json
from cli.gateway.client import AsJson, Gateway, run_with_gateway
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, objects_in

_PRINTED_FIELDS = ("tool", "arguments", "asked_by", "approved_by", "why", "status", "proof", "sent")
_CSV_FIELDS = (
    *("task_id", "session_id", "process_type", "task_state", "asked_by", "asked_at"),
    *("call_id", "connection", "tool", "class", "arguments", "arguments_sha256", "provenance", "figures"),
    *("approved_by", "allowed_by", "approvals", "rules", "policy_hash", "plan_hash"),
    *("status", "proof", "read_back", "shows_sha256", "sent_at", "attempt", "compensates", "operators"),
    *("kept_in", "problem"),
)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def audit(
    task: Annotated[str, typer.Option(help="Only this task's.")] = "",
    session: Annotated[str, typer.Option(help="Only this session's.")] = "",
    since: Annotated[str, typer.Option(help="Writes from then on, such as 2026-01-31 or 2026-01-31T12:00:00Z.")] = "",
    until: Annotated[str, typer.Option(help="Writes before then.")] = "",
    url: Gateway = "",
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values instead of a table.")] = False,
) -> None:
    """List each write: who asked for it and approved it, what was sent, the rules that applied, its status and proof.

    Example:

      purple audit --since 2026-01-01 --csv > writes.csv
    """
    if as_json and as_csv:
        raise CommandError("--json and --csv exclude each other.", "Ask for one of them.")
    options = {"task": task, "session": session, "since": since, "until": until}
    filters = {name: value for name, value in options.items() if value}
    answer = run_with_gateway(url, lambda client: client.read_all_pages("/audit", "writes", filters))
    writes = objects_in(answer.get("writes"))
    if as_json:
        print_json(dumps(answer))
    elif as_csv:
        out.file.write(format_writes_as_csv(writes))
    else:
        print_writes(writes)


def format_writes_as_csv(writes: list[JsonObject]) -> str:
    """The writes as CSV with a header. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_FIELDS)
    for write in writes:
        flat = {**write, **_flatten_write(write)}
        writer.writerow([_format_csv_cell(flat.get(name)) for name in _CSV_FIELDS])
    return text.getvalue()


def _flatten_write(write: JsonObject) -> JsonObject:
    policy, proof = as_object(write.get("policy")), as_object(write.get("proof"))
    return {
        "asked_by": as_object(write.get("asked_by")).get("id"),
        "approved_by": _describe_approval(write),
        "rules": "; ".join(f"{rule.get('rule')}: {rule.get('reason')}" for rule in objects_in(policy.get("rules"))),
        "policy_hash": policy.get("policy_hash"),
        "proof": proof.get("note"),
        "read_back": proof.get("read_back"),
        "shows_sha256": proof.get("shows_sha256"),
    }


def print_writes(writes: list[JsonObject]) -> None:
    """Print a block of lines for each write, so that nothing is cut on a narrow screen."""
    count = sum("problem" not in write for write in writes)
    out.print("1 write" if count == 1 else f"{count} writes", style="bold")
    for write in writes:
        flat = {**write, **_flatten_write(write), "sent": format_local_time(write.get("sent_at"))}
        flat["approved_by"] = _describe_approval(write, format_local_time)
        flat["why"] = flat["rules"] or "no rule asked for anybody's yes"
        call = f" call {flat['call_id']}" if "call_id" in flat else ""
        out.print(f"\ntask {flat.get('task_id')}{call}", style="bold", soft_wrap=True)
        for name in ("problem",) if "problem" in flat else _PRINTED_FIELDS:
            line = f"  {name.replace('_', ' '):<12}{format_plain_text(flat.get(name))}"
            out.print(line, soft_wrap=True)


def _describe_approval(write: JsonObject, show_time: Callable[[Json], str] = format_plain_text) -> str:
    """Who approved the write, when, and with which comment; if nobody did, what allowed the write."""
    sentences = []
    for approval in objects_in(write.get("approvals")):
        for decision in objects_in(approval.get("decisions")):
            if decision.get("decision") == "approve":
                comment = f" ({decision['comment']})" if decision.get("comment") else ""
                sentences.append(f"{decision.get('by')} at {show_time(decision.get('at'))}{comment}")
    return "; ".join(sentences) or format_plain_text(write.get("allowed_by"))


def _format_csv_cell(value: Json) -> str:
    text = format_plain_text(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
