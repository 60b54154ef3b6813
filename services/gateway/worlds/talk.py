"""The chat between user and assistant in a simulated world, and its clock, as tools."""

from datetime import datetime

from pydantic import Field
from typing_extensions import override

from services.gateway.worlds.world import USERS_CHAT, ConnectedWorld, WorldEdit, WorldRead, created_ids, page
from shared.contracts.ues.chat import ChatMessage
from shared.domain.exact_json import JsonObject


class ListChatMessages(WorldRead):
    """What user and assistant have said to each other in the chat, in order."""

    tool = "list_chat_messages"
    permission = "chat:query"

    since: datetime | None = None
    search: str | None = None
    limit: int = Field(200, ge=1, le=1000)
    offset: int = Field(0, ge=0)

    @override
    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        asked = self.model_dump(exclude_none=True)
        found = await world.ues.chat.query(conversation_id=USERS_CHAT, sort_by="timestamp", sort_order="asc", **asked)
        return page("messages", [_message(one) for one in found.messages], found.total_count)


class FindChatAnswers(WorldRead):
    """What the assistant has told the user in the chat in these words."""

    tool = "find_chat_answers"
    permission = "chat:query"

    content: str

    @override
    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        found = await world.ues.chat.query(conversation_id=USERS_CHAT, role="assistant", limit=1000)
        rows = [_message(one) for one in found.messages if one.text.strip() == self.content.strip()]
        return page("messages", rows, len(rows))


class SendChatMessage(WorldEdit):
    """Tell the user something in the chat, as the user's assistant."""

    tool = "send_chat_message"
    permission = "chat:send"
    read_back = "find_chat_answers"

    content: str = Field(min_length=1)

    @override
    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        return created_ids(await world.act(world.ues.chat.send("assistant", self.content, USERS_CHAT)), "message_id")


class GetChat(WorldRead):
    """How much was said in the chat, in all conversations."""

    tool = "get_chat"
    permission = "chat:state"

    @override
    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        state = await world.ues.chat.get_state()
        return {"total_message_count": state.total_message_count, "conversation_count": state.conversation_count}


class GetTime(WorldRead):
    """What time it is for the user."""

    tool = "get_time"
    permission = "time:read"

    @override
    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        return {"current_time": (await world.ues.time.get_state()).current_time.isoformat()}


def _message(said: ChatMessage) -> JsonObject:
    """Its text alone: pictures and sounds are not shown."""
    return {
        "message_id": said.message_id,
        "role": said.role,
        "content": said.text,
        "timestamp": said.timestamp.isoformat(),
    }


TALK = (ListChatMessages, FindChatAnswers, SendChatMessage, GetChat, GetTime)
