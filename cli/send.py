"""`purple send`: send a task, follow its events, and print the answer."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Annotated

import typer

from cli.console import CommandError, err, find_own_command_name, out, print_json
from cli.gateway import client as gateway
from cli.gateway.live import LiveEventPrinter, follow_turn, send_message
from cli.gateway.messages import OutgoingMessage, TaskView, get_list_or_empty
from shared.domain.exact_json import Json, as_object, dumps, loads
from shared.domain.words import EscalationLevel, Role

_DECISIONS = ("approve", "reject")
_REQUEST_POLICY_ID = "request"  # the executor's name for rules that come with a task
_NO_RULE_APPLIED = (
    "Policy: no rule of --policy applied to a planned call: "
    "each reads a field that no call and no record has, or is about another tool."
)


def send(
    text: Annotated[str, typer.Argument(help="What is to be done, or `approve` / `reject` for a task that waits.")],
    session: Annotated[
        str | None, typer.Option(help="Go on in this session: a model is told what was said in it.")
    ] = None,
    url: gateway.Gateway = "",
    speaker: gateway.SpeakerName = "",
    role: Annotated[list[Role] | None, typer.Option(help="Roles of the speaker, such as approver.")] = None,
    level: Annotated[list[str] | None, typer.Option(help="Levels an approver may decide, such as manager.")] = None,
    task: Annotated[str | None, typer.Option(help="A further turn of this task, such as an approval.")] = None,
    policy: Annotated[str | None, typer.Option(help="Rules that come with the task: JSON or prose.")] = None,
    tools: Annotated[str | None, typer.Option(help="The tool server of this task.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="All but the writes: the plan is the answer.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Each event, with everything it carries.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of the story.")] = False,
) -> None:
    """Send a task, follow its events, and print the answer. Exit code 1 if the task failed or was refused.

    Ctrl-C stops following, not the task: `purple task show TASK` shows it later, `purple task cancel TASK` cancels it.

    Examples:

      purple send "Approve expense claim EXP-1001."

      purple send "Approve expense claim EXP-1001." --dry-run

      purple send approve --task TASK --as dana --role approver --level manager
    """
    if text.strip().lower() in _DECISIONS and task is None:
        raise typer.BadParameter(f"{text} of what? Say which task waits: --task TASK", param_hint="TEXT")
    _check_policy_json(policy)
    message = OutgoingMessage(
        text,
        gateway.build_speaker(speaker, tuple(role or ()), parse_escalation_levels(level)),
        session,
        task,
        policy,
        tools,
        dry_run,
    )
    view = asyncio.run(_connect_and_send(url, message, None if as_json else LiveEventPrinter(err, verbose=verbose)))
    if as_json:
        print_json(dumps({"id": view.id, "state": view.state, "answer": view.answer, "metadata": {**view.metadata}}))
    else:
        print_task_view(view, url, policy, is_answer=task is not None)
    raise typer.Exit(0 if view.is_completed_or_waiting else 1)


async def _connect_and_send(url: str, message: OutgoingMessage, printer: LiveEventPrinter | None) -> TaskView:
    async with gateway.connect_gateway(url) as client:
        with printer or nullcontext():
            return await send_and_follow(client, message, printer, url)


async def send_and_follow(
    client: gateway.GatewayClient, message: OutgoingMessage, printer: LiveEventPrinter | None, url: str
) -> TaskView:
    """Send a message and print its events; returns the task after the turn.

    Raises ``CommandError``; it names the task if the message had been accepted when the gateway stopped answering, or
    when the user pressed Ctrl-C.
    """
    accepted = await send_message(client, message)
    if printer:
        printer.print_task_id(accepted.task_id)
    try:
        return (await follow_turn(client, accepted, printer))[0]
    except gateway.GatewayUnreachable as error:
        raise CommandError(_describe_accepted_task(accepted.task_id, url), error.sentence) from error
    except asyncio.CancelledError as error:  # Ctrl-C: the command ends with this sentence
        raise CommandError(_describe_accepted_task(accepted.task_id, url)) from error


def _describe_accepted_task(task_id: str, url: str) -> str:
    show = _describe_task_show_command(task_id, url)
    return f"Task {task_id} was accepted and goes on, once the stack is up if it is not: {show}"


def _begins_as_json(policy: str | None) -> bool:
    return policy is not None and policy.lstrip().startswith(("{", "["))


def _check_policy_json(policy: str | None) -> None:
    """Raises ``BadParameter`` for a policy that begins like JSON and is invalid JSON; any other text is prose."""
    if policy is None or not _begins_as_json(policy):
        return
    try:
        loads(policy)
    except ValueError as error:
        raise typer.BadParameter(f"it begins as JSON and is none: {error}", param_hint="--policy") from error


def parse_escalation_levels(words: list[str] | None) -> tuple[str, ...]:
    """The levels that ``--level`` names, in their usual spelling; none without it."""
    try:
        return tuple(EscalationLevel.parse(word).word for word in words or ())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--level") from error


def print_task_view(view: TaskView, url: str, policy: str | None, *, is_answer: bool) -> None:
    """Print the task's answer and state.

    ``policy``: the rules that came with the message, None for none. ``is_answer``: the message was a decision or a
    further turn; if the task still waits, the reason is printed in place of its question.
    """
    reason = str(view.metadata.get("reason") or "").partition("\n\n")[0]
    is_waiting = view.state == "input-required"
    out.print(reason if is_answer and is_waiting and reason else view.answer, soft_wrap=True)
    if notice := view.metadata.get("model_notice"):
        err.print(f"({notice})", style="dim")
    for note in list_policy_notes(view.metadata, policy):
        err.print(note, style="bold yellow", soft_wrap=True)
    escalated = ", escalated" if view.metadata.get("escalated") else ""
    err.print(f"task {view.id}: {view.state}{escalated}", style="bold" if view.is_completed_or_waiting else "bold red")
    if is_waiting and view.metadata.get("doubts"):
        err.print(f"It waits for an operator: {_describe_task_show_command(view.id, url)}", soft_wrap=True)
    elif is_waiting:
        err.print(f"It waits: {describe_how_to_approve(view, url)}", soft_wrap=True)
    elif view.is_open:
        err.print(f"It goes on: {_describe_task_show_command(view.id, url)}", soft_wrap=True)


def list_policy_notes(metadata: Mapping[str, Json], policy: str | None) -> list[str]:
    """Sentences on what of the policies had no effect: rules about tools that nobody offers, and the rules of
    ``policy``, which came with the task (None if none did), if none of them applied to a planned call.
    """
    notes = [f"Policy: {note}." for note in get_list_or_empty(metadata.get("policy_notes"))]
    verdict = as_object(metadata.get("verdict"))
    ruled_calls = as_object(verdict.get("ruledCalls"))
    is_ruled = any(_REQUEST_POLICY_ID in get_list_or_empty(ids) for ids in ruled_calls.values())
    if _begins_as_json(policy) and ruled_calls and not is_ruled and not verdict.get("reportedRules"):
        notes.append(_NO_RULE_APPLIED)
    return notes


def _describe_task_show_command(task_id: str, url: str) -> str:
    return f"{find_own_command_name()} task show {task_id}{_build_url_option(url)}"


def describe_how_to_approve(view: TaskView, url: str) -> str:
    """What a person types to approve what the task waits for, and with whose name or key: to be read, not run."""
    approve = f"{find_own_command_name()} approvals approve {view.metadata.get('approval_id')}"
    if os.environ.get(gateway.API_KEY_VARIABLE):
        key_owner = f"an approver's key of level {view.level}" if view.level else "an approver's key"
        return f"{approve}{_build_url_option(url)}, with {key_owner} in {gateway.API_KEY_VARIABLE}"
    level = f" --level {view.level}" if view.level else ""
    return f"{approve} --as NAME{level}{_build_url_option(url)}"


def _build_url_option(url: str) -> str:
    """The ``--url`` option with which another command reaches the same gateway; empty if none is needed."""
    return "" if url == os.environ.get("PURPLE_URL", "") else f" --url {url}"
