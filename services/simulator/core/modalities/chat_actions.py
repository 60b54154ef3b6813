"""The actions of the chat: send and delete messages, clear a conversation."""

from pydantic import JsonValue
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.chat_records import DEFAULT_CONVERSATION, ChatMessageRecord, Content, Role
from services.simulator.core.modalities.chat_tables import ChatTables
from services.simulator.core.modalities.fields import Name
from services.simulator.core.modality import ActionOutcome, EventMoment


class PostChatMessage(Action[ChatTables]):
    message_id: Name | None = None
    role: Role
    content: Content
    conversation_id: Name = DEFAULT_CONVERSATION
    metadata: dict[str, JsonValue] = {}

    @override
    def act(self, tables: ChatTables, moment: EventMoment) -> ActionOutcome:
        message = ChatMessageRecord(
            message_id=self.message_id or moment.new_id("message"),
            conversation_id=self.conversation_id,
            role=self.role,
            content=self.content,
            timestamp=moment.now,
            metadata=self.metadata,
        )
        tables.add(message)
        return ActionOutcome("Message sent", (message.message_id,))


class DeleteChatMessage(Action[ChatTables]):
    message_id: Name

    @override
    def act(self, tables: ChatTables, moment: EventMoment) -> ActionOutcome:
        tables.remove(self.message_id)
        return ActionOutcome("Message deleted", (self.message_id,))


class ClearConversation(Action[ChatTables]):
    conversation_id: Name = DEFAULT_CONVERSATION

    @override
    def act(self, tables: ChatTables, moment: EventMoment) -> ActionOutcome:
        removed = tables.clear(self.conversation_id)
        return ActionOutcome(f"Conversation {self.conversation_id} cleared: {len(removed)} messages", removed)
