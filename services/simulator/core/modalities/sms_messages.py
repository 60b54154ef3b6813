"""Text messages that are sent and received, and what becomes of them."""

from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field, JsonValue, model_validator
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.fields import AwareTime, Name, Phone, Text
from services.simulator.core.modalities.sms_records import (
    Direction,
    MessageType,
    Reaction,
    SmsAttachment,
    SmsMessageRecord,
)
from services.simulator.core.modalities.telephone import Telephone, begin_conversation
from services.simulator.core.modality import ActionOutcome, EventMoment
from services.simulator.core.refusals import ActionFailed


class _WrittenSms(Action[Telephone]):
    message_id: Name | None = None
    thread_id: Name | None = None
    from_number: Phone
    to_numbers: Annotated[tuple[Phone, ...], Field(min_length=1)]
    body: Text
    message_type: MessageType = "sms"
    attachments: tuple[SmsAttachment, ...] = ()
    replied_to_message_id: Name | None = None

    def build_message(self, phone: Telephone, moment: EventMoment, direction: Direction) -> SmsMessageRecord:
        outgoing = direction == "outgoing"
        return SmsMessageRecord(
            message_id=self.message_id or moment.new_id("message"),
            thread_id=self._thread_id(phone, moment),
            from_number=self.from_number,
            to_numbers=self.to_numbers,
            body=self.body,
            attachments=_number_attachments(self.attachments, moment),
            message_type=self.message_type,
            direction=direction,
            sent_at=moment.now,
            delivered_at=None if outgoing else moment.now,
            is_read=outgoing,
            delivery_status="sent" if outgoing else "delivered",
            replied_to_message_id=self.replied_to_message_id,
        )

    def _thread_id(self, phone: Telephone, moment: EventMoment) -> str:
        numbers = frozenset((self.from_number, *self.to_numbers))
        if self.thread_id is None:
            return phone.find_or_begin(numbers, moment, self.from_number).thread_id
        if self.thread_id not in phone.conversations:
            phone.put_conversation(begin_conversation(self.thread_id, numbers, moment, self.from_number))
        elif not numbers <= phone.conversations[self.thread_id].members:
            raise ActionFailed(f"Not everybody takes part in conversation {self.thread_id}")
        return self.thread_id


class SendSms(_WrittenSms):
    """Sends a message from the user. Fails if another sender's number is given."""

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        if self.from_number != tables.user:
            raise ActionFailed(f"{self.from_number} is not the user's number, which is {tables.user}")
        message = self.build_message(tables, moment, "outgoing")
        tables.add(message)
        return ActionOutcome("SMS sent", (message.message_id,))


class ReceiveMessage(_WrittenSms):
    """Delivers a message from somebody else. It arrives now; ``sent_at`` may lie earlier, and is capped at now."""

    sent_at: AwareTime | None = None

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        if self.from_number == tables.user:
            raise ActionFailed("What the user receives does not come from the user")
        sent_at = min(self.sent_at or moment.now, moment.now)
        message = self.build_message(tables, moment, "incoming").model_copy(update={"sent_at": sent_at})
        tables.add(message)
        return ActionOutcome("SMS received", (message.message_id,))


