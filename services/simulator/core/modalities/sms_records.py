"""What the user's text messages are made of."""

from typing import Literal, TypeAlias

from pydantic import Field

from services.simulator.core.modalities.fields import StoredTime
from services.simulator.core.records import StoredRow

MessageType: TypeAlias = Literal["sms", "rcs"]
Direction: TypeAlias = Literal["incoming", "outgoing"]
DeliveryStatus: TypeAlias = Literal["sending", "sent", "delivered", "failed", "read"]


class SmsAttachment(StoredRow):
    filename: str = Field(min_length=1)
    size: int = Field(ge=0)
    mime_type: str = "application/octet-stream"
    attachment_id: str | None = None
    thumbnail_url: str | None = None
    duration: float | None = Field(None, ge=0, allow_inf_nan=False)


class Reaction(StoredRow):
    reaction_id: str
    message_id: str
    phone_number: str
    emoji: str
    timestamp: StoredTime


class SmsMessageRecord(StoredRow):
    message_id: str
    thread_id: str
    from_number: str
    to_numbers: tuple[str, ...]
    body: str
    attachments: tuple[SmsAttachment, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    message_type: MessageType = "sms"
    direction: Direction
    sent_at: StoredTime
    delivered_at: StoredTime | None = None
    read_at: StoredTime | None = None
    is_read: bool = False
    delivery_status: DeliveryStatus = "sent"
    edited_at: StoredTime | None = None
    is_deleted: bool = False
    replied_to_message_id: str | None = None
    is_spam: bool = False

    @property
    def is_unread(self) -> bool:
        return self.direction == "incoming" and not self.is_read and not self.is_deleted


class SmsParticipantRecord(StoredRow):
    phone_number: str
    is_admin: bool = False
    joined_at: StoredTime
    left_at: StoredTime | None = None


class SmsConversationRecord(StoredRow):
    """A conversation. The number of its messages and the time of the last are derived from the messages."""

    thread_id: str
    conversation_type: Literal["one_on_one", "group"]
    participants: tuple[SmsParticipantRecord, ...]
    group_name: str | None = None
    group_photo_url: str | None = None
    created_at: StoredTime
    created_by: str | None = None
    is_pinned: bool = False
    is_muted: bool = False
    is_archived: bool = False
    draft_message: str | None = None

    @property
    def members(self) -> frozenset[str]:
        """The numbers of those who have not left."""
        return frozenset(participant.phone_number for participant in self.participants if participant.left_at is None)


class SmsUser(StoredRow):
    """The user whose telephone it is."""

    phone_number: str = "+15550000000"
