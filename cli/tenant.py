"""`purple tenant`: stop a tenant, let it go on; what it says, what it spends."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.child_json import run_for_json
from cli.console import Complaint, err, give_up, make_table, out, say_json
from cli.gateway.client import AsJson, Gateway, Name, ask_gateway, path_of, speaker_claim
from cli.gateway.messages import objects_in
from cli.send import DEFAULT_URL
from cli.tenant_record import record
from shared.domain.exact_json import JsonObject, dumps

_SECONDS = 120.0
_PROTOCOLS = {"mcp": "MCP", "rest": "REST bridge"}

connections = typer.Typer(no_args_is_help=True, help="The tool servers of a tenant.")


@connections.callback()
def _of_a_tenant() -> None:
    """The tool servers of a tenant."""


@connections.command("test")
def try_connections(
    tenant_id: Annotated[str, typer.Argument(help="The tenant.")] = "default",
    file: Annotated[
        Path | None, typer.Option(help="Try this record, before it is stored.", exists=True, dir_okay=False)
    ] = None,
    only: Annotated[str, typer.Option(help="The id of one connection.")] = "",
    as_json: AsJson = False,
) -> None:
    """Try each connection: can it be reached, does it take its credential, what does it speak, which tools are there.

    It runs where the secrets are: in the executor's environment, with its REDIS_URL (or TENANT_FILE), its
    GREEN_AGENT_MCP_URL and its CREDENTIALS_DIR. Nothing is called but the lists of tools. Exit code 0 if all is well.

    Examples:

      purple tenant connections test

      purple tenant connections test acme --only erp --json

      kubectl exec deploy/executor -- python -m services.executor connections --tenant acme
    """
    given = ("--tenant", tenant_id, "--only", only, *(("--tenant-file", str(file)) if file else ()))
    asking = run_for_json("services.executor", "connections", *given, "--json", doing="Trying", seconds=_SECONDS)
    try:
        found = asyncio.run(asking)
    except Complaint as complaint:
        give_up(complaint, 2)
    rows = objects_in(found.get("connections"))
    if as_json:
        say_json(dumps(found))
    else:
        _print_connections(found, rows)
    raise typer.Exit(0 if all(row.get("good") for row in rows) else 1)


def _print_connections(found: JsonObject, rows: list[JsonObject]) -> None:
    table = make_table("connection", "reached", "credential", "speaks", "tools", title=f"tenant {found.get('tenant')}")
    for row in rows:
        protocol = str(row.get("protocol"))
        table.add_row(
            Text(str(row.get("id"))),
            Text("yes", "green") if row.get("good") else Text("no", "bold red"),
            _credential(row),
            _PROTOCOLS.get(protocol, protocol),
            _tools(row),
        )
    out.print(table)
    err.print(Text(f"from {found.get('source')}"), style="dim", soft_wrap=True)
    for row in rows:
        if problem := row.get("credential_problem") or row.get("problem"):
            err.print(Text(f"{row.get('id')} at {row.get('url')}: {problem}", "red"), soft_wrap=True)


def _credential(row: JsonObject) -> Text:
    if row.get("credential") is None:
        return Text("none", "dim")
    return Text(str(row["credential"]), "green" if row.get("good") else "red")


def _tools(row: JsonObject) -> str:
    classes = row.get("classes")
    kinds = ", ".join(f"{count} {kind}" for kind, count in classes.items()) if isinstance(classes, dict) else ""
    return f"{row.get('tools')} ({kinds})" if kinds else ""


TenantId = Annotated[str, typer.Argument(help="The tenant; the embedded profile has one, `default`.")]

tenant = typer.Typer(no_args_is_help=True, help="Stop a tenant, let it go on; what it says, what it spends.")
tenant.add_typer(record, name="record")
tenant.add_typer(connections, name="connections")


@tenant.command()
def stop(
    tenant_id: TenantId,
    reason: Annotated[str, typer.Option(help="Why: whoever sends a message meanwhile is told.")] = "",
    name: Name = "",
    url: Gateway = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Refuse new messages, and stop what runs before its next call. It takes the role operator.

    A write in flight is settled; the task then waits and goes on from where it stood after `purple tenant resume`.

    Example:

      purple tenant stop default --reason "the ledger is being repaired"
    """
    _print_state(_ask_tenant(url, tenant_id, "stop", {"reason": reason, **speaker_claim(name)}), as_json)


@tenant.command()
def resume(tenant_id: TenantId, name: Name = "", url: Gateway = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Take messages again, and let what was stopped go on from where it stood.

    Example:

      purple tenant resume default
    """
    _print_state(_ask_tenant(url, tenant_id, "resume", speaker_claim(name)), as_json)


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


@tenant.command("made-tools")
def made_tools(
    tenant_id: TenantId,
    switch: Annotated[Switch, typer.Argument(help="Whether calculators that are missing may be made at run time.")],
    name: Name = "",
    url: Gateway = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Let calculators that a task misses be made at run time, or not, from the next turn on.

    Example:

      purple tenant made-tools default on
    """
    _print_state(_ask_tenant(url, tenant_id, "made-tools", {"on": switch is Switch.ON, **speaker_claim(name)}), as_json)


@tenant.command()
def show(tenant_id: TenantId, name: Name = "", url: Gateway = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Show whether a tenant is stopped, how many of its sessions wait and run, and what it spent by day.

    Example:

      purple tenant show default --json
    """
    _print_state(_ask_tenant(url, tenant_id, "show", speaker_claim(name)), as_json)


def _ask_tenant(url: str, tenant_id: str, action: str, body: JsonObject) -> JsonObject:
    return ask_gateway(url, "POST", path_of("tenants", tenant_id, action), body)


def _print_state(state: JsonObject, as_json: bool) -> None:
    if as_json:
        return say_json(dumps(state))
    stands = f"stopped: {state.get('reason')}" if state.get("stopped") else "takes messages"
    out.print(Text(f"tenant {state.get('tenant')} {stands}", "bold red" if state.get("stopped") else "bold"))
    sessions = state.get("sessions")
    if isinstance(sessions, dict):
        err.print(f"sessions: {sessions.get('running')} running, {sessions.get('waiting')} waiting", style="dim")
    if state.get("made_tools") is not None:
        err.print(f"made tools: switched {'on' if state.get('made_tools') else 'off'}", style="dim")
    days = objects_in(state.get("spend"))
    if days:
        out.print(_table(days))
    return None


def _table(days: list[JsonObject]) -> Table:
    table = Table("date", "model calls", "fresh tokens", "US dollars", "set aside", title="what model calls used")
    for day in days:
        aside = f"{day.get('set_aside_tokens')} tokens, {day.get('set_aside_dollars')} dollars"
        cells = (day.get("date"), day.get("model_calls"), day.get("tokens"), day.get("dollars"), aside)
        table.add_row(*(str(cell) for cell in cells))
    return table
