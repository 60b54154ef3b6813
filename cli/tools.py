"""`purple tools`: list the tools of a tool server with their classes; list, show and remove tools made at run time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.child_json import run_module_for_json
from cli.console import CommandError, build_text_table, err, join_values, out, print_answer
from cli.gateway.client import AsJson, Gateway, SpeakerName, ask_as_operator, print_rows
from cli.gateway.messages import get_list_or_empty
from shared.domain.exact_json import Json, JsonObject, as_object, objects_in
from shared.domain.words import ToolClass

_SHOWN_FIELDS = ("name", "version", "arguments", "result", "purpose", "made_at", "task_id")
ToolName = Annotated[str, typer.Argument(help="The tool's name: `purple tools made list` shows them.")]

made = typer.Typer(
    no_args_is_help=True, help="Calculators made at run time: list, show, remove. `purple tenant made-tools` switches."
)


@made.command("list")
def list_made_tools(speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """List the tools that were made for the tenant at run time, every version. Requires the role operator.

    Example:

      purple tools made list
    """
    answer = ask_as_operator(url, speaker, "tools", "made", "list")
    print_rows(answer, "tools", _build_made_tool_table, "No tools were made.", as_json=as_json)


@made.command("show")
def show_made_tool(tool: ToolName, speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """Show each version of a tool: its code, its hash, and the test cases that it passed.

    Example:

      purple tools made show net_margin
    """
    answer = ask_as_operator(url, speaker, "tools", "made", tool, "show")
    print_answer(answer, _print_versions, as_json=as_json)


@made.command("remove")
def remove_made_tool(tool: ToolName, speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """Remove all versions of a tool; tasks that begin later do not use it. The same code is not accepted again.

    Example:

      purple tools made remove net_margin
    """
    answer = ask_as_operator(url, speaker, "tools", "made", tool, "remove")
    sentence = f"Tool {tool} is used by no task any more."
    print_answer(answer, lambda _: out.print(sentence), as_json=as_json)


def _build_made_tool_table(rows: list[JsonObject]) -> Table:
    def list_cells(row: JsonObject) -> Sequence[object]:
        in_use = Text("no, removed by " + str(row.get("removed_by")), "red") if row.get("removed_at") else Text("yes")
        return [*(join_values(row.get(name)) for name in _SHOWN_FIELDS), in_use]

    return build_text_table(
        [*(name.removesuffix("_id").replace("_", " ") for name in _SHOWN_FIELDS), "in use"], map(list_cells, rows)
    )


def _print_versions(answer: JsonObject) -> None:
    for version in objects_in(answer.get("versions")):
        out.print(f"{version.get('name')} version {version.get('version')}: {version.get('purpose')}", style="bold")
        err.print(f"SHA-256 {version.get('code_sha256')}, made {version.get('made_at')}", style="dim")
        if version.get("removed_at"):
            out.print(f"removed {version.get('removed_at')} by {version.get('removed_by')}")
            continue
        out.print(str(version.get("code")))
        for case in objects_in(version.get("cases")):
            out.print(f"  {join_values(case.get('inputs'))} -> {case.get('expected')}")


_TIMEOUT_SECONDS = 60.0
_MOST_COLUMN_WIDTH = 26
_WIDE_TERMINAL = 140  # from so many columns on there is room for descriptions
_CLASS_STYLES = {"read": "green", "compute": "cyan", "notify": "yellow", "change": "bold red"}
_PROTOCOL_NAMES = {"mcp": "MCP", "rest": "the REST bridge", "a2a": "A2A: its skills are tools"}
_MEANING_OF_CLASSES = (
    "read, compute: before any write; notify: after the writes; change: only in MUTATE, with policy and approval"
)


class DiscoveryProtocol(StrEnum):
    AUTO = "auto"
    MCP = "mcp"
    REST = "rest"
    A2A = "a2a"


tools = typer.Typer(invoke_without_command=True)
tools.add_typer(made, name="made")


@tools.callback()
def discover_tools(
    context: typer.Context,
    endpoint: Annotated[
        str,
        typer.Option(
            help="The tool server: an MCP server's URL, with or without /mcp, or a REST bridge's without it.",
            envvar="GREEN_AGENT_MCP_URL",
        ),
    ] = "",
    protocol: Annotated[
        DiscoveryProtocol, typer.Option(help="Ask in this protocol alone: a2a is never tried.")
    ] = DiscoveryProtocol.AUTO,
    tenant_file: Annotated[
        Path | None,
        typer.Option(
            help="A tenant's record, whose catalogue can lower a class.",
            envvar="TENANT_FILE",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    write_catalogue: Annotated[
        Path | None,
        typer.Option(
            help="Write what was found to this file: a connection, whose entries you correct.", dir_okay=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace that file, and the corrections in it.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the tools of a tool server: each tool's class and why, the read that proves a write, how a list is paged.

    Only the list of tools is called. A tool's class says in which states of a process the worker may call it.

    Examples:

      purple tools --endpoint http://127.0.0.1:9009

      purple tools --endpoint http://tools.example/mcp --json

      purple tools --endpoint https://agent.example --protocol a2a

      purple tools --endpoint http://tools.example/mcp --write-catalogue connection.json

    `purple tools made` shows the calculators that were made at run time.
    """
    if context.invoked_subcommand:
        return
    if not endpoint:
        raise typer.BadParameter("say whose tools: the URL of a tool server, or `made`", param_hint="--endpoint")
    if not endpoint.startswith(("http://", "https://")):
        raise typer.BadParameter(f"{endpoint!r} is no URL: it begins with http:// or https://", param_hint="--endpoint")
    arguments = ["services.executor", "tools", "--endpoint", endpoint, "--protocol", protocol.value, "--json"]
    arguments += ["--tenant-file", str(tenant_file)] if tenant_file else []
    if write_catalogue:
        arguments += ["--write-catalogue", str(write_catalogue), *(["--force"] if force else [])]
    try:
        answer = run_module_for_json(*arguments, doing=f"Asking {endpoint} for its tools", seconds=_TIMEOUT_SECONDS)
    except CommandError as complaint:
        advice = _ADVICE_ON_SERVER if complaint.sentence.startswith("No tools") else ""
        raise CommandError(complaint.sentence, complaint.detail or advice) from complaint
    print_answer(answer, _print_tools, as_json=as_json)
    if write_catalogue:
        err.print(f"{write_catalogue}: {_ADVICE_ON_CATALOGUE}", style="dim", soft_wrap=True)


