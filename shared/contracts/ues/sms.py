"""Text messages as a simulator shows them."""

from collections.abc import Mapping

from pydantic import JsonValue

from shared.contracts.ues.base import Answer, JsonObject, Moment


class SmsMessage(Answer):
    message_id: str
    thread_id: str = ""
    from_number: str
    to_numbers: tuple[str, ...] = ()
    body: str = ""
    attachments: tuple[JsonObject, ...] = ()
    reactions: tuple[JsonObject, ...] = ()
    message_type: str = "sms"
    direction: str = ""
    sent_at: Moment
    delivered_at: Moment | None = None
    read_at: Moment | None = None
    is_read: bool = False
    delivery_status: str = ""
    edited_at: Moment | None = None
    is_deleted: bool = False
    replied_to_message_id: str | None = None
    is_spam: bool = False


class SmsParticipant(Answer):
    phone_number: str
    is_admin: bool = False


class SmsConversation(Answer):
    thread_id: str
    conversation_type: str = "one_on_one"
    participants: tuple[SmsParticipant, ...] = ()
    group_name: str | None = None
    message_count: int = 0
    unread_count: int = 0


class SmsState(Answer):
    current_time: Moment | None = None
    user_phone_number: str | None = None
    messages: Mapping[str, SmsMessage] = {}
    conversations: Mapping[str, SmsConversation] = {}
    total_message_count: int = 0
    unread_count: int = 0
    total_conversation_count: int = 0


class SmsFound(Answer):
    messages: tuple[SmsMessage, ...] = ()
    total_count: int = 0
    returned_count: int = 0
    query: Mapping[str, JsonValue] = {}
