"""``/chat``."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from shared.contracts.ues.actions import ActionDone
from shared.contracts.ues.chat import ChatFound, ChatState
from shared.infra.ues.line import WorldLine, given_values


class ChatEndpoints:
    def __init__(self, line: WorldLine) -> None:
        self._line = line

    async def get_state(self) -> ChatState:
        return await self._line.get(ChatState, "/chat/state")

    async def get_compact_state(self) -> JsonValue:
        return await self._line.raw("/chat/state", compact=True)

    async def query(
        self,
        *,
        conversation_id: str | None = None,
        role: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        search: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort_by: str | None = None,
        sort_order: str | None = None,
    ) -> ChatFound:
        asked = given_values(
            conversation_id=conversation_id,
            role=role,
            since=since,
            until=until,
            search=search,
            limit=limit,
            offset=offset,
            sort_by=sort_by,
            sort_order=sort_order,
        )
        return await self._line.ask(ChatFound, "/chat/query", asked)

    async def send(
        self,
        role: str,
        content: str | Sequence[Mapping[str, JsonValue]],
        conversation_id: str = "default",
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> ActionDone:
        """``role``: user or assistant."""
        message = given_values(role=role, content=content, conversation_id=conversation_id, metadata=metadata)
        return await self._line.post(ActionDone, "/chat/send", message)

    async def delete(self, message_id: str) -> ActionDone:
        return await self._line.post(ActionDone, "/chat/delete", given_values(message_id=message_id))

    async def clear(self, conversation_id: str) -> ActionDone:
        return await self._line.post(ActionDone, "/chat/clear", given_values(conversation_id=conversation_id))
