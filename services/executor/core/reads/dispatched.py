"""One call of a server's tool, as a span."""

from services.executor.core.session.context import TurnContext
from services.executor.core.tools.told_records import read_told_record
from services.executor.ports.tools import Tool, ToolAnswer, ToolSilent, ToolUnreachable
from shared.domain import span_names as names
from shared.domain.exact_json import JsonObject
from shared.ports.tracing import Span, SpanKind


async def dispatched(ctx: TurnContext, tool: Tool, arguments: JsonObject, *, reads: bool) -> ToolAnswer:
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
            span.failed("tool_error")
        return answer._replace(content=read_told_record(answer.content)) if reads else answer


def _note_tool(span: Span, tool: Tool) -> None:
    if not span.is_recording:
        return
    span.rename(names.TOOL.format(tool=tool.name))
    conventional = {names.OPERATION: names.TOOL_OPERATION, names.TOOL_NAME: tool.name, names.TOOL_TYPE: "function"}
    span.note({**conventional, names.TOOL_CLASS: tool.tool_class.value, names.CONNECTION: tool.connection_id})
