"""`purple tenant`: stop and resume a tenant, show its spending, edit its record, and test its connections."""

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.child_json import run_module_for_json
from cli.console import build_text_table, err, out, print_answer
from cli.gateway.client import AsJson, Gateway, SpeakerName, ask_as_operator
from cli.stack.registry import find_stack_environ
from cli.tenant_record import TenantId, record
from shared.domain.exact_json import JsonObject, as_object, objects_in

_TIMEOUT_SECONDS = 120.0
_PROTOCOL_NAMES = {"mcp": "MCP", "rest": "REST bridge"}

connections = typer.Typer(no_args_is_help=True, help="The tool servers of a tenant.")


@connections.command("test")
def try_connections(
    tenant_id: Annotated[str, typer.Argument(help="The tenant.")] = "default",
    file: Annotated[
        Path | None, typer.Option(help="Try this record, before it is stored.", exists=True, dir_okay=False)
    ] = None,
    only: Annotated[str, typer.Option(help="The id of one connection.")] = "",
    as_json: AsJson = False,
) -> None:
    """Test each connection: whether it can be reached and accepts its credential, its protocol, and its tools.

    Run it in the executor's environment, which has the secrets: with its REDIS_URL (or TENANT_FILE),
    GREEN_AGENT_MCP_URL and CREDENTIALS_DIR. Where neither of the first two is set, those of the stack that runs here
    are taken. Only the lists of tools are called. Exit code 0 if every connection works.

    Examples:

      purple tenant connections test

      purple tenant connections test acme --only erp --json

      kubectl exec deploy/executor -- python -m services.executor connections --tenant acme
    """
    arguments = ("--tenant", tenant_id, "--only", only, *(("--tenant-file", str(file)) if file else ()), "--json")
    command = ("services.executor", "connections", *arguments)
    answer = run_module_for_json(
        *command, doing="Trying", seconds=_TIMEOUT_SECONDS, environ=_build_executor_environ(), code=2
    )
    print_answer(answer, _print_connections, as_json=as_json)
    raise typer.Exit(0 if all(row.get("good") for row in objects_in(answer.get("connections"))) else 1)


def _build_executor_environ() -> dict[str, str]:
    """The environment; without a record's place in it, with what leads to the stack that runs here."""
    if os.environ.get("REDIS_URL") or os.environ.get("TENANT_FILE"):
        return dict(os.environ)
    return {**find_stack_environ(os.environ.get("PURPLE_URL", "")), **os.environ}


def _print_connections(answer: JsonObject) -> None:
    rows = objects_in(answer.get("connections"))
    columns = ("connection", "reached", "credential", "speaks", "tools")
    title = f"tenant {answer.get('tenant')}"
    out.print(build_text_table(columns, map(_list_connection_cells, rows), title))
    err.print(f"from {answer.get('source')}", style="dim", soft_wrap=True)
    for row in rows:
        if problem := row.get("credential_problem") or row.get("problem"):
            err.print(f"{row.get('id')} at {row.get('url')}: {problem}", style="red", soft_wrap=True)


def _list_connection_cells(row: JsonObject) -> Sequence[object]:
    reached = Text("yes", "green") if row.get("good") else Text("no", "bold red")
    protocol = str(row.get("protocol"))
    credential = Text("none", "dim") if row.get("credential") is None else Text(str(row["credential"]), reached.style)
    kinds = ", ".join(f"{count} {kind}" for kind, count in as_object(row.get("classes")).items())
    tools = f"{row.get('tools')} ({kinds})" if kinds else ""
    return row.get("id"), reached, credential, _PROTOCOL_NAMES.get(protocol, protocol), tools


tenant = typer.Typer(no_args_is_help=True, help="Stop a tenant, let it go on; what it says, what it spends.")
tenant.add_typer(record, name="record")
tenant.add_typer(connections, name="connections")


@tenant.command("stop")
def stop_tenant(
    tenant_id: TenantId,
    reason: Annotated[str, typer.Option(help="Why: whoever sends a message meanwhile is told.")] = "",
    speaker: SpeakerName = "",
    url: Gateway = "",
    as_json: AsJson = False,
) -> None:
    """Stop a tenant: new messages are refused, and running tasks stop before their next call.

    Requires the role operator. A write that is under way is finished first. After `purple tenant resume` the tasks go
    on where they stopped.

    Example:

      purple tenant stop default --reason "the ledger is being repaired"
    """
    state = ask_as_operator(url, speaker, "tenants", tenant_id, "stop", body={"reason": reason})
    print_answer(state, _print_tenant_state, as_json=as_json)


@tenant.command("resume")
def resume_tenant(tenant_id: TenantId, speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """Resume a stopped tenant: it accepts messages again, and its tasks go on where they stopped.

    Example:

      purple tenant resume default
    """
    print_answer(ask_as_operator(url, speaker, "tenants", tenant_id, "resume"), _print_tenant_state, as_json=as_json)


class OnOff(StrEnum):
    """The argument that switches something."""

    ON = "on"
    OFF = "off"


@tenant.command("made-tools")
def switch_made_tools(
    tenant_id: TenantId,
    switch: Annotated[OnOff, typer.Argument(help="Whether calculators that are missing may be made at run time.")],
    speaker: SpeakerName = "",
    url: Gateway = "",
    as_json: AsJson = False,
) -> None:
    """Switch on or off that missing calculators are made at run time; it holds from the next turn on.

    Example:

      purple tenant made-tools default on
    """
    state = ask_as_operator(url, speaker, "tenants", tenant_id, "made-tools", body={"on": switch is OnOff.ON})
    print_answer(state, _print_tenant_state, as_json=as_json)


@tenant.command("show")
def show_tenant(tenant_id: TenantId, speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """Show whether a tenant is stopped, how many of its sessions wait and run, and what it spent on each day.

    Example:

      purple tenant show default --json
    """
    print_answer(ask_as_operator(url, speaker, "tenants", tenant_id, "show"), _print_tenant_state, as_json=as_json)


def _print_tenant_state(state: JsonObject) -> None:
    status = f"stopped: {state.get('reason')}" if state.get("stopped") else "takes messages"
    out.print(f"tenant {state.get('tenant')} {status}", style="bold red" if state.get("stopped") else "bold")
    if sessions := as_object(state.get("sessions")):
        err.print(f"sessions: {sessions.get('running')} running, {sessions.get('waiting')} waiting", style="dim")
    if state.get("made_tools") is not None:
        err.print(f"made tools: switched {'on' if state.get('made_tools') else 'off'}", style="dim")
    if days := objects_in(state.get("spend")):
        out.print(_build_spending_table(days))


def _build_spending_table(days: list[JsonObject]) -> Table:
    def list_cells(day: JsonObject) -> Sequence[object]:
        set_aside = f"{day.get('set_aside_tokens')} tokens, {day.get('set_aside_dollars')} dollars"
        return day.get("date"), day.get("model_calls"), day.get("tokens"), day.get("dollars"), set_aside

    columns = ("date", "model calls", "fresh tokens", "US dollars", "set aside")
    return build_text_table(columns, map(list_cells, days), "what model calls used")
