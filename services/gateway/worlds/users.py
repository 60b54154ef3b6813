"""What the user of a world asks for, as it stands in the chat."""

from typing_extensions import override

from services.gateway.features.participation.service import UsersWords, UserUnheard
from services.gateway.worlds.calls import BridgedWorld, Came, WorldCalls
from shared.domain.exact_json import Json
from shared.infra.guard import Guard

_TOOL = "list_chat_messages"
_MOST = 1000  # messages
_LONGEST = 20_000  # characters


class ChatWords(UsersWords):
    """``guard``: where worlds may be."""

    def __init__(self, guard: Guard, seconds: float) -> None:
        self._guard, self._seconds = guard, seconds

    @override
    async def read_words(self, ues_url: str, key: str) -> str:
        async with WorldCalls(self._guard) as calls:
            reply = await calls.call(BridgedWorld(ues_url, key), _TOOL, {"limit": _MOST}, self._seconds)
        if reply.came is not Came.DONE:
            raise UserUnheard(f"the assessed world cannot be asked: {reply.content}")
        return users_words(reply.content)


def users_words(chat: Json) -> str:
    """What the user has said, in order; of a talk that is too long the latest."""
    messages = chat.get("messages") if isinstance(chat, dict) else None
    rows = [row for row in messages if isinstance(row, dict)] if isinstance(messages, list) else []
    said = [str(row.get("content", "")).strip() for row in rows if row.get("role") == "user"]
    return "\n\n".join(filter(None, said))[-_LONGEST:]
