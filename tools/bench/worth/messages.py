"""The Anthropic Messages shape: the adapter through which a scripted model speaks content blocks."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from tools.bench.worth.models import PlayingModel
from tools.bench.worth.steps import CallEnding, FinalReply, PlayProgress, Step
from tools.bench.worth.worlds.data import Json
from tools.bench.worth.worlds.task import WorthTask
from tools.bench.worth.worlds.world import ForeignWorld

Block: TypeAlias = dict[str, Json]
Message: TypeAlias = Mapping[str, "str | list[Block]"]
BlockModel: TypeAlias = Callable[[str, Sequence[Block], Sequence[Message]], list[Block]]


def speak_blocks(model: PlayingModel) -> BlockModel:
    """The model as a function from system, tools and messages to content blocks."""

    def reply(_system: str, _tools: Sequence[Block], messages: Sequence[Message]) -> list[Block]:
        return render_step(model.decide(read_progress(messages)))

    return reply


def read_progress(messages: Sequence[Message]) -> PlayProgress:
    """Replies are the assistant's messages that have blocks: those of earlier turns are plain text."""
    replies = sum(message["role"] == "assistant" and not isinstance(message["content"], str) for message in messages)
    blocks = [block for message in messages if not isinstance(message["content"], str) for block in message["content"]]
    results = [block for block in blocks if block["type"] == "tool_result"]
    return PlayProgress(replies, {str(block["tool_use_id"]): _read_outcome(block) for block in results})


def _read_outcome(block: Block) -> CallEnding:
    return CallEnding(str(block["content"]), refused=bool(block.get("is_error", False)))


def render_step(step: Step) -> list[Block]:
    if isinstance(step, FinalReply):
        return [{"type": "text", "text": step.text}]
    return [{"type": "tool_use", "id": call.id, "name": call.tool, "input": {**call.arguments}} for call in step.calls]


def list_tools(world: ForeignWorld) -> list[Block]:
    tools = world.tools
    return [{"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} for tool in tools]


def begin_messages(task: WorthTask) -> list[Message]:
    """The earlier turns and the task."""
    turns: list[Message] = [{"role": turn.role, "content": turn.text} for turn in task.earlier]
    return [*turns, {"role": "user", "content": task.text}]


def write_result(call_id: Json, result: Json, refused: bool) -> Block:
    return {"type": "tool_result", "tool_use_id": call_id, "content": json.dumps(result), "is_error": refused}


def read_input(block: Block) -> dict[str, Json]:
    return cast("dict[str, Json]", block["input"])
