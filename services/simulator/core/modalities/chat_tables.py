"""The tables of the chat modality."""

from services.simulator.core.modalities.chat_records import ChatConversationRecord, ChatMessageRecord, ChatSettings
from services.simulator.core.modalities.indexes import GroupIndex, TimeIndex
from services.simulator.core.records import TableStore
from services.simulator.core.refusals import ActionFailed


class ChatTables:
    def __init__(self, store: TableStore) -> None:
        self.messages = store.table("messages", ChatMessageRecord)
        self.conversations = store.table("conversations", ChatConversationRecord)
        self.settings = store.table("settings", ChatSettings)
        self.in_conversation = GroupIndex(self.messages, lambda message: (message.conversation_id,))
        self.by_time = TimeIndex(self.messages, lambda message: message.timestamp)

    @property
    def max_history_size(self) -> int:
        return self.settings["settings"].max_history_size

    def set_up(self, settings: ChatSettings) -> None:
        self.settings.put("settings", settings)

    def add(self, message: ChatMessageRecord) -> None:
        """Adds a message, and its conversation if that is new; raises ``ActionFailed`` if the id is taken."""
        if message.message_id in self.messages:
            raise ActionFailed(f"There is a message {message.message_id} already")
        if message.conversation_id not in self.conversations:
            begun = ChatConversationRecord(conversation_id=message.conversation_id, created_at=message.timestamp)
            self.conversations.put(message.conversation_id, begun)
        self.messages.put(message.message_id, message)
        self._drop_oldest(message.conversation_id)

    def remove(self, message_id: str) -> None:
        """Raises ``ActionFailed`` if there is no such message."""
        if message_id not in self.messages:
            raise ActionFailed(f"There is no message {message_id}")
        self.messages.remove(message_id)

    def clear(self, conversation_id: str) -> tuple[str, ...]:
        """Removes a conversation with all its messages, and returns their ids; raises ``ActionFailed`` if there is
        none.
        """
        if conversation_id not in self.conversations:
            raise ActionFailed(f"There is no conversation {conversation_id}")
        removed = tuple(message.message_id for message in self.messages_of(conversation_id))
        for message_id in removed:
            self.messages.remove(message_id)
        self.conversations.remove(conversation_id)
        return removed

    def messages_of(self, conversation_id: str) -> list[ChatMessageRecord]:
        """The messages of a conversation, oldest first."""
        keys = sorted(self.in_conversation[conversation_id], key=self.by_time.sort_key)
        return [self.messages[key] for key in keys]

    def _drop_oldest(self, conversation_id: str) -> None:
        surplus = len(self.in_conversation[conversation_id]) - self.max_history_size
        if surplus > 0:
            for message in self.messages_of(conversation_id)[:surplus]:
                self.messages.remove(message.message_id)