_UNDECIDED_RULES_TEXT = (
    "and no argument names a record that a read here shows: that stays undecided, unless a task calculates it. "
    "If an argument is a record's key, say so in the tenant's `records`."
)
_ADVICE_ON_CATALOGUE = "correct it, then put it among the connections of the tenant's record."
_ADVICE_ON_SERVER = (
    "Is the server running, and is this the URL of its tools? `purple up` shows the URL of the example company."
)


def _print_tools(answer: JsonObject) -> None:
    tools_json = objects_in(answer.get("tools"))
    out.print(build_discovery_table(answer, tools_json, out.width))
    err.print(_MEANING_OF_CLASSES, style="dim", soft_wrap=True)
    if answer.get("may_have_unlisted"):
        err.print("This protocol may have tools that it does not list: a task can name one.", style="dim")
    for tool in tools_json:
        if fields := get_list_or_empty(tool.get("undecided")):
            sentence = f"{tool.get('name')}: rules ask for {', '.join(map(str, fields))}, {_UNDECIDED_RULES_TEXT}"
            err.print(sentence, style="bold yellow", soft_wrap=True)


def build_discovery_table(answer: JsonObject, tools_json: list[JsonObject], width: int) -> Table:
    """A table of the tools with class, proof and reason; if the console is wide enough, with descriptions."""
    counts = Counter(str(tool.get("class")) for tool in tools_json)
    kinds = ", ".join(f"{counts[kind.value]} {kind.value}" for kind in ToolClass if counts[kind.value])
    protocol = _PROTOCOL_NAMES.get(str(answer.get("protocol")), str(answer.get("protocol")))
    title = f"{answer.get('endpoint')} speaks {protocol}: {len(tools_json)} tools ({kinds or 'none'})"
    is_wide = width >= _WIDE_TERMINAL
    table = Table(title=title)
    table.add_column("tool", min_width=_measure_width(tool.get("name") for tool in tools_json), overflow="fold")
    table.add_column("class", min_width=_measure_width(counts))
    table.add_column(
        "read back, or pages by", min_width=_measure_width(_describe_proof_or_paging(tool) for tool in tools_json)
    )
    for heading in ("names", "key", "why", *(("what it says of itself",) if is_wide else ())):
        table.add_column(heading)
    for tool in tools_json:
        kind = str(tool.get("class"))
        list_cells = [_describe_record_kinds(tool), _describe_idempotency_key(tool), tool.get("why")]
        list_cells += [tool.get("description")] if is_wide else []
        row = (str(tool.get("name")), Text(kind, _CLASS_STYLES.get(kind, "none")), _describe_proof_or_paging(tool))
        table.add_row(*row, *(str(cell or "") for cell in list_cells))
    return table


def _measure_width(texts: Iterable[Json]) -> int:
    """The width of the longest text, up to a limit, so that names are not wrapped."""
    return min(max((len(str(text)) for text in texts), default=0), _MOST_COLUMN_WIDTH)


def _describe_idempotency_key(tool: JsonObject) -> str:
    """``sent``: calls carry an idempotency key; ``offered``: the tool takes one that no catalogue names; else empty."""
    if tool.get("idempotency_field"):
        return "sent"
    return "offered" if tool.get("key_offered") else ""


def _describe_record_kinds(tool: JsonObject) -> str:
    """The kinds of records that the tool's arguments identify, with the argument's name unless it says the kind."""
    kinds = [(name, str(kind)) for name, kind in as_object(tool.get("records")).items()]
    return ", ".join(dict.fromkeys(kind if kind.split()[-1] in name else f"{kind} by {name}" for name, kind in kinds))


def _describe_proof_or_paging(tool: JsonObject) -> str:
    """For a write, the read that proves it; for a list, the arguments by which it is paged."""
    read_back = tool.get("read_back")
    if isinstance(read_back, dict):
        doubt = "" if read_back.get("usable") else " cannot be asked"
        return f"{read_back.get('tool')}{', a guess' if read_back.get('guess') else doubt}"
    unproven = "nothing proves it" if tool.get("class") == ToolClass.CHANGE.value else ""
    return str(tool.get("pages") or unproven)
