"""A conversation with an orchestrator as a checkpoint keeps it: what was said, by whom, exactly."""

from collections.abc import Sequence
from typing import Literal, cast

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Conversation
from services.executor.ports.models import Message, TextBlock, ToolResult, ToolUse
from shared.domain.exact_json import Json, JsonObject, digest, dumps, loads


def begun(ctx: TurnContext) -> Conversation:
    """An empty one, under a name that no other task has."""
    record = ctx.record
    return Conversation(id=f"purple-{digest([record.tenant, record.session_id, record.task_id])[:24]}")


def course(conversation: Conversation) -> tuple[Message, ...]:
    return tuple(_message(one) for one in cast("list[JsonObject]", loads(conversation.said_json)))


def packed(messages: Sequence[Message]) -> str:
    return dumps([{"role": one.role, "blocks": [_packed(block) for block in one.blocks]} for one in messages])


def _packed(block: TextBlock | ToolUse | ToolResult) -> Json:
    match block:
        case TextBlock(text):
            return {"text": text}
        case ToolUse(name_id, name, given):
            return {"id": name_id, "name": name, "input": given}
        case ToolResult(of, content, is_error):
            return {"of": of, "content": content, "is_error": is_error}


def _message(one: JsonObject) -> Message:
    role = cast('Literal["user", "assistant"]', one["role"])
    return Message(role, tuple(_block(block) for block in cast("list[JsonObject]", one["blocks"])))


def _block(one: JsonObject) -> TextBlock | ToolUse | ToolResult:
    if "text" in one:
        return TextBlock(str(one["text"]))
    if "of" in one:
        return ToolResult(str(one["of"]), str(one["content"]), one["is_error"] is True)
    return ToolUse(str(one["id"]), str(one["name"]), cast(JsonObject, one["input"]))
