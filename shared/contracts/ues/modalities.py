"""The state and actions of a simulated world's modalities: calendar, chat, mail, text messages."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, AliasChoices, Field, JsonValue

from shared.contracts.base import FrozenModel
from shared.domain.instants import to_utc

JsonObject: TypeAlias = dict[str, JsonValue]
Moment = Annotated[datetime, AfterValidator(to_utc)]


class SimulatorAnswer(FrozenModel):
    """Base of a simulator's answers, whose unknown fields are ignored, since the server may be newer."""


class ActionResult(SimulatorAnswer):
    """An action's result. ``event_id``: the simulator's event; ``entity_ids``: of messages or appointments, if any."""

    event_id: str
    scheduled_time: Moment
    status: str
    message: str = ""
    modality: str
    entity_id: str | None = None
    entity_ids: tuple[str, ...] = ()


class Attendee(SimulatorAnswer):
    """An attendee. ``response``: accepted, declined, tentative or needs-action, under either name servers use."""

    email: str
    display_name: str | None = None
    optional: bool = False
    response: str = Field(default="needs-action", validation_alias=AliasChoices("response", "response_status"))
    comment: str | None = None


class CalendarEvent(SimulatorAnswer):
    event_id: str
    calendar_id: str = "primary"
    title: str
    start: Moment
    end: Moment
    all_day: bool = False
    timezone: str | None = None
    description: str | None = None
    location: str | None = None
    status: str = "confirmed"
    organizer: str | None = None
    attendees: tuple[Attendee, ...] = ()
    recurrence: JsonObject | None = None
    recurrence_id: str | None = None
    parent_event_id: str | None = None
    reminders: tuple[JsonObject, ...] = ()
    visibility: str = "default"
    transparency: str = "opaque"
    conference_link: str | None = None
    created_at: Moment | None = None
    updated_at: Moment | None = None
    deleted_at: Moment | None = None


class Calendar(SimulatorAnswer):
    calendar_id: str
    name: str = ""
    event_ids: tuple[str, ...] = ()


class CalendarState(SimulatorAnswer):
    """The calendars and their events. Unlike other states it has no time of its own."""

    default_calendar_id: str | None = None
    user_timezone: str | None = None
    calendars: Mapping[str, Calendar] = {}
    events: Mapping[str, CalendarEvent] = {}
    calendar_count: int = 0
    event_count: int = 0


class CalendarEventsAnswer(SimulatorAnswer):
    """The calendar events that match a query."""

    events: tuple[CalendarEvent, ...] = ()
    count: int = 0
    total_count: int = 0


class ChatMessage(SimulatorAnswer):
    """A chat message. ``content``: a text, or blocks of which some may be texts."""

    message_id: str
    conversation_id: str
    role: str
    content: str | tuple[JsonObject, ...]
    timestamp: Moment
    metadata: JsonObject = {}

    @property
    def text(self) -> str:
        """The message's text, its text blocks joined by line breaks."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(
            str(block["text"]) for block in self.content if block.get("type") == "text" and "text" in block
        )


class ChatConversation(SimulatorAnswer):
    conversation_id: str
    message_count: int = 0
    participant_roles: tuple[str, ...] = ()


class ChatState(SimulatorAnswer):
    current_time: Moment | None = None
    conversations: Mapping[str, ChatConversation] = {}
    messages: tuple[ChatMessage, ...] = ()
    total_message_count: int = 0
    conversation_count: int = 0


class ChatMessagesAnswer(SimulatorAnswer):
    """The chat messages that match a query."""

    messages: tuple[ChatMessage, ...] = ()
    total_count: int = 0
    returned_count: int = 0
    query: Mapping[str, JsonValue] = {}


class Email(SimulatorAnswer):
    message_id: str
    thread_id: str = ""
    from_address: str
    to_addresses: tuple[str, ...] = ()
    cc_addresses: tuple[str, ...] = ()
    bcc_addresses: tuple[str, ...] = ()
    reply_to_address: str | None = None
    subject: str = ""
    body_text: str = ""
    body_html: str | None = None
    attachments: tuple[JsonObject, ...] = ()
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    sent_at: Moment
    received_at: Moment
    is_read: bool = False
    is_starred: bool = False
    priority: str = "normal"
    folder: str = "inbox"
    labels: tuple[str, ...] = ()


class EmailThread(SimulatorAnswer):
    thread_id: str
    subject: str = ""
    participant_addresses: tuple[str, ...] = ()
    message_ids: tuple[str, ...] = ()
    message_count: int = 0
    unread_count: int = 0


class EmailState(SimulatorAnswer):
    """The mails. ``folders`` and ``labels``: the ids under each name, or on older servers only their number."""

    current_time: Moment | None = None
    user_email_address: str | None = None
    emails: Mapping[str, Email] = {}
    threads: Mapping[str, EmailThread] = {}
    folders: Mapping[str, tuple[str, ...] | int] = {}
    labels: Mapping[str, tuple[str, ...] | int] = {}
    total_email_count: int = 0
    unread_count: int = 0
    starred_count: int = 0

    def count_in_folder(self, name: str) -> int:
        """The number of mails in a folder."""
        mails = self.folders.get(name, 0)
        return mails if isinstance(mails, int) else len(mails)


class EmailsAnswer(SimulatorAnswer):
    """The mails that match a query."""

    emails: tuple[Email, ...] = ()
    total_count: int = 0
    returned_count: int = 0
    query: Mapping[str, JsonValue] = {}


class SmsMessage(SimulatorAnswer):
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


class SmsParticipant(SimulatorAnswer):
    phone_number: str
    is_admin: bool = False


class SmsConversation(SimulatorAnswer):
    thread_id: str
    conversation_type: str = "one_on_one"
    participants: tuple[SmsParticipant, ...] = ()
    group_name: str | None = None
    message_count: int = 0
    unread_count: int = 0


class SmsState(SimulatorAnswer):
    current_time: Moment | None = None
    user_phone_number: str | None = None
    messages: Mapping[str, SmsMessage] = {}
    conversations: Mapping[str, SmsConversation] = {}
    total_message_count: int = 0
    unread_count: int = 0
    total_conversation_count: int = 0


class SmsMessagesAnswer(SimulatorAnswer):
    """The text messages that match a query."""

    messages: tuple[SmsMessage, ...] = ()
    total_count: int = 0
    returned_count: int = 0
    query: Mapping[str, JsonValue] = {}


class TimeState(SimulatorAnswer):
    """The simulated world's clock."""

    current_time: Moment
    time_scale: float = 1.0
    is_paused: bool = False
    auto_advance: bool = False
    mode: str = "manual"
