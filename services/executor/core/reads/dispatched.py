"""One call of a server's tool, as a span."""

import re

from services.executor.core.session.context import TurnContext
from services.executor.ports.tools import Tool, ToolAnswer, ToolSilent, ToolUnreachable
from shared.domain import span_names as names
from shared.domain.exact_json import Json, JsonObject, loads
from shared.ports.tracing import Span, SpanKind

_CLAUSE = re.compile(r"(?P<name>[A-Za-z_][\w.-]*(?: [\w.-]+){0,3}?)(?: is |: |=| = )(?P<value>.+)", re.DOTALL)
_PARTS = re.compile(r";\s+|;?\s*\n\s*|;$")
_HEAD = re.compile(r"(?P<head>[^:;\n=]{3,120}):\s+(?=[A-Za-z_])(?P<rest>.+)", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_FEWEST = 2
_HEADING = "told"


def read_told_record(content: Json) -> Json:
    """The fields of a text that is nothing but ``name is value`` clauses; any other content as it is.

    Numbers are read as numbers where they are written plainly. What stands before the first clause is kept as ``told``.
    """
    if not isinstance(content, str) or ";" not in content:
        return content
    text = content.strip().removesuffix(".")
    head = _HEAD.fullmatch(text)
    if head and _fields(head["rest"]) is not None:
        return {_HEADING: head["head"], **(_fields(head["rest"]) or {})}
    return _fields(text) or content


async def dispatch_call(ctx: TurnContext, tool: Tool, arguments: JsonObject, *, reads: bool) -> ToolAnswer:
    """What the server answered; raises ``ToolUnreachable`` and ``ToolSilent``. ``reads``: it may be asked again."""
    ask = ctx.ports.tools.read if reads else ctx.ports.tools.call
    connection = ctx.toolbox.connection_of(tool)
    with ctx.ports.tracer.span(names.TOOL_OPERATION, SpanKind.CLIENT) as span:
        _note_tool(span, tool)
        try:
            answer = await ask(connection, tool.name, arguments, ctx.limits.tool_seconds, ctx.record.session_id)
        except (ToolUnreachable, ToolSilent) as error:
            span.note({names.TOOL_OUTCOME: "unreachable" if isinstance(error, ToolUnreachable) else "silent"})
            raise
        if span.is_recording:
            span.note({names.TOOL_OUTCOME: "error" if answer.is_error else "ok"})
        if answer.is_error:
            span.record_failure("tool_error")
        return answer._replace(content=read_told_record(answer.content)) if reads else answer


def _fields(text: str) -> dict[str, Json] | None:
    clauses = [_CLAUSE.fullmatch(part.strip()) for part in _PARTS.split(text) if part.strip()]
    found: dict[str, Json] = {}
    for clause in clauses:
        if clause is None or clause["name"] in found:
            return None
        value = clause["value"].strip()
        found[clause["name"]] = loads(value) if _NUMBER.fullmatch(value) else value
    return found if len(found) >= _FEWEST else None


def _note_tool(span: Span, tool: Tool) -> None:
    if not span.is_recording:
        return
    span.rename(names.TOOL.format(tool=tool.name))
    conventional = {names.OPERATION: names.TOOL_OPERATION, names.TOOL_NAME: tool.name, names.TOOL_TYPE: "function"}
    span.note({**conventional, names.TOOL_CLASS: tool.tool_class.value, names.CONNECTION: tool.connection_id})
