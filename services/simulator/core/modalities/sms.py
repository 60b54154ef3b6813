"""The user's text messages."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from typing_extensions import override

from services.simulator.core.modalities import sms_conversations as conversations, sms_messages as messages
from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.cached_state import CachedStateModality
from services.simulator.core.modalities.fields import format_time_with_z
from services.simulator.core.modalities.loading import Exported, require_same_keys
from services.simulator.core.modalities.rendered import RenderedRows, row_as_json
from services.simulator.core.modalities.sms_query import SmsQuery, find_messages
from services.simulator.core.modalities.sms_records import SmsConversationRecord, SmsMessageRecord, SmsUser
from services.simulator.core.modalities.telephone import Telephone
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import parse_model

OPERATIONS: Mapping[str, type[Action[Telephone]]] = {
    "send_message": messages.SendSms,
    "receive_message": messages.ReceiveMessage,
    "update_delivery_status": messages.UpdateDeliveryStatus,
    "add_reaction": messages.AddReaction,
    "remove_reaction": messages.RemoveReaction,
    "edit_message": messages.EditMessage,
    "delete_message": messages.DeleteSms,
    "create_group": conversations.CreateGroup,
    "update_group": conversations.UpdateGroup,
    "add_participant": conversations.AddParticipant,
    "remove_participant": conversations.RemoveParticipant,
    "leave_group": conversations.LeaveGroup,
    "update_conversation": conversations.UpdateConversation,
}


class ExportedSms(Exported):
    """Exported text messages. Counts are derived from the messages, so they are not read."""

    user_phone_number: str
    messages: dict[str, SmsMessageRecord] = {}
    conversations: dict[str, SmsConversationRecord] = {}


class SmsModality(CachedStateModality[Telephone]):
    name: ClassVar[str] = "sms"
    kept: ClassVar[tuple[str, ...]] = ("user",)
    operations = OPERATIONS

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self.tables = Telephone(self.store)
        self._messages = RenderedRows(self.tables.messages, row_as_json)
        self.tables.set_user(SmsUser())
        self.clear(now)

    @override
    def upgrade_data(self, data: JsonObject) -> JsonObject:
        return flatten_action(data)

    @override
    def body(self) -> JsonObject:
        return {
            "user_phone_number": self.tables.user,
            "messages": self._messages.rows_by_key(),
            "conversations": self._conversations(),
            "total_message_count": len(self.tables.messages),
            "unread_count": self._unread_count(),
            "total_conversation_count": len(self.tables.conversations),
        }

    @override
    def compact_body(self) -> JsonObject:
        return {
            "last_updated": format_time_with_z(self.head.last_updated),
            "update_count": self.head.update_count,
            "user_phone_number": self.tables.user,
            "conversations": self._conversations(),
            "total_conversations": len(self.tables.conversations),
            "total_messages": len(self.tables.messages),
            "unread_total": self._unread_count(),
        }

    @override
    def query(self, fields: JsonObject, now: datetime) -> JsonObject:
        query = parse_model(SmsQuery, fields)
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
        read = parse_model(ExportedSms, state)
        require_same_keys("messages", read.messages, "message_id")
        require_same_keys("conversations", read.conversations, "thread_id")
        self.store.clear()
        self.set_head(read.head)
        self.tables.set_user(SmsUser(phone_number=read.user_phone_number))
        for conversation in read.conversations.values():
            self.tables.put_conversation(conversation)
        for message in read.messages.values():
            self.tables.add(message)

    def _conversations(self) -> JsonObject:
        return {key: self._conversation(conversation) for key, conversation in self.tables.conversations.items()}

    def _conversation(self, conversation: SmsConversationRecord) -> JsonObject:
        keys = self.tables.in_thread[conversation.thread_id]
        last = max((self.tables.messages[key].sent_at for key in keys), default=conversation.created_at)
        derived: JsonObject = {
            "last_message_at": format_time_with_z(last),
            "message_count": len(keys),
            "unread_count": len(self.tables.unread[conversation.thread_id]),
        }
        return row_as_json(conversation) | derived

    def _unread_count(self) -> int:
        return sum(len(self.tables.unread[thread_id]) for thread_id in self.tables.unread.names())


def flatten_action(data: JsonObject) -> JsonObject:
    """An action of any of the three shapes in the newest: ``operation`` and flat fields.

    The first had ``action``, the middle one ``operation``, both with the fields in an object ``*_data``. What is null
    is left out, so that no ``operation: null`` of a client hides an ``action``.
    """
    nested: JsonObject = {}
    newest: JsonObject = {}
    for name, value in data.items():
        if isinstance(value, dict) and name.endswith("_data"):
            nested |= value
        elif value is not None and not name.endswith("_data"):
            newest["operation" if name == "action" else name] = value
    return nested | newest
