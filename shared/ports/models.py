"""Language models."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol, TypeAlias

from pydantic import JsonValue

from shared.domain.exact_json import JsonObject


class Tier(StrEnum):
    HAIKU = "haiku"
    SONNET = "sonnet"


Effort: TypeAlias = Literal["low", "medium", "high"]


class ToolDefinition(NamedTuple):
    """A tool as a model sees it. ``input_schema`` is a JSON Schema object."""

    name: str
    description: str
    input_schema: Mapping[str, JsonValue]


class TextBlock(NamedTuple):
    text: str


class StableText(TextBlock):
    """A text that is the same for many tasks: who answers may keep it, with all that stands before it."""

    __slots__ = ()


class ToolUse(NamedTuple):
    """A call that the model asks for; ``input`` is exact JSON."""

    id: str
    name: str
    input: JsonObject


class ToolResult(NamedTuple):
    """What came of a call, as the model is told it."""

    tool_use_id: str
    content: str
    is_error: bool = False


class Message(NamedTuple):
    role: Literal["user", "assistant"]
    blocks: tuple[TextBlock | ToolUse | ToolResult, ...]


class ModelRequest(NamedTuple):
    """One call. ``system`` blocks stand stable first, for prompt caching; ``schema`` asks for structured output.

    ``effort``: how thoroughly to think, where the model knows that; another one answers as it always does.
    """

    tier: Tier
    system: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    schema: Mapping[str, JsonValue] | None = None
    max_tokens: int = 1024
    effort: Effort | None = None


class Usage(NamedTuple):
    """Tokens as the API counted them."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class ModelReply(NamedTuple):
    blocks: tuple[TextBlock | ToolUse, ...]
    stop_reason: str
    usage: Usage
    model: str

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


class ModelUnavailable(Exception):
    """No answer that could be used: down, slow, refused, cut off or garbage. The message says which, for people."""


class Model(Protocol):
    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply; raises ``ModelUnavailable``."""
        ...
