"""Requests of the worker as text: the helper question that one is, and what it sends in the shape of the plain loop."""

import json
import re
from collections.abc import Mapping
from typing import cast

from shared.domain.exact_json import Json, dumps
from shared.ports.models import ModelRequest, SingleRequestText, TextBlock, ToolDefinition, ToolResult, ToolUse
from tools.bench.worth.fresh_tokens import SentText

HELPERS: Mapping[str, str] = {
    "COVERAGE": '{"agrees": true, "problems": []}',
    "DOCUMENT": '{"sections": []}',
    "IMPROVE": "",
}


def answer_helper(request: ModelRequest) -> str | None:
    """The answer to a helper question: nothing is objected to, added or improved. None for any other request."""
    state = find_state(request)
    return HELPERS.get(state, "{}") if state else None


def find_state(request: ModelRequest) -> str:
    """The name of the helper question that a request is; empty for a request of the conversation."""
    found = re.search(r"# State: (\w+)", "\n".join(request.system))
    return found[1] if found else ""


def read_section(text: str, name: str) -> object:
    """The JSON inside of a section of a message; an empty list where there is no such section."""
    written = text.partition(f"<{name}>\n")[2].partition(f"\n</{name}>")[0]
    return json.loads(written.replace("<\\/", "</") or "[]")


class RequestWriter:
    """Requests in the shape that the plain loop sends. The tools, which stay the same, are written once."""

    def __init__(self) -> None:
        self._tools: tuple[ToolDefinition, ...] = ()
        self._written = "[]"

    def write(self, request: ModelRequest) -> SentText:
        lasting: list[str] = []
        passing: list[str] = []
        for message in request.messages:
            kept: list[Json] = [
                _write_block(block) for block in message.blocks if not isinstance(block, SingleRequestText)
            ]
            lasting.append(dumps({"role": message.role, "content": kept}))
            passing += [block.text for block in message.blocks if isinstance(block, SingleRequestText)]
        shared = self._write_tools(request.tools) + "".join(request.system)
        return SentText(shared, "".join(lasting), "".join(passing))

    def _write_tools(self, tools: tuple[ToolDefinition, ...]) -> str:
        if tools != self._tools:
            self._tools = tools
            shown = [(tool.name, tool.description, cast(Json, tool.input_schema)) for tool in tools]
            self._written = dumps([{"name": n, "description": d, "input_schema": schema} for n, d, schema in shown])
        return self._written


def _write_block(block: object) -> Json:
    if isinstance(block, ToolUse):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    if isinstance(block, ToolResult):
        return {
            "type": "tool_result",
            "tool_use_id": block.tool_use_id,
            "content": block.content,
            "is_error": block.is_error,
        }
    return {"type": "text", "text": block.text if isinstance(block, TextBlock) else str(block)}
