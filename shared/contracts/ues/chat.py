"""The chat between user and assistant as a simulator shows it."""

from collections.abc import Mapping

from pydantic import JsonValue

from shared.contracts.ues.base import Answer, JsonObject, Moment


class ChatMessage(Answer):
    """``content``: a text, or blocks of which some may be texts."""

    message_id: str
    conversation_id: str
    role: str
    content: str | tuple[JsonObject, ...]
    timestamp: Moment
    metadata: JsonObject = {}

    @property
    def text(self) -> str:
        """What can be read in it."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(
            str(block["text"]) for block in self.content if block.get("type") == "text" and "text" in block
        )


class ChatConversation(Answer):
    conversation_id: str
    message_count: int = 0
    participant_roles: tuple[str, ...] = ()


class ChatState(Answer):
    current_time: Moment | None = None
    conversations: Mapping[str, ChatConversation] = {}
    messages: tuple[ChatMessage, ...] = ()
    total_message_count: int = 0
    conversation_count: int = 0


class ChatFound(Answer):
    messages: tuple[ChatMessage, ...] = ()
    total_count: int = 0
    returned_count: int = 0
    query: Mapping[str, JsonValue] = {}