class MessagesAction(Action[Telephone]):
    """An action on one message (``message_id``) or several (``message_ids``): on all of them, or on none."""

    message_id: Name
    message_ids: Annotated[tuple[Name, ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _fill_both_ids(cls, data: JsonValue) -> JsonValue:
        if not isinstance(data, dict):
            return data
        many = data.get("message_ids")
        if isinstance(many, list) and many:
            return {**data, "message_id": many[0]}
        return data if data.get("message_id") is None else {**data, "message_ids": [data["message_id"]]}


class UpdateDeliveryStatus(MessagesAction):
    """Sets the delivery status of messages. On received ones, ``read`` marks them read, and ``delivered`` unread
    again.
    """

    new_status: Literal["delivered", "read", "failed"] = Field(
        validation_alias=AliasChoices("new_status", "delivery_status", "status")
    )

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        for message in tables.require_messages(self.message_ids):
            tables.replace_message(self._update_message(message, moment))
        return ActionOutcome(f"{len(self.message_ids)} marked as {self.new_status}", self.message_ids)

    def _update_message(self, message: SmsMessageRecord, moment: EventMoment) -> SmsMessageRecord:
        read = self.new_status == "read"
        there = self.new_status != "failed"
        update = {
            "delivery_status": self.new_status,
            "delivered_at": (message.delivered_at or moment.now) if there else message.delivered_at,
            "read_at": (message.read_at or moment.now) if read else None,
            "is_read": read or message.direction == "outgoing",
        }
        return message.model_copy(update=update)


class DeleteSms(MessagesAction):
    """Marks messages as deleted; they stay stored."""

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        for message in tables.require_messages(self.message_ids):
            tables.replace_message(message.model_copy(update={"is_deleted": True}))
        return ActionOutcome(f"{len(self.message_ids)} deleted", self.message_ids)


class EditMessage(Action[Telephone]):
    """Changes the text of a message; only messages of the type rcs can be edited."""

    message_id: Name
    new_body: Text = Field(validation_alias=AliasChoices("new_body", "body"))

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        message = tables.require_message(self.message_id)
        if message.message_type != "rcs":
            raise ActionFailed("Only messages of the type rcs can be edited")
        tables.replace_message(message.model_copy(update={"body": self.new_body, "edited_at": moment.now}))
        return ActionOutcome("Message edited", (self.message_id,))


class AddReaction(Action[Telephone]):
    message_id: Name
    phone_number: Phone
    emoji: Name

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        message = tables.require_message(self.message_id)
        if self.phone_number not in tables.require_conversation(message.thread_id).members:
            raise ActionFailed(f"{self.phone_number} takes no part in that conversation")
        if any(_is_reaction_of(old, self.phone_number, self.emoji) for old in message.reactions):
            raise ActionFailed(f"{self.phone_number} has reacted with {self.emoji} already")
        reaction = Reaction(reaction_id=moment.new_id("reaction"), timestamp=moment.now, **self.model_dump())
        tables.replace_message(message.model_copy(update={"reactions": (*message.reactions, reaction)}))
        return ActionOutcome("Reaction added", (self.message_id, reaction.reaction_id))


class RemoveReaction(Action[Telephone]):
    """Removes a reaction by its id, or all that a number (by default the user's) made, or those of them with this
    emoji.
    """

    message_id: Name
    reaction_id: Name | None = None
    phone_number: Phone | None = None
    emoji: Annotated[Name | None, BeforeValidator(lambda emoji: emoji or None)] = None

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        message = tables.require_message(self.message_id)
        reactions_left = tuple(old for old in message.reactions if not self._matches(old, tables.user))
        if len(reactions_left) == len(message.reactions):
            raise ActionFailed("There is no such reaction")
        tables.replace_message(message.model_copy(update={"reactions": reactions_left}))
        return ActionOutcome("Reaction removed", (self.message_id,))

    def _matches(self, reaction: Reaction, user: str) -> bool:
        if self.reaction_id is not None:
            return reaction.reaction_id == self.reaction_id
        return (self.phone_number or user) == reaction.phone_number and self.emoji in (None, reaction.emoji)


def _is_reaction_of(reaction: Reaction, phone_number: str, emoji: str) -> bool:
    return (reaction.phone_number, reaction.emoji) == (phone_number, emoji)


def _number_attachments(attachments: tuple[SmsAttachment, ...], moment: EventMoment) -> tuple[SmsAttachment, ...]:
    return tuple(
        item if item.attachment_id else item.model_copy(update={"attachment_id": moment.new_id(f"attachment {index}")})
        for index, item in enumerate(attachments)
    )
