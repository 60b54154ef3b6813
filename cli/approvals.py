"""`purple approvals`: list, show, approve and reject the calls that wait for a person's decision."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer
from rich.table import Table

from cli.console import (
    build_text_table,
    err,
    format_local_time,
    format_plain_text,
    join_values,
    out,
    print_answer,
    print_json,
)
from cli.gateway import client as gateway
from cli.gateway.messages import get_list_or_empty
from cli.send import parse_escalation_levels
from cli.task import print_task
from shared.domain.exact_json import JsonObject, dumps, objects_in
from shared.domain.words import Role, describe_decider

ApprovalId = Annotated[str, typer.Argument(help="The approval's id: `purple approvals list` shows them.")]
Comment = Annotated[str, typer.Option(help="Why, for whoever reads it later.")]
Levels = Annotated[
    list[str] | None,
    typer.Option("--level", help="Levels the speaker may decide (embedded profile only); none, if nothing is said."),
]

_STATUS_BY_DECISION = {"approve": "approved", "reject": "rejected"}
_WAIT_SECONDS = 30.0  # seconds for what comes of a decision

approvals = typer.Typer(no_args_is_help=True, help="What waits for a person's yes: list, look, approve, reject.")


@approvals.command("list")
def list_approvals(url: gateway.Gateway = "", as_json: gateway.AsJson = False) -> None:
    """List the approvals that wait for a decision, the nearest deadline first.

    Example:

      purple approvals list
    """
    answer = gateway.run_with_gateway(
        url, lambda client: client.read_all_pages("/approvals", "approvals", {"limit": "100"})
    )
    gateway.print_rows(answer, "approvals", _build_approvals_table, "Nothing waits for an approval.", as_json=as_json)


@approvals.command("show")
def show_approval(approval_id: ApprovalId, url: gateway.Gateway = "", as_json: gateway.AsJson = False) -> None:
    """Show one approval: its calls with the source of each argument, why approval is needed, and the decisions so far.

    Example:

      purple approvals show 1f0c9a7b3d2e4a5b
    """
    print_answer(
        gateway.ask_gateway(url, "GET", gateway.build_path("approvals", approval_id)), _print_approval, as_json=as_json
    )


@approvals.command("approve")
def approve_calls(
    approval_id: ApprovalId,
    comment: Comment = "",
    speaker: gateway.SpeakerName = "",
    level: Levels = None,
    url: gateway.Gateway = "",
    as_json: gateway.AsJson = False,
) -> None:
    """Approve the calls of one approval, wait for the task, and show its result.

    You need the role approver at the approval's level, and cannot approve your own request. Without API keys (embedded
    profile), `--as` and `--level` say who you are.

    Example:

      purple approvals approve 1f0c9a7b3d2e4a5b --as dana --level manager
    """
    _submit_decision("approve", approval_id, comment, speaker, level, url, as_json)


@approvals.command("reject")
def reject_calls(
    approval_id: ApprovalId,
    comment: Comment = "",
    speaker: gateway.SpeakerName = "",
    level: Levels = None,
    url: gateway.Gateway = "",
    as_json: gateway.AsJson = False,
) -> None:
    """Reject the calls of one approval: none of them is made, and the task ends as rejected.

    Example:

      purple approvals reject 1f0c9a7b3d2e4a5b --as dana --level manager --comment "not this quarter"
    """
    _submit_decision("reject", approval_id, comment, speaker, level, url, as_json)


def _submit_decision(
    decision: str, approval_id: str, comment: str, speaker: str, level: list[str] | None, url: str, as_json: bool
) -> None:
    claim = gateway.build_speaker_claim(speaker, Role.APPROVER, parse_escalation_levels(level))
    body: JsonObject = {"decision": decision, "comment": comment, **claim}
    if as_json:
        return print_json(dumps(gateway.ask_gateway(url, "POST", gateway.build_path("approvals", approval_id), body)))
    return gateway.run_with_gateway(url, lambda client: _decide_and_wait(client, approval_id, body))


async def _decide_and_wait(client: gateway.GatewayClient, approval_id: str, body: JsonObject) -> None:
    """Decide an approval, and print the decision and its task once that has ended or waits again."""
    path = gateway.build_path("approvals", approval_id)
    approval = await client.request_json("GET", path)
    was_decided = approval.get("status") == _STATUS_BY_DECISION.get(str(body["decision"]))
    if not was_decided:
        approval = await client.request_json("POST", path, body)
    task_id = str(approval.get("task_id"))
    with suppress(TimeoutError):
        async with asyncio.timeout(_WAIT_SECONDS):
            async for _ in client.stream_events(task_id):  # until it has ended, or waits for somebody
                pass
    _print_decision(approval, was_decided)
    print_task(await client.request_json("GET", gateway.build_path("tasks", task_id)))


def _print_decision(approval: JsonObject, was_decided: bool) -> None:
    """Print a decision. ``was_decided``: the same decision had been made before this command."""
    prefix = "already " if was_decided else ""
    by = ", ".join(str(decision.get("by")) for decision in objects_in(approval.get("decisions")))
    is_waiting = approval.get("status") == "waiting"
    sentence = f"a decision by {by} counts" if is_waiting else f"{prefix}{approval.get('status')} by {by}"
    out.print(f"approval {approval.get('approval_id')}: {sentence}", style="bold")
    if is_waiting:
        err.print(f"it goes on waiting: {_describe_approver(approval)}", style="dim")


def _print_approval(approval: JsonObject) -> None:
    head = f"approval {approval.get('approval_id')}: {approval.get('status')}"
    state = f", task {approval.get('task_id')}: {approval.get('task_state')}" if approval.get("task_state") else ""
    out.print(head + state, style="bold")
    out.print(str(approval.get("task")))
    for reason in get_list_or_empty(approval.get("reasons")):
        err.print(f"because {reason}", style="dim")
    out.print(_build_calls_table(objects_in(approval.get("calls"))))
    if figures := objects_in(approval.get("figures")):
        out.print(_build_figures_table(figures))
    if reads := objects_in(approval.get("evidence")):
        out.print(_build_reads_table(reads))
    for escalation in objects_in(approval.get("escalations")):
        decider = describe_decider(str(escalation.get("level") or ""))
        out.print(f"not decided by {decider} before {format_local_time(escalation.get('deadline'))}")
    for decision in objects_in(approval.get("decisions")):
        comment = f": {decision.get('comment')}" if decision.get("comment") else ""
        out.print(f"{decision.get('decision')} by {decision.get('by')}{comment}")
    deadline = format_local_time(approval.get("deadline"))
    err.print(f"{_describe_approver(approval)}, until {deadline}{_describe_next_escalation(approval)}", style="dim")
    err.print(f"plan {approval.get('plan_hash')}", style="dim")


def _build_approvals_table(rows: list[JsonObject]) -> Table:
    def list_cells(row: JsonObject) -> Sequence[object]:
        calls = ", ".join(str(call.get("tool")) for call in objects_in(row.get("calls")))
        needed = (_describe_approver(row), calls, format_local_time(row.get("deadline")))
        return row.get("approval_id"), row.get("task"), row.get("requester"), *needed

    columns = ("approval", "task", "asked by", "needs", "calls", "deadline")
    return build_text_table(columns, map(list_cells, rows), "what waits for a person")


def _build_calls_table(rows: list[JsonObject]) -> Table:
    list_cells = (
        (row.get("call_id"), row.get("tool"), *map(dumps, (row.get("arguments"), row.get("origins")))) for row in rows
    )
    return build_text_table(("call", "tool", "arguments", "where they come from"), list_cells, "exactly these calls")


def _build_figures_table(rows: list[JsonObject]) -> Table:
    list_cells = ([join_values(row.get(name)) for name in ("name", "value", "operation", "operands")] for row in rows)
    return build_text_table(("figure", "value", "worked out by", "from"), list_cells, "figures")


def _build_reads_table(rows: list[JsonObject]) -> Table:
    """A table of the reads that support the plan; long results are cut."""

    def list_cells(row: JsonObject) -> Sequence[object]:
        result = format_plain_text(row.get("shows")) + (" ..." if row.get("cut") else "")
        result = "\n".join(filter(None, (result, format_plain_text(row.get("note")))))
        call = f"{row.get('tool')} {dumps(row.get('arguments'))}"
        return row.get("ref"), call, result, join_values(row.get("supports"))

    return build_text_table(("read", "asked", "showed", "supports"), map(list_cells, rows), "what it rests on")


def _describe_next_escalation(row: JsonObject) -> str:
    """What happens at the deadline if nobody has decided: the next level is asked, or the calls are rejected."""
    if row.get("status") != "waiting":
        return ""
    next_levels = get_list_or_empty(row.get("goes_on_to"))
    return f"; then it goes on to {describe_decider(str(next_levels[0]))}" if next_levels else "; no answer means no"


def _describe_approver(row: JsonObject) -> str:
    level = describe_decider(str(row.get("level") or ""))
    yes_count = sum(decision.get("decision") == "approve" for decision in objects_in(row.get("decisions")))
    progress = f", {yes_count} of {row.get('needed')} given" if row.get("needed") != 1 else ""
    step = row.get("confirmation")
    confirmation = f" ({step.get('number')} of {step.get('of')}: {step.get('about')})" if isinstance(step, dict) else ""
    return f"{level}{progress}{confirmation}"
