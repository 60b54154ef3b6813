"""The port to language models."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol, TypeAlias

from pydantic import JsonValue

from shared.domain.exact_json import JsonObject


class Tier(StrEnum):
    """Which of the two models to ask: ``HAIKU_MODEL`` or ``SONNET_MODEL``."""

    SMALL = "haiku"
    LARGE = "sonnet"


Effort: TypeAlias = Literal["low", "medium", "high"]


StopReason: TypeAlias = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn"]
"""Why a reply ends. After ``pause_turn`` the caller asks again with the reply's blocks as the last message."""


class ToolDefinition(NamedTuple):
    """A tool as a model sees it. ``input_schema`` is a JSON Schema object.

    ``strict``: the API enforces the schema if it can; otherwise the caller must check the model's calls.
    """

    name: str
    description: str
    input_schema: Mapping[str, JsonValue]
    strict: bool = True


class TextBlock(NamedTuple):
    """A text in a message."""

    text: str


class StableText(TextBlock):
    """A text that is the same for many tasks, so that the API may cache it with everything before it."""

    __slots__ = ()


class SingleRequestText(TextBlock):
    """A text of this request only. Later requests of the same history lack it, so it is not cached."""

    __slots__ = ()


class ToolUse(NamedTuple):
    """A tool call by the model. ``input``: its arguments, as exact JSON."""

    id: str
    name: str
    input: JsonObject


class ToolResult(NamedTuple):
    """The result of a tool call, for the model."""

    tool_use_id: str
    content: str
    is_error: bool = False


class ImageBlock(NamedTuple):
    """An image for a model. ``data``: a JPEG in base64; empty if it no longer exists.

    ``digest`` identifies its content; ``tokens``: how many tokens it counts as.
    """

    digest: str
    name: str
    data: str
    tokens: int


class OpaqueBlock(NamedTuple):
    """A block of a reply that our code does not interpret, such as a model's thinking. ``json``: its exact text.

    It is sent back to ``model``, which wrote it, and left out of requests to other models.
    """

    json: str
    model: str


ReplyBlock: TypeAlias = TextBlock | ToolUse | OpaqueBlock
Block: TypeAlias = ReplyBlock | ToolResult | ImageBlock


class Message(NamedTuple):
    """One message of a conversation with a model."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


class ModelRequest(NamedTuple):
    """One request to a model. Stable ``system`` blocks come first, for prompt caching.

    ``schema`` asks for structured output. ``effort``: how thoroughly to think; ignored by models without that feature.
    ``will_be_extended``: a later request will begin with these messages, so the API may cache them.
    """

    tier: Tier
    system: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    schema: Mapping[str, JsonValue] | None = None
    max_tokens: int = 1024
    effort: Effort | None = None
    will_be_extended: bool = False


class Usage(NamedTuple):
    """Token counts as the API reported them, unchecked; their order is that of a ``Price``."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def all_input(self) -> int:
        """All tokens of input, cached or not."""
        return self.input + self.cache_read + self.cache_write


class ModelReply(NamedTuple):
    """A model's reply. ``model``: the name in the reply; ``asked``: the name in the request.

    ``saw_images``: false if the endpoint takes no images, and the request was sent without them.
    """

    blocks: tuple[ReplyBlock, ...]
    stop_reason: StopReason
    usage: Usage
    model: str
    asked: str = ""
    saw_images: bool = True

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))

    @property
    def is_cut(self) -> bool:
        """Whether the reply was cut off at ``max_tokens``: its last call is incomplete."""
        return self.stop_reason == "max_tokens"


class ModelUnavailable(Exception):
    """No usable reply: the message says whether the endpoint failed or refused, or its reply was cut or malformed."""


class ModelAway(ModelUnavailable):
    """The endpoint is overloaded, unreachable or too slow, and may be back in minutes.

    ``retry_after``: in how many seconds, if it says so.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRefused(ModelUnavailable):
    """The model declined to answer this request; asking again does not help."""


class Model(Protocol):
    async def complete(self, request: ModelRequest) -> ModelReply:
        """The model's reply to one request; raises ``ModelUnavailable``."""
