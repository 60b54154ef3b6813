"""`purple audit`: who, what, why and proof for each write of a task."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.console import out, say_json
from cli.gateway.asking import AsJson, asked, objects_in
from cli.send import DEFAULT_URL
from shared.domain.exact_json import Json, JsonObject, dumps

_COLUMNS = ("call", "tool", "arguments", "asked for by", "allowed by", "status", "proof", "operators")


def audit(
    task: Annotated[str, typer.Option(help="The task's id.")],
    url: Annotated[str, typer.Option(help="The gateway.", envvar="PURPLE_URL")] = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show for each write of a task who asked for it, what let it pass, what it came to, and the proof.

    Example:

      purple audit --task TASK
    """
    record = asked(url, lambda client: client.record(task))
    lines = audited(record)
    if as_json:
        writes: list[Json] = [*lines]
        say_json(dumps({"task": task, "state": record.get("state"), "writes": writes}))
    else:
        out.print(_table(task, record, lines))


def audited(record: JsonObject) -> list[JsonObject]:
    """One object for each write, in the order in which they are in the ledger."""
    metadata = _object(record.get("metadata"))
    resolutions = objects_in(metadata.get("resolutions"))
    return [_line(metadata, write, resolutions) for write in objects_in(metadata.get("writes"))]


def _line(metadata: JsonObject, write: JsonObject, resolutions: list[JsonObject]) -> JsonObject:
    call = write.get("call_id")
    said: list[Json] = [word for word in resolutions if word.get("call_id") == call]
    return {
        "call": call,
        "tool": write.get("tool"),
        "connection": write.get("connection"),
        "arguments": write.get("arguments"),
        "asked for by": _object(metadata.get("requester")).get("id"),
        "allowed by": metadata.get("approval"),
        "rules": [rule.get("ruleId") for rule in objects_in(_object(metadata.get("verdict")).get("triggeredRules"))],
        "plan": metadata.get("plan_hash"),
        "status": write.get("status"),
        "proof": write.get("note"),
        "takes back": write.get("compensates"),
        "operators": said,
    }


def _table(task: str, record: JsonObject, lines: list[JsonObject]) -> Table:
    table = Table(*_COLUMNS, title=f"task {task}: {record.get('state')}, {len(lines)} writes")
    for line in lines:
        table.add_row(*(_cell(line.get(name)) for name in _COLUMNS))
    return table


def _cell(value: Json) -> Text:
    """A server's words are shown as they are, never read as markup."""
    return Text(value if isinstance(value, str) else "" if value in (None, []) else dumps(value))


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
