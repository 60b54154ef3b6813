"""What the chat between user and assistant holds."""

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, JsonValue, model_validator

from services.simulator.core.modalities.fields import StoredTime, Text
from services.simulator.core.records import StoredRow

Role: TypeAlias = Literal["user", "assistant"]
DEFAULT_CONVERSATION = "default"


class ChatTextBlock(StoredRow):
    type: Literal["text"]
    text: Text


class MediaSource(StoredRow):
    """The source of a picture, sound or film: a URL, or the content itself in Base64."""

    type: Literal["url", "base64"]
    url: str | None = None
    data: str | None = None
    media_type: str | None = None

    @model_validator(mode="after")
    def _check_present(self) -> "MediaSource":
        if not (self.url if self.type == "url" else self.data):
            raise ValueError(f"a source of the type {self.type} needs its {'url' if self.type == 'url' else 'data'}")
        return self


class MediaBlock(StoredRow):
    model_config = ConfigDict(frozen=True, extra="allow")

    type: Literal["image", "audio", "video"]
    source: MediaSource


Block: TypeAlias = Annotated[ChatTextBlock | MediaBlock, Field(discriminator="type")]
Content: TypeAlias = Text | Annotated[tuple[Block, ...], Field(min_length=1)]


class ChatMessageRecord(StoredRow):
    message_id: str
    conversation_id: str
    role: Role
    content: Content
    timestamp: StoredTime
    metadata: dict[str, JsonValue] = {}


class ChatConversationRecord(StoredRow):
    """The existence of a conversation, and since when; all else is derived from its messages."""

    conversation_id: str
    created_at: StoredTime


class ChatSettings(StoredRow):
    """Settings of the chat. ``max_history_size``: messages of a conversation beyond it are dropped, the oldest
    first.
    """

    max_history_size: int = Field(1_000, ge=1)
