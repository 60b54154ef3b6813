"""`purple tools`: what the worker would find at a tool server, and what it takes each tool to do."""

import asyncio
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.child_json import json_of
from cli.console import Complaint, err, give_up, out, say_json
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import ToolClass

_SECONDS = 60.0
_STYLES = {"read": "green", "compute": "cyan", "notify": "yellow", "change": "bold red"}
_PROTOCOLS = {"mcp": "MCP", "rest": "the REST bridge"}
_MEANING = "read, compute: before any write; notify: after the writes; change: only in MUTATE, with policy and approval"


class Protocol(StrEnum):
    AUTO = "auto"
    MCP = "mcp"
    REST = "rest"


def tools(
    endpoint: Annotated[
        str, typer.Option(help="The tool server: its URL, with or without /mcp.", envvar="GREEN_AGENT_MCP_URL")
    ],
    protocol: Annotated[Protocol, typer.Option(help="Ask in this protocol alone.")] = Protocol.AUTO,
    tenant_file: Annotated[
        Path | None,
        typer.Option(
            help="A tenant's record, whose catalogue can lower a class.",
            envvar="TENANT_FILE",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
) -> None:
    """Show what discovery finds at a tool server: its protocol, each tool's class, and what decided it.

    Nothing is called but the list of tools. A class says in which states of a process the worker may call a tool.

    Examples:

      purple tools --endpoint http://127.0.0.1:9009

      purple tools --endpoint http://tools.example/mcp --json
    """
    if not endpoint.startswith(("http://", "https://")):
        raise typer.BadParameter(f"{endpoint!r} is no URL: it begins with http:// or https://", param_hint="--endpoint")
    given = ("--endpoint", endpoint, "--protocol", protocol.value)
    tenant = ("--tenant-file", str(tenant_file)) if tenant_file else ()
    asking = json_of(
        "services.executor", "tools", *given, *tenant, "--json", doing="Asking for the tools", seconds=_SECONDS
    )
    try:
        found = asyncio.run(asking)
    except Complaint as complaint:
        of_the_server = complaint.sentence.startswith("No tools")
        give_up(Complaint(complaint.sentence, complaint.detail or (_ADVICE if of_the_server else "")))
    if as_json:
        say_json(dumps(found))
    else:
        _show(found)


_ADVICE = "Is the server running, and is this the URL of its tools? `purple up` shows the URL of the example company."


def _show(found: JsonObject) -> None:
    listed = [tool for tool in _list(found.get("tools")) if isinstance(tool, dict)]
    out.print(_table(found, listed))
    err.print(_MEANING, style="dim", soft_wrap=True)
    if found.get("may_have_unlisted"):
        err.print("This protocol may have tools that it does not list: a task can name one.", style="dim")


def _table(found: JsonObject, listed: list[JsonObject]) -> Table:
    counted = Counter(str(tool.get("class")) for tool in listed)
    kinds = ", ".join(f"{counted[kind.value]} {kind.value}" for kind in ToolClass if counted[kind.value])
    speaks = _PROTOCOLS.get(str(found.get("protocol")), str(found.get("protocol")))
    title = f"{found.get('endpoint')} speaks {speaks}: {len(listed)} tools ({kinds or 'none'})"
    table = Table("tool", "class", "why", "what it says of itself", title=title)
    for tool in listed:
        kind = str(tool.get("class"))
        why, description = (Text(str(tool.get(key))) for key in ("why", "description"))  # a server's words, no markup
        table.add_row(Text(str(tool.get("name"))), Text(kind, _STYLES.get(kind, "none")), why, description)
    return table


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
