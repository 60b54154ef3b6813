"""Text messages of a simulated world as tools."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from services.gateway.worlds import world as worlds
from shared.contracts.ues.modalities import SmsMessage
from shared.domain.exact_json import Json, JsonObject

_ARRIVAL_STATES = frozenset({"sent", "delivered", "read"})


class GetPhone(worlds.Operation):
    """The user's own telephone number, and the conversations with their numbers."""

    tool, permission = "get_phone", "sms:state"

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        state = await world.ues.sms.get_state()
        conversations: list[Json] = [
            {
                "thread_id": conversation.thread_id,
                "phone_numbers": [participant.phone_number for participant in conversation.participants],
                "message_count": conversation.message_count,
                "unread_count": conversation.unread_count,
            }
            for conversation in state.conversations.values()
        ]
        return {"user_phone_number": state.user_phone_number, "conversations": conversations}


class ListTexts(worlds.Operation):
    """Text messages (SMS) that fit all that is given, newest first. Usual values are left out: delivered, no spam."""

    tool, permission = "list_texts", "sms:query"

    thread_id: str | None = None
    from_number: str | None = None
    to_number: str | None = None
    body_contains: str | None = None
    direction: Literal["incoming", "outgoing"] | None = None
    is_read: bool | None = None
    sent_after: datetime | None = None
    sent_before: datetime | None = None
    limit: int = Field(100, ge=1, le=1000)
    offset: int = Field(0, ge=0)

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        page = await world.ues.sms.query(**self.model_dump(exclude_none=True))
        return worlds.build_list_page("texts", [_build_text_row(text) for text in page.messages], page.total_count)


class GetText(worlds.Operation):
    """One text message, by its message_id."""

    tool, permission = "get_text", "sms:state"

    message_id: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        text = (await world.ues.sms.get_state()).messages.get(self.message_id)
        return worlds.select_record_fields(text) if text else {"message_id": self.message_id, "found": False}


class FindSentTexts(worlds.Operation):
    """Text messages that the user has sent in these words."""

    tool, permission = "find_sent_texts", "sms:query"

    body: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        page = await world.ues.sms.query(direction="outgoing", body_contains=self.body.strip(), limit=100)
        return worlds.build_list_page(
            "texts", [worlds.select_record_fields(text) for text in page.messages], page.total_count
        )


class GetTextReaction(worlds.Operation):
    """Whether the user has reacted to a text message with an emoji."""

    tool, permission = "get_text_reaction", "sms:state"

    message_id: str
    emoji: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        state = await world.ues.sms.get_state()
        text = state.messages.get(self.message_id)
        reaction = (self.emoji, state.user_phone_number)
        reactions = [(row.get("emoji"), row.get("phone_number")) for row in text.reactions] if text else []
        return {"message_id": self.message_id, "emoji": self.emoji, "present": reaction in reactions}


class SendText(worlds.Operation):
    """Send a text message (SMS) from the user's telephone."""

    tool = "send_text"
    permission = "sms:send"
    read_back = "find_sent_texts"

    to_numbers: tuple[str, ...] = Field(min_length=1, description="telephone numbers")
    body: str = Field(min_length=1)

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        number = await world.user_number()
        text = world.ues.sms.send(from_number=number, to_numbers=self.to_numbers, body=self.body)
        return worlds.build_created_ids(await world.carry_out_change(text), "message_id")


class ReactToText(worlds.Operation):
    """React to a text message with an emoji."""

    tool = "react_to_text"
    permission = "sms:react"
    expect = {"present": True}
    read_back = "get_text_reaction"

    message_id: str
    emoji: str = Field(min_length=1)

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        number = await world.user_number()
        await world.carry_out_change(world.ues.sms.react(self.message_id, number, self.emoji))
        return {"message_id": self.message_id, "emoji": self.emoji, "present": True}


def _build_text_row(text: SmsMessage) -> JsonObject:
    arrival_fields = ("delivery_status", "delivered_at") if text.delivery_status in _ARRIVAL_STATES else ()
    return worlds.select_row_fields(text, "read_at", *arrival_fields)


_FLAG_CHANGES = tuple(
    worlds.make_message_change(tool, permission, description, "get_text", expect)
    for tool, permission, description, expect in (
        ("mark_text_read", "sms:read", "Mark a text message as read.", {"is_read": True}),
        ("mark_text_unread", "sms:unread", "Mark a text message as unread.", {"is_read": False}),
        ("delete_text", "sms:delete", "Delete a text message.", {"is_deleted": True}),
    )
)
TEXT_OPERATIONS: tuple[type[worlds.Operation], ...] = (
    GetPhone, ListTexts, GetText, FindSentTexts, GetTextReaction, SendText, ReactToText, *_FLAG_CHANGES,
)  # fmt: skip
