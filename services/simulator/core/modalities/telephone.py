"""The tables of the text messages."""

from collections.abc import Iterable

from services.simulator.core.modalities.indexes import GroupIndex, TimeIndex
from services.simulator.core.modalities.sms_records import (
    SmsConversationRecord,
    SmsMessageRecord,
    SmsParticipantRecord,
    SmsUser,
)
from services.simulator.core.modality import EventMoment
from services.simulator.core.records import TableStore
from services.simulator.core.refusals import ActionFailed


class Telephone:
    def __init__(self, store: TableStore) -> None:
        self.messages = store.table("messages", SmsMessageRecord)
        self.conversations = store.table("conversations", SmsConversationRecord)
        self.users = store.table("user", SmsUser)
        self.in_thread = GroupIndex(self.messages, lambda message: (message.thread_id,))
        self.sent_from = GroupIndex(self.messages, lambda message: (message.from_number,))
        self.unread = GroupIndex(self.messages, lambda message: (message.thread_id,) if message.is_unread else ())
        self.not_read = GroupIndex(self.messages, lambda message: () if message.is_read else ("",))
        self.by_sending = TimeIndex(self.messages, lambda message: message.sent_at)
        self._among = GroupIndex(self.conversations, lambda conversation: (key_of_numbers(conversation.members),))

    @property
    def user(self) -> str:
        """The user's own number."""
        return self.users["user"].phone_number

    def set_user(self, user: SmsUser) -> None:
        self.users.put("user", user)

    def require_message(self, message_id: str) -> SmsMessageRecord:
        """Raises ``ActionFailed`` if there is no such message, or it was deleted."""
        if message_id not in self.messages:
            raise ActionFailed(f"There is no message {message_id}")
        if self.messages[message_id].is_deleted:
            raise ActionFailed(f"Message {message_id} is deleted")
        return self.messages[message_id]

    def require_messages(self, message_ids: Iterable[str]) -> list[SmsMessageRecord]:
        """The messages of these ids, each once; raises ``ActionFailed`` if one does not exist or was deleted."""
        return [self.require_message(key) for key in dict.fromkeys(message_ids)]

    def require_conversation(self, thread_id: str) -> SmsConversationRecord:
        """The conversation of that id. Raises ``ActionFailed``."""
        if thread_id not in self.conversations:
            raise ActionFailed(f"There is no conversation {thread_id}")
        return self.conversations[thread_id]

    def add(self, message: SmsMessageRecord) -> None:
        """Adds a message. Raises ``ActionFailed`` if its id is taken."""
        if message.message_id in self.messages:
            raise ActionFailed(f"There is a message {message.message_id} already")
        self.messages.put(message.message_id, message)

    def replace_message(self, message: SmsMessageRecord) -> None:
        self.messages.put(message.message_id, message)

    def put_conversation(self, conversation: SmsConversationRecord) -> None:
        self.conversations.put(conversation.thread_id, conversation)

    def find_or_begin(self, numbers: frozenset[str], moment: EventMoment, created_by: str) -> SmsConversationRecord:
        """The conversation of exactly these participants; a new one if there is none."""
        candidates = self._among[key_of_numbers(numbers)]
        if candidates:
            return self.conversations[min(candidates, key=self.conversations.position)]
        conversation = begin_conversation(moment.new_id("thread"), numbers, moment, created_by)
        self.put_conversation(conversation)
        return conversation


def begin_conversation(
    thread_id: str, numbers: Iterable[str], moment: EventMoment, created_by: str
) -> SmsConversationRecord:
    ordered = sorted(set(numbers))
    return SmsConversationRecord(
        thread_id=thread_id,
        conversation_type="group" if len(ordered) > 2 else "one_on_one",
        participants=tuple(SmsParticipantRecord(phone_number=number, joined_at=moment.now) for number in ordered),
        created_at=moment.now,
        created_by=created_by,
    )


def key_of_numbers(numbers: Iterable[str]) -> str:
    """An index key for a set of numbers, whatever their order."""
    return "|".join(sorted(numbers))
