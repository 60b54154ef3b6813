"""`purple tenant connections`: whether a tenant's tool servers can be reached, and take what they are shown."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from cli.child_json import run_for_json
from cli.console import Complaint, err, give_up, make_table, out, say_json
from cli.gateway.asking import AsJson, objects_in
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
        _show(found, rows)
    raise typer.Exit(0 if all(row.get("good") for row in rows) else 1)


def _show(found: JsonObject, rows: list[JsonObject]) -> None:
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
