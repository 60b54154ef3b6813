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


StopReason: TypeAlias = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn"]
"""Why a reply ends. After ``pause_turn`` the caller asks again with the reply's blocks as the last message."""


class ToolDefinition(NamedTuple):
    """A tool as a model sees it. ``input_schema`` is a JSON Schema object.

    ``strict``: whether a schema that allows it is enforced on the model's calls; without it, what does not fit
    comes to the caller.
    """

    name: str
    description: str
    input_schema: Mapping[str, JsonValue]
    strict: bool = True


class TextBlock(NamedTuple):
    text: str


class StableText(TextBlock):
    """A text that is the same for many tasks: who answers may keep it, with all that stands before it."""

    __slots__ = ()


class PassingText(TextBlock):
    """A text of one request alone: later ones of the same history do not have it, and nobody keeps it."""

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


class ImageBlock(NamedTuple):
    """A JPEG that a model is shown: ``data`` in base64, empty where it can no longer be had.

    ``digest`` names its content; ``tokens`` is what it counts as.
    """

    digest: str
    name: str
    data: str
    tokens: int


class OpaqueBlock(NamedTuple):
    """A block of a reply that nobody reads, such as a model's thinking: ``json`` is its text, byte for byte.

    It goes back to ``model``, which made it; in a request to another model it is left out.
    """

    json: str
    model: str


ReplyBlock: TypeAlias = TextBlock | ToolUse | OpaqueBlock
Block: TypeAlias = ReplyBlock | ToolResult | ImageBlock


class Message(NamedTuple):
    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


class ModelRequest(NamedTuple):
    """One call. ``system`` blocks stand stable first, for prompt caching; ``schema`` asks for structured output.

    ``effort``: how thoroughly to think, where the model knows that; another one answers as it always does.
    ``grows``: a later request begins with these messages, so who answers may keep all of them.
    """

    tier: Tier
    system: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    schema: Mapping[str, JsonValue] | None = None
    max_tokens: int = 1024
    effort: Effort | None = None
    grows: bool = False


class Usage(NamedTuple):
    """Tokens as the API counted them: what it says, however odd."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class ModelReply(NamedTuple):
    """``model`` is the name that the endpoint gives its model, ``asked`` the one that it was asked for.

    ``saw_images``: false where the endpoint takes none, and was asked without those of the request.
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
        """Whether it ends at its greatest length: its last call is not whole, and it is not known what would follow."""
        return self.stop_reason == "max_tokens"

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it to act on: neither a word nor a call."""
        return not self.tool_uses and not self.text.strip()


class ModelUnavailable(Exception):
    """No answer that could be used: down, slow, refused, cut off or garbage. The message says which, for people."""


class ModelAway(ModelUnavailable):
    """Overloaded, out of reach or too slow: it may be back in minutes. ``retry_after``: in so many seconds, it says."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRefused(ModelUnavailable):
    """The model declined to answer this request; asking again does not change its mind."""


class Model(Protocol):
    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply; raises ``ModelUnavailable``."""
        ...
