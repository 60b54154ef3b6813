"""The chat between the user and the assistant."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, JsonValue
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.cached_state import CachedStateModality
from services.simulator.core.modalities.chat_actions import ClearConversation, DeleteChatMessage, PostChatMessage
from services.simulator.core.modalities.chat_query import ChatQuery, find_messages
from services.simulator.core.modalities.chat_records import ChatConversationRecord, ChatMessageRecord, ChatSettings
from services.simulator.core.modalities.chat_tables import ChatTables
from services.simulator.core.modalities.fields import StoredTime, format_time_with_z
from services.simulator.core.modalities.loading import Exported
from services.simulator.core.modalities.rendered import RenderedRows, row_as_json
from services.simulator.core.records import JsonObject, StoredRow
from services.simulator.core.refusals import parse_model

OPERATIONS: Mapping[str, type[Action[ChatTables]]] = {
    "send_message": PostChatMessage,
    "delete_message": DeleteChatMessage,
    "clear_conversation": ClearConversation,
}


class _ExportedConversation(StoredRow):
    """An exported conversation, of which only the time of its creation is kept."""

    created_at: StoredTime


def _require_unique(messages: tuple[ChatMessageRecord, ...]) -> tuple[ChatMessageRecord, ...]:
    if len({message.message_id for message in messages}) < len(messages):
        raise ValueError("two messages have the same id")
    return messages


class ExportedChat(Exported):
    messages: Annotated[tuple[ChatMessageRecord, ...], AfterValidator(_require_unique)] = ()
    conversations: dict[str, _ExportedConversation] = {}
    max_history_size: int = Field(ChatSettings().max_history_size, ge=1)


class ChatModality(CachedStateModality[ChatTables]):
    name: ClassVar[str] = "chat"
    operations = OPERATIONS

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self.tables = ChatTables(self.store)
        self._messages = RenderedRows(self.tables.messages, row_as_json)
        self.clear(now)

    @override
    def put_initial_rows(self, now: datetime) -> None:
        self.tables.set_up(ChatSettings())

    @override
    def body(self) -> JsonObject:
        keys = self.tables.by_time.find_between(None, None)
        return {"messages": [self._messages.row(key) for key in keys], **self.compact_body()}

    @override
    def compact_body(self) -> JsonObject:
        return {
            "conversations": {
                key: self._show_conversation(conversation) for key, conversation in self.tables.conversations.items()
            },
            "total_message_count": len(self.tables.messages),
            "conversation_count": len(self.tables.conversations),
            "max_history_size": self.tables.max_history_size,
        }

    @override
    def query(self, fields: JsonObject, now: datetime) -> JsonObject:
        query = parse_model(ChatQuery, fields)
        results = find_messages(self.tables, query)
        return {
            "modality_type": self.name,
            "messages": [self._messages.row(key) for key in results.keys],
            "total_count": results.total,
            "returned_count": len(results.keys),
            "query": query.as_json(),
        }

    @override
    def export(self) -> JsonObject:
        return {"modality_type": self.name, **row_as_json(self.head), **self.body()}

    @override
    def load(self, state: JsonObject) -> None:
        read = parse_model(ExportedChat, state)
        self.store.clear()
        self.set_head(read.head)
        self.tables.set_up(ChatSettings(max_history_size=read.max_history_size))
        for key, since in read.conversations.items():
            self.tables.conversations.put(key, ChatConversationRecord(conversation_id=key, created_at=since.created_at))
        for message in read.messages:
            self.tables.add(message)

    def _show_conversation(self, conversation: ChatConversationRecord) -> JsonObject:
        """A conversation as JSON, with the fields of the older and of the newer API."""
        messages = self.tables.messages_of(conversation.conversation_id)
        roles: list[JsonValue] = list(dict.fromkeys(message.role for message in messages))
        return {
            "conversation_id": conversation.conversation_id,
            "created_at": format_time_with_z(conversation.created_at),
            "last_message_at": format_time_with_z(messages[-1].timestamp if messages else conversation.created_at),
            "message_count": len(messages),
            "participant_roles": roles,
            "user_message_count": sum(message.role == "user" for message in messages),
            "assistant_message_count": sum(message.role == "assistant" for message in messages),
        }
