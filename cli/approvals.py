"""`purple approvals`: what waits for a person's yes: list, look, approve, reject."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.console import err, out, say_json
from cli.gateway.asking import AsJson, Gateway, Name, ask_gateway, objects_in, speaker_claim
from cli.gateway.client import path_of
from cli.send import DEFAULT_URL, levels_of
from cli.times import moment
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import Level, Role, decider

ApprovalId = Annotated[str, typer.Argument(help="The approval's id: `purple approvals list` shows them.")]
Comment = Annotated[str, typer.Option(help="Why, for whoever reads it later.")]
Levels = Annotated[
    list[str] | None,
    typer.Option("--level", help="Levels the speaker may decide (embedded profile only); else all."),
]

approvals = typer.Typer(no_args_is_help=True, help="What waits for a person's yes: list, look, approve, reject.")


@approvals.command("list")
def list_approvals(url: Gateway = DEFAULT_URL, as_json: AsJson = False) -> None:
    """List the approvals that wait, the nearest deadline first.

    Example:

      purple approvals list
    """
    found = ask_gateway(url, "GET", "/approvals")
    if as_json:
        return say_json(dumps(found))
    rows = objects_in(found.get("approvals"))
    out.print(_list(rows) if rows else "Nothing waits for an approval.")
    return None


@approvals.command()
def show(approval_id: ApprovalId, url: Gateway = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Show one approval: the exact calls with where each argument comes from, why they ask, who has answered.

    Example:

      purple approvals show 1f0c9a7b3d2e4a5b
    """
    _say(ask_gateway(url, "GET", path_of("approvals", approval_id)), as_json)


@approvals.command()
def approve(
    approval_id: ApprovalId,
    comment: Comment = "",
    name: Name = "",
    level: Levels = None,
    url: Gateway = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Say yes to exactly these calls. It takes the role approver at the approval's level, and not one's own request.

    Example:

      purple approvals approve 1f0c9a7b3d2e4a5b --as dana --level manager
    """
    _answer("approve", approval_id, comment, name, level, url, as_json)


@approvals.command()
def reject(
    approval_id: ApprovalId,
    comment: Comment = "",
    name: Name = "",
    level: Levels = None,
    url: Gateway = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Say no: nothing is written, and the task ends as rejected.

    Example:

      purple approvals reject 1f0c9a7b3d2e4a5b --comment "not this quarter"
    """
    _answer("reject", approval_id, comment, name, level, url, as_json)


def _answer(
    word: str, approval_id: str, comment: str, name: str, level: list[str] | None, url: str, as_json: bool
) -> None:
    levels = levels_of(level) if level else tuple(one.word for one in Level)
    body: JsonObject = {"decision": word, "comment": comment, **speaker_claim(name, Role.APPROVER, levels)}
    _say(ask_gateway(url, "POST", path_of("approvals", approval_id), body), as_json)


def _say(approval: JsonObject, as_json: bool) -> None:
    if as_json:
        return say_json(dumps(approval))
    head = f"approval {approval.get('approval_id')}: {approval.get('status')}"
    state = f", task {approval.get('task_id')}: {approval.get('task_state')}" if approval.get("task_state") else ""
    out.print(Text(head + state, "bold"))
    out.print(Text(str(approval.get("task"))))
    for reason in _texts(approval.get("reasons")):
        err.print(Text(f"because {reason}", "dim"))
    out.print(_calls(objects_in(approval.get("calls"))))
    if figures := objects_in(approval.get("figures")):
        out.print(_figures(figures))
    if reads := objects_in(approval.get("evidence")):
        out.print(_reads(reads))
    for passed in objects_in(approval.get("escalations")):
        who = decider(str(passed.get("level") or ""))
        out.print(Text(f"not decided by {who} before {moment(passed.get('deadline'))}"))
    for one in objects_in(approval.get("decisions")):
        said = f": {one.get('comment')}" if one.get("comment") else ""
        out.print(Text(f"{one.get('decision')} by {one.get('by')}{said}"))
    err.print(Text(f"{_who(approval)}, until {moment(approval.get('deadline'))}{_describe_next(approval)}", "dim"))
    err.print(Text(f"plan {approval.get('plan_hash')}", "dim"))
    return None


def _list(rows: list[JsonObject]) -> Table:
    table = Table("approval", "task", "asked by", "needs", "calls", "deadline", title="what waits for a person")
    for row in rows:
        calls = ", ".join(str(call.get("tool")) for call in objects_in(row.get("calls")))
        needed = (_who(row), calls, moment(row.get("deadline")))
        cells = (row.get("approval_id"), row.get("task"), row.get("requester"), *needed)
        table.add_row(*(Text(str(cell)) for cell in cells))
    return table


def _calls(rows: list[JsonObject]) -> Table:
    table = Table("call", "tool", "arguments", "where they come from", title="exactly these calls")
    for row in rows:
        cells = (str(row.get("call_id")), str(row.get("tool")), dumps(row.get("arguments")), dumps(row.get("origins")))
        table.add_row(*map(Text, cells))
    return table


def _figures(rows: list[JsonObject]) -> Table:
    table = Table("figure", "value", "worked out by", "from", title="figures")
    for row in rows:
        cells = (row.get("name"), row.get("value"), row.get("operation"), ", ".join(_texts(row.get("operands"))))
        table.add_row(*(Text(str(cell)) for cell in cells))
    return table


def _reads(rows: list[JsonObject]) -> Table:
    """What the plan rests on; of a long answer only the beginning."""
    table = Table("read", "asked", "showed", "supports", title="what it rests on")
    for row in rows:
        shows = row.get("shows")
        showed = (shows if isinstance(shows, str) else dumps(shows)) + (" ..." if row.get("cut") else "")
        asked_for = f"{row.get('tool')} {dumps(row.get('arguments'))}"
        cells = (str(row.get("ref")), asked_for, showed, ", ".join(_texts(row.get("supports"))))
        table.add_row(*map(Text, cells))
    return table


def _describe_next(row: JsonObject) -> str:
    """What no answer comes to."""
    later = _texts(row.get("goes_on_to"))
    if row.get("status") != "waiting":
        return ""
    return f"; then it goes on to {decider(later[0])}" if later else "; no answer means no"


def _who(row: JsonObject) -> str:
    level = decider(str(row.get("level") or ""))
    given = sum(one.get("decision") == "approve" for one in objects_in(row.get("decisions")))
    several = f", {given} of {row.get('needed')} given" if row.get("needed") != 1 else ""
    step = row.get("confirmation")
    about = f" ({step.get('number')} of {step.get('of')}: {step.get('about')})" if isinstance(step, dict) else ""
    return f"{level}{several}{about}"


def _texts(value: Json) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
