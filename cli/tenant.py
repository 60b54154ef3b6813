"""`purple tenant`: stop a tenant, let it go on; what it says, what it spends."""

from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.connections import connections
from cli.console import err, out, say_json
from cli.gateway.asking import AsJson, Gateway, Name, ask_gateway, objects_in, speaker_claim
from cli.gateway.client import path_of
from cli.send import DEFAULT_URL
from cli.tenant_record import record
from shared.domain.exact_json import JsonObject, dumps

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
    _say(_ask_tenant(url, tenant_id, "stop", {"reason": reason, **speaker_claim(name)}), as_json)


@tenant.command()
def resume(tenant_id: TenantId, name: Name = "", url: Gateway = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Take messages again, and let what was stopped go on from where it stood.

    Example:

      purple tenant resume default
    """
    _say(_ask_tenant(url, tenant_id, "resume", speaker_claim(name)), as_json)


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
    _say(_ask_tenant(url, tenant_id, "made-tools", {"on": switch is Switch.ON, **speaker_claim(name)}), as_json)


@tenant.command()
def show(tenant_id: TenantId, name: Name = "", url: Gateway = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Show whether a tenant is stopped, how many of its sessions wait and run, and what it spent by day.

    Example:

      purple tenant show default --json
    """
    _say(_ask_tenant(url, tenant_id, "show", speaker_claim(name)), as_json)


def _ask_tenant(url: str, tenant_id: str, action: str, body: JsonObject) -> JsonObject:
    return ask_gateway(url, "POST", path_of("tenants", tenant_id, action), body)


def _say(state: JsonObject, as_json: bool) -> None:
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
