"""`purple tools made`: the calculators that were made at run time for a tenant."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.console import err, make_table, out, say_json
from cli.gateway.asking import AsJson, Gateway, Name, ask_gateway, objects_in, speaker_claim
from cli.gateway.client import path_of
from cli.send import DEFAULT_URL
from shared.domain.exact_json import Json, JsonObject, dumps

_SHOWN = ("name", "version", "arguments", "result", "purpose", "made_at", "task_id")
ToolName = Annotated[str, typer.Argument(help="The tool's name: `purple tools made list` shows them.")]

made = typer.Typer(
    no_args_is_help=True, help="Calculators made at run time: list, show, remove. `purple tenant made-tools` switches."
)


@made.command("list")
def list_made_tools(name: Name = "", url: Gateway = DEFAULT_URL, as_json: AsJson = False) -> None:
    """List the tools that were made for the tenant, every version. It takes the role operator, as all of these do.

    Example:

      purple tools made list
    """
    found = _ask_made_tools(url, name, "list")
    if as_json:
        return say_json(dumps(found))
    rows = objects_in(found.get("tools"))
    out.print(_table(rows) if rows else "No tools were made.")
    return None


@made.command()
def show(tool: ToolName, name: Name = "", url: Gateway = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Show a tool's code, its hash, and the cases that it was accepted by.

    Example:

      purple tools made show net_margin
    """
    found = _ask_made_tools(url, name, tool, "show")
    if as_json:
        return say_json(dumps(found))
    for version in objects_in(found.get("versions")):
        _show(version)
    return None


@made.command()
def remove(tool: ToolName, name: Name = "", url: Gateway = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Take a tool from use, in all its versions, from the next task on. The same code is not accepted again.

    Example:

      purple tools made remove net_margin
    """
    found = _ask_made_tools(url, name, tool, "remove")
    say_json(dumps(found)) if as_json else out.print(f"Tool {tool} is used by no task any more.", markup=False)


def _ask_made_tools(url: str, name: str, *words: str) -> JsonObject:
    return ask_gateway(url, "POST", path_of("tools", "made", *words), speaker_claim(name))


def _table(rows: list[JsonObject]) -> Table:
    table = make_table(*(name.removesuffix("_id").replace("_", " ") for name in _SHOWN), "in use")
    for row in rows:
        used = Text("no, removed by " + str(row.get("removed_by")), "red") if row.get("removed_at") else Text("yes")
        table.add_row(*(Text(_cell(row.get(name))) for name in _SHOWN), used)  # a model's words, no markup
    return table


def _show(version: JsonObject) -> None:
    out.print(Text(f"{version.get('name')} version {version.get('version')}: {version.get('purpose')}", "bold"))
    err.print(f"SHA-256 {version.get('code_sha256')}, made {version.get('made_at')}", style="dim", markup=False)
    if version.get("removed_at"):
        out.print(f"removed {version.get('removed_at')} by {version.get('removed_by')}", markup=False)
        return
    out.print(str(version.get("code")), markup=False, highlight=False)
    for case in objects_in(version.get("cases")):
        out.print(f"  {_cell(case.get('inputs'))} -> {case.get('expected')}", markup=False)


def _cell(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
