"""What can be done in the chat."""

from pydantic import JsonValue
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.chat_records import DEFAULT_CONVERSATION, ChatMessage, Content, Role
from services.simulator.core.modalities.chat_room import ChatRoom
from services.simulator.core.modalities.fields import Name
from services.simulator.core.modality import Moment, Outcome


class SendMessage(Action[ChatRoom]):
    message_id: Name | None = None
    role: Role
    content: Content
    conversation_id: Name = DEFAULT_CONVERSATION
    metadata: dict[str, JsonValue] = {}

    @override
    def act(self, tables: ChatRoom, moment: Moment) -> Outcome:
        message = ChatMessage(
            message_id=self.message_id or moment.new_id("message"),
            conversation_id=self.conversation_id,
            role=self.role,
            content=self.content,
            timestamp=moment.now,
            metadata=self.metadata,
        )
        tables.add(message)
        return Outcome("Message sent", (message.message_id,))


class DeleteMessage(Action[ChatRoom]):
    message_id: Name

    @override
    def act(self, tables: ChatRoom, moment: Moment) -> Outcome:
        tables.remove(self.message_id)
        return Outcome("Message deleted", (self.message_id,))


class ClearConversation(Action[ChatRoom]):
    conversation_id: Name = DEFAULT_CONVERSATION

    @override
    def act(self, tables: ChatRoom, moment: Moment) -> Outcome:
        gone = tables.clear(self.conversation_id)
        return Outcome(f"Conversation {self.conversation_id} cleared: {len(gone)} messages", gone)
