"""`purple task`: show a task, cancel it, and resolve a write in doubt."""

from typing import Annotated

import typer
from rich.text import Text

from cli.console import build_text_table, err, format_local_time, format_plain_text, out, print_answer
from cli.gateway import client as gateway
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, objects_in
from shared.domain.words import DoubtResolutionKind, Role, TaskState

_STYLES = {"verified": "green", "unverified": "yellow", "refused": "red", "absent": "bold red", "in_doubt": "bold red"}

_METADATA_TABLES = (
    ("writes", "Writes", ("call_id", "tool", "arguments", "status", "note")),
    ("resolutions", "What operators said", ("call_id", "resolution", "by", "at", "comment")),
)
TaskId = Annotated[str, typer.Argument(help="The task's id.")]

task = typer.Typer(no_args_is_help=True, help="Look at one task, cancel it, and settle a write in doubt.")


@task.command("show")
def show_task(task_id: TaskId, url: gateway.Gateway = "", as_json: gateway.AsJson = False) -> None:
    """Show a task: its requester, text, state, answer and writes, and what is known of writes in doubt.

    Example:

      purple task show TASK
    """
    print_answer(gateway.ask_gateway(url, "GET", gateway.build_path("tasks", task_id)), print_task, as_json=as_json)


@task.command("cancel")
def cancel_task(
    task_id: TaskId, speaker: gateway.SpeakerName = "", url: gateway.Gateway = "", as_json: gateway.AsJson = False
) -> None:
    """Cancel a task before its next call. Writes already made stay. Exit code 1 if the task had ended already.

    Example:

      purple task cancel TASK
    """

    async def cancel_and_reread(client: gateway.GatewayClient) -> JsonObject:
        await client.cancel_task(task_id, gateway.build_speaker_claim(speaker, Role.CLIENT))
        return await client.request_json("GET", gateway.build_path("tasks", task_id))

    print_answer(gateway.run_with_gateway(url, cancel_and_reread), print_task, as_json=as_json)


@task.command("resolve")
def resolve_write(
    task_id: TaskId,
    resolution: Annotated[
        DoubtResolutionKind,
        typer.Argument(
            help="retry: it did not take hold, send it again. skip: leave it undone, go on; the task fails. "
            "done: it took hold, go on. take-over: end the task, a person does the rest."
        ),
    ],
    call: Annotated[str, typer.Option(help="The call in doubt, such as c1: `purple task show` lists them.")],
    comment: Annotated[str, typer.Option(help="Why, for whoever reads it later.")] = "",
    speaker: gateway.SpeakerName = "",
    url: gateway.Gateway = "",
    as_json: gateway.AsJson = False,
) -> None:
    """Resolve a write in doubt: say whether it was made. Requires the role operator. Exit code 1 if it has no effect.

    Examples:

      purple task resolve TASK done --call c1 --comment "seen in the ledger"

      purple task resolve TASK retry --call c1 --as olga
    """
    body: JsonObject = {
        "call": call,
        "resolution": resolution.value,
        "comment": comment,
        **gateway.build_speaker_claim(speaker),
    }
    print_answer(
        gateway.ask_gateway(url, "POST", gateway.build_path("tasks", task_id, "resolve"), body),
        print_task,
        as_json=as_json,
    )


def print_task(record: JsonObject) -> None:
    """Print a task: its requester, text, state, writes and answer, and the writes that it waits on."""
    metadata = as_object(record.get("metadata"))
    escalated = ", escalated" if metadata.get("escalated") else ""
    out.print(f"task {record.get('task_id')}: {record.get('state')}{escalated}", style="bold")
    text = as_object(record.get("request")).get("text")
    requester = as_object(metadata.get("requester")).get("id")
    out.print(f"asked by {requester}: {text}", soft_wrap=True)
    if record.get("reason"):
        out.print(str(record["reason"]), soft_wrap=True)
    for name, title, columns in _METADATA_TABLES:
        if rows := objects_in(metadata.get(name)):
            cells = ([_format_cell(column, row.get(column)) for column in columns] for row in rows)
            out.print(build_text_table(columns, cells, title))
    doubts = objects_in(metadata.get("doubts"))
    for doubt in doubts:
        _print_doubt(doubt)
    is_waiting = record.get("state") == TaskState.INPUT_REQUIRED  # its answer is only the question
    if record.get("answer") and not is_waiting and record["answer"] != record.get("reason"):
        out.print(f"answer: {record['answer']}", soft_wrap=True)
    if doubts and is_waiting:
        choices, call = "|".join(DoubtResolutionKind), doubts[0].get("call_id")
        advice = f"Settle it: purple task resolve {record.get('task_id')} {choices} --call {call}"
        err.print(advice, soft_wrap=True)


def _print_doubt(doubt: JsonObject) -> None:
    """Print a write in doubt: the call, its times, and what was read before and after it, a line for each row."""
    status = Text(str(doubt.get("status")), _STYLES.get(str(doubt.get("status")), "none"))
    call = f"{doubt.get('call_id')} {doubt.get('tool')} {dumps(doubt.get('arguments'))}: "
    out.print(Text(f"In doubt: {call}", "bold").append_text(status), soft_wrap=True)
    times = {"sent": "sent", "waited_until": "waited until", "deadline": "to be settled by"}
    moments = [f"{label} {format_local_time(str(doubt[name]))}" for name, label in times.items() if doubt.get(name)]
    out.print(f"  {', '.join(moments)}", soft_wrap=True)
    read_before, read_after = doubt.get("before"), doubt.get("after")
    is_same = read_before is not None and read_before == read_after
    out.print(f"  read before{' and after it' if is_same else ''}:{_indent_rows(read_before)}", soft_wrap=True)
    if not is_same:
        out.print(f"  read after it:{_indent_rows(read_after)}", soft_wrap=True)


def _indent_rows(rows_json: Json) -> str:
    if rows_json is None:
        return " nothing could be read"
    values = list(rows_json.values()) if isinstance(rows_json, dict) else []
    rows = values[0] if len(values) == 1 and isinstance(values[0], list) else rows_json  # a list by its name
    if isinstance(rows, list) and rows:
        return "".join(f"\n    {dumps(row)}" for row in rows)
    return f" {dumps(rows)}"


def _format_cell(name: str, value: Json) -> Text:
    """A value as plain text, in colour if it is a status."""
    text = format_local_time(value) if name == "at" else format_plain_text(value)
    return Text(text, _STYLES.get(text, "none") if name == "status" else "none")
