"""One task as a plain conversation of tool calls, driven against any ``Model`` and any set of tools."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject, dumps
from shared.ports.models import Message, Model, ModelRequest, TextBlock, Tier, ToolDefinition, ToolResult

_RULES = "Use the tools to carry the task out; then answer in plain text."
_TURNS = 20


class Offered(NamedTuple):
    """A set of tools: what reads, what writes, and how to call one. ``call`` raises ``ValueError`` to refuse."""

    readers: Sequence[ToolDefinition]
    writers: Sequence[ToolDefinition]
    call: Callable[[str, JsonObject], Json]


async def run(model: Model, task: str, tools: Offered) -> str:
    """Whatever is called is carried out at once, until the model answers in text, which is returned."""
    messages = [Message("user", (TextBlock(task),))]
    offered = (*tools.readers, *tools.writers)
    for _ in range(_TURNS):
        request = ModelRequest(Tier.SMALL, (_RULES,), tuple(messages), offered)
        reply = await model.complete(request._replace(max_tokens=4096))
        if not reply.tool_uses:
            return reply.text
        results = []
        for use in reply.tool_uses:
            answer, is_refused = _called(tools, use.name, use.input)
            results.append(ToolResult(use.id, dumps(answer), is_refused))
        messages += [Message("assistant", reply.blocks), Message("user", tuple(results))]
    raise AssertionError(f"the task did not end in {_TURNS} turns")


def _called(tools: Offered, name: str, arguments: JsonObject) -> tuple[Json, bool]:
    try:
        return tools.call(name, arguments), False
    except ValueError as refusal:
        return {"error": str(refusal)}, True
