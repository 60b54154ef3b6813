"""What the user of an assessed world asks for: read from the chat, once a turn, and taken for the task's text."""

from services.executor.core.assessed.world import only_world
from services.executor.core.dossier.endings import Failed
from services.executor.core.prime.prime import Opened
from services.executor.core.prime.privacy import refuse_protected
from services.executor.core.turn.recording import RecordedTools
from services.executor.ports.tools import ToolServers, ToolSilent, ToolUnreachable
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.domain.marks import marked_values

_STEP = "assessed:chat"
_TOOL = "list_chat_messages"
_MOST = 1000  # messages
_LONGEST = 20_000  # characters of the task


async def hear_user(opened: Opened, tools: ToolServers, seconds: float) -> Opened:
    """The turn with the user's own words as its text; any other task as it is.

    The read is a step of the journal. Raises ``Failed`` if the world cannot be asked, and ``Rejected`` as for any task
    whose words ask for protected data. A user who has said nothing leaves the text as it came.
    """
    record = opened.work.record
    world = only_world(record)
    if world is None:
        return opened
    reader = RecordedTools(tools, opened.journal)

    async def listen() -> str:
        asked: JsonObject = {"limit": _MOST}
        try:
            answer = await reader.read(world[0], _TOOL, asked, seconds, record.session_id)
        except (ToolUnreachable, ToolSilent) as error:
            raise Failed(f"the assessed world cannot be asked: {error}", "tool_server") from error
        if answer.is_error:
            raise Failed(f"the assessed world does not show what the user asks for: {answer.content}", "tool_server")
        opened.journal.tell("tool", tool=_TOOL, tool_class="READ", connection=world[0].id, ok=True)
        return dumps(answer.content)

    text = users_words(loads(await opened.journal.run_step(_STEP, "tool", listen)))
    if not text:
        return opened
    opened.journal.hide(marked_values(text))
    refuse_protected(text)
    request = record.request.model_copy(update={"text": text})
    return opened._replace(work=opened.work._replace(record=record.model_copy(update={"request": request})))


def users_words(chat: Json) -> str:
    """What the user has said, in order; of a talk that is too long the latest."""
    messages = chat.get("messages") if isinstance(chat, dict) else None
    rows = [row for row in messages if isinstance(row, dict)] if isinstance(messages, list) else []
    said = [str(row.get("content", "")).strip() for row in rows if row.get("role") == "user"]
    return "\n\n".join(filter(None, said))[-_LONGEST:]
