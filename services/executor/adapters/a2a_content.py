"""What an A2A agent's card, tasks and messages say, in the words of the ``ToolServers`` port."""

import re
from collections import Counter
from collections.abc import Iterable

import structlog
from a2a.types import AgentCard, AgentSkill, Message, Part, Task, TaskState
from google.protobuf.json_format import MessageToDict

from services.executor.ports.tools import MESSAGE, Tool, ToolAnswer, Unfinished
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, JsonObject, plain
from shared.domain.words import ToolClass

log = structlog.get_logger()

MAX_SKILLS = 64
MAX_NAME = 64
_DESCRIPTION_MOST = 1_000
_TEXT_MOST = 200_000
_QUESTION_MOST = 4_000
_NO_ENTRY = CatalogueEntry()
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_AT_WORK = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
_NO_RESULT = {
    TaskState.TASK_STATE_FAILED: "failed",
    TaskState.TASK_STATE_REJECTED: "was rejected",
    TaskState.TASK_STATE_CANCELED: "was canceled",
    TaskState.TASK_STATE_AUTH_REQUIRED: "wants a further authentication, which nobody can give it here",
}


def tools_of(connection: Connection, card: AgentCard) -> tuple[Tool, ...]:
    """A tool for each skill, in the order of their names; each dropped one is logged with its reason."""
    named = [(_name(skill), skill) for skill in list(card.skills)[:MAX_SKILLS]]
    times = Counter(name for name, _ in named)
    if len(card.skills) > MAX_SKILLS:
        log.warning("skills_dropped", connection=connection.id, listed=len(card.skills), kept=MAX_SKILLS)
    usable = []
    for name, skill in sorted(named, key=lambda pair: pair[0]):
        if not name or times[name] > 1:
            log.warning("tool_dropped", connection=connection.id, tool=name, reason="its name is empty or not its own")
        else:
            usable.append(_tool(connection, name, skill, card.name))
    return tuple(usable)


def answer_of(said: Task | Message) -> ToolAnswer:
    """A task as it stands, or the message that an agent answers in place of one."""
    if isinstance(said, Message):
        return ToolAnswer(_content(said.parts))
    state, words = said.status.state, _text(said.status.message.parts)
    if state in _AT_WORK:
        return ToolAnswer("the agent is at work", unfinished=Unfinished(said.id))
    if state == TaskState.TASK_STATE_INPUT_REQUIRED:
        question = words or "the agent asks for further input, without saying what"
        return ToolAnswer(question, unfinished=Unfinished(said.id, question[:_QUESTION_MOST]))
    if state != TaskState.TASK_STATE_COMPLETED:
        how = _NO_RESULT.get(state, "ended in a state that nobody knows")
        return ToolAnswer(f"the agent's task {how}{f': {words}' if words else ''}", is_error=True, not_begun=True)
    parts = [part for artifact in said.artifacts for part in artifact.parts]
    return ToolAnswer(_content(parts or said.status.message.parts))


def is_done(task: Task) -> bool:
    return answer_of(task).unfinished is None


def _content(parts: Iterable[Part]) -> Json:
    """The text alone where there is nothing else; files are named, not fetched."""
    parts = list(parts)
    text = _text(parts)
    data: list[Json] = [_exact(part) for part in parts if part.WhichOneof("content") == "data"]
    files: list[Json] = [part.filename or part.url or "a file" for part in parts if _is_file(part)]
    if not data and not files:
        return text
    return {"text": text, **({"data": data} if data else {}), **({"files": files} if files else {})}


def _text(parts: Iterable[Part]) -> str:
    return "\n".join(part.text for part in parts if part.WhichOneof("content") == "text")[:_TEXT_MOST]


def _is_file(part: Part) -> bool:
    return part.WhichOneof("content") in ("raw", "url")


def _exact(part: Part) -> Json:
    """The protocol carries doubles; whole ones are whole numbers again."""
    return _whole(plain(MessageToDict(part)["data"]))


def _whole(value: Json) -> Json:
    match value:
        case dict():
            return {name: _whole(inner) for name, inner in value.items()}
        case list():
            return [_whole(inner) for inner in value]
        case None | bool() | int() | str():
            return value
        case _:
            return int(value) if value == value.to_integral_value() else value


def _name(skill: AgentSkill) -> str:
    return _NOT_IN_NAMES.sub("_", skill.id).strip("_")[:MAX_NAME]


def _tool(connection: Connection, name: str, skill: AgentSkill, agent: str) -> Tool:
    """Whatever a skill's name sounds like, an agent decides itself what it does: only the catalogue says "reads"."""
    entry = connection.catalogue.get(name, _NO_ENTRY)
    by_catalogue = entry.tool_class is not None
    return Tool(
        connection_id=connection.id,
        name=name,
        description=_describe(skill, agent),
        input_schema=_schema(entry),
        tool_class=entry.tool_class or ToolClass.CHANGE,
        why_class="the operator's catalogue says so" if by_catalogue else "an agent decides itself what it does",
        catalogue=entry,
        is_skill=True,
    )


def _describe(skill: AgentSkill, agent: str) -> str:
    """What the card says, marked as another's words; bounded."""
    said = f"{skill.name}: {skill.description}".replace('"', "'")[:_DESCRIPTION_MOST]
    return f'A remote agent ({agent[:80]!r}) does this, told in plain words. Its card says: "{said}"'


def _schema(entry: CatalogueEntry) -> JsonObject:
    told: JsonObject = {"type": "string", "minLength": 1, "description": "what the agent is to do, with all it needs"}
    data: JsonObject = {"type": "object", "description": "values that belong to it, exactly as they are"}
    own: JsonObject = {entry.idempotency_field: {"type": "string"}} if entry.idempotency_field else {}
    properties: JsonObject = {MESSAGE: told, "data": data, **own}
    return {"type": "object", "properties": properties, "required": [MESSAGE], "additionalProperties": False}
