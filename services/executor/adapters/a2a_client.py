"""One remote A2A agent, 1.0 or 0.3, through the official SDK: its card, messages to it, and what became of them."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple, TypeVar
from uuid import uuid4

import httpx
import structlog
from a2a import types
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError, AgentCardResolutionError
from a2a.utils import errors as rpc
from a2a.utils.constants import TransportProtocol
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError, SerializeToJsonError

from services.executor.ports import tools as ports
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, JsonObject, map_leaves, to_builtins, to_exact
from shared.domain.words import ToolClass

log = structlog.get_logger()

MAX_SKILLS = 64
LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1_000
_LONGEST_TEXT = 200_000
_LONGEST_QUESTION = 4_000
_FORBIDDEN_CHARACTERS_PATTERN = re.compile(r"[^A-Za-z0-9_-]+")
_WORKING_STATES = (types.TaskState.TASK_STATE_SUBMITTED, types.TaskState.TASK_STATE_WORKING)
_FAILURES_BY_STATE = {
    types.TaskState.TASK_STATE_FAILED: "failed",
    types.TaskState.TASK_STATE_REJECTED: "was rejected",
    types.TaskState.TASK_STATE_CANCELED: "was canceled",
    types.TaskState.TASK_STATE_AUTH_REQUIRED: "wants a further authentication, which nobody can give it here",
}

# Ends that say that the agent did not do what it was asked. A canceled task may have done a part of it.
_STATES_WITHOUT_WORK = frozenset(_FAILURES_BY_STATE) - {types.TaskState.TASK_STATE_CANCELED}


def _list_tools_of_card(connection: Connection, card: types.AgentCard) -> tuple[ports.Tool, ...]:
    """One tool for each usable skill of the card, sorted by name; the others are logged with the reason."""
    skills = list(card.skills)[:MAX_SKILLS]
    named_skills = [
        (_FORBIDDEN_CHARACTERS_PATTERN.sub("_", skill.id).strip("_")[:LONGEST_NAME], skill) for skill in skills
    ]
    counts = Counter(name for name, _ in named_skills)
    if len(card.skills) > MAX_SKILLS:
        log.warning("agent_skills_dropped", connection=connection.id, listed=len(card.skills), kept=MAX_SKILLS)
    usable = []
    for name, skill in sorted(named_skills, key=lambda pair: pair[0]):
        if not name or counts[name] > 1:
            log.warning("tool_dropped", connection=connection.id, tool=name, reason="its name is empty or not its own")
        else:
            usable.append(_build_tool(connection, name, skill, card.name))
    return tuple(usable)


def convert_to_tool_answer(reply: types.Task | types.Message) -> ports.ToolAnswer:
    """The tool answer for an agent's task as it stands, or for the message that the agent sent in its place.

    Raises ``ToolSilent`` for data that are no JSON, such as infinite numbers.
    """
    if isinstance(reply, types.Message):
        return ports.ToolAnswer(_read_content(reply.parts))
    state, words = reply.status.state, _join_texts(reply.status.message.parts)
    if state in _WORKING_STATES:
        return ports.ToolAnswer("the agent is at work", unfinished=ports.UnfinishedAgentTask(reply.id))
    if state == types.TaskState.TASK_STATE_INPUT_REQUIRED:
        question = words or "the agent asks for further input, without saying what"
        return ports.ToolAnswer(question, unfinished=ports.UnfinishedAgentTask(reply.id, question[:_LONGEST_QUESTION]))
    if state != types.TaskState.TASK_STATE_COMPLETED:
        end = _FAILURES_BY_STATE.get(state, "ended in a state that nobody knows")
        sentence = f"the agent's task {end}{f': {words}' if words else ''}"
        return ports.ToolAnswer(sentence, is_error=True, not_begun=state in _STATES_WITHOUT_WORK)
    parts = [part for artifact in reply.artifacts for part in artifact.parts]
    return ports.ToolAnswer(_read_content(parts or reply.status.message.parts))


def has_task_ended(task: types.Task) -> bool:
    return convert_to_tool_answer(task).unfinished is None


def _read_content(parts: Iterable[types.Part]) -> Json:
    """The parts' text if they have nothing else; otherwise their texts, data and file names. Files are not fetched.

    Raises ``ToolSilent`` for data that cannot be JSON.
    """
    parts = list(parts)
    text = _join_texts(parts)
    data_parts = (MessageToDict(part)["data"] for part in parts if part.WhichOneof("content") == "data")
    try:
        data: list[Json] = [map_leaves(to_exact(document), _restore_integers) for document in data_parts]
    except SerializeToJsonError as error:
        raise ports.ToolSilent(f"the agent's answer cannot be used: {error}") from error
    file_parts = (part for part in parts if part.WhichOneof("content") in ("raw", "url"))
    files: list[Json] = [part.filename or part.url or "a file" for part in file_parts]
    if not data and not files:
        return text
    return {"text": text, **({"data": data} if data else {}), **({"files": files} if files else {})}


def _join_texts(parts: Iterable[types.Part]) -> str:
    return "\n".join(part.text for part in parts if part.WhichOneof("content") == "text")[:_LONGEST_TEXT]


def _restore_integers(value: Json) -> Json:
    """A whole number as an integer again, since the protocol carries all numbers as doubles."""
    return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value


def _build_tool(connection: Connection, name: str, skill: types.AgentSkill, agent: str) -> ports.Tool:
    """The tool for a skill; of class CHANGE unless the catalogue says otherwise, since an agent may do anything."""
    entry = connection.catalogue.get(name, CatalogueEntry())
    has_class = entry.tool_class is not None
    return ports.Tool(
        connection_id=connection.id,
        name=name,
        description=_describe_skill(skill, agent),
        input_schema=_build_input_schema(entry),
        tool_class=entry.tool_class or ToolClass.CHANGE,
        why_class="the operator's catalogue says so" if has_class else "an agent decides itself what it does",
        catalogue=entry,
        is_skill=True,
    )


def _describe_skill(skill: types.AgentSkill, agent: str) -> str:
    """The card's description of a skill, cut to a bound and marked as text that another party wrote."""
    description = f"{skill.name}: {skill.description}".replace('"', "'")[:_LONGEST_DESCRIPTION]
    return f'A remote agent ({agent[:80]!r}) does this, told in plain words. Its card says: "{description}"'


def _build_input_schema(entry: CatalogueEntry) -> JsonObject:
    text_schema: JsonObject = {
        "type": "string",
        "minLength": 1,
        "description": "what the agent is to do, with all it needs",
    }
    data_schema: JsonObject = {"type": "object", "description": "values that belong to it, exactly as they are"}
    key_field: JsonObject = {entry.idempotency_field: {"type": "string"}} if entry.idempotency_field else {}
    properties: JsonObject = {ports.MESSAGE_KEY: text_schema, "data": data_schema, **key_field}
    return {"type": "object", "properties": properties, "required": [ports.MESSAGE_KEY], "additionalProperties": False}


DATA_ARGUMENT = "data"
_CARD_PATHS = (".well-known/agent-card.json", ".well-known/agent.json")
_BINDINGS = [TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON]
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds between two looks at a task
_MOST_LISTED = 100  # messages of a task, and tasks of a context, among which a message of ours is looked for
_NO_ANSWER_ERRORS = (ports.ToolUnreachable, ports.ToolSilent)
_UNUSABLE_ANSWER_ERRORS = (
    *(ParseError, ValueError, RecursionError, KeyError, TypeError, AttributeError),
    httpx.InvalidURL,
)
# With these the agent says that it did not begin; any other error of the protocol leaves that open.
_NOT_BEGUN_ERRORS = (
    rpc.InvalidParamsError,
    rpc.InvalidRequestError,
    rpc.MethodNotFoundError,
    rpc.JSONParseError,
    rpc.UnsupportedOperationError,
    rpc.ContentTypeNotSupportedError,
    rpc.ExtensionSupportRequiredError,
    rpc.VersionNotSupportedError,
    rpc.TaskNotFoundError,
)

T = TypeVar("T")


async def fetch_agent(connection: Connection, http: httpx.AsyncClient) -> "A2aAgent":
    """Fetches the card at the connection's address; returns its agent. Raises ``ToolUnreachable`` or ``ToolSilent``."""
    card = await _fetch_card(connection, http)
    config = ClientConfig(streaming=False, polling=True, httpx_client=http, supported_protocol_bindings=list(_BINDINGS))
    try:
        client = ClientFactory(config).create(card)
    except ValueError as error:
        raise ports.ToolSilent(f"{connection.id}: its card has no interface over JSON-RPC or REST: {error}") from error
    return A2aAgent(client, _list_tools_of_card(connection, card))


async def _fetch_card(connection: Connection, http: httpx.AsyncClient) -> types.AgentCard:
    """The agent's card, from the first of the two standard paths that has one.

    Raises ``ToolSilent`` if neither has one or if it cannot be read, and httpx's errors if the agent does not answer.
    """
    base, cause = connection.url.rstrip("/"), ""
    for path in _CARD_PATHS:
        try:
            return await A2ACardResolver(http, base, path).get_agent_card()
        except _NO_ANSWER_ERRORS as error:
            raise type(error)(f"{connection.id}: the agent's card: {error}") from error
        except AgentCardResolutionError as error:
            if error.status_code != httpx.codes.NOT_FOUND:
                raise _build_tool_silent(f"{connection.id}: the agent's card", error) from error
            cause = str(error)
        except _UNUSABLE_ANSWER_ERRORS as error:
            raise ports.ToolSilent(
                f"{connection.id}: the agent's card cannot be read: {type(error).__name__}"
            ) from error
    raise ports.ToolSilent(f"{connection.id}: no agent's card is there: {cause}")


class _TaskSearchResult(NamedTuple):
    """The agent's task that has the message of a call, if one was found; else ``is_certain`` says whether the agent
    surely has none.
    """

    task: types.Task | None
    is_certain: bool


class A2aAgent:
    """A client for one agent. Each call is sent as a message; the agent answers with a task, which is then polled."""

    def __init__(self, client: Client, tools: Sequence[ports.Tool]) -> None:
        self._client, self.tools = client, tuple(tools)

    async def send_message(self, tool: str, arguments: JsonObject, deadline: float, context: str) -> ports.ToolAnswer:
        """Sends one message and returns its result; at the deadline (on the event loop's clock) an unfinished answer.

        Raises ``ToolSilent`` if the agent has not even taken the message by then.
        """
        if to_exact(to_builtins(arguments)) != arguments:
            refusal = f"{tool} was not called: JSON carries fewer digits than a number in its arguments"
            return ports.ToolAnswer(refusal, is_error=True, not_begun=True)
        request = _build_request(tool, arguments, context)
        try:
            async with asyncio.timeout_at(deadline):
                reply = await _await_answer(tool, self._send_once(request))
        except TimeoutError:
            raise ports.ToolSilent(f"{tool}: the agent did not take the message in time") from None
        if isinstance(reply, ports.ToolAnswer):
            return reply
        if isinstance(reply, types.Message):
            return convert_to_tool_answer(reply)
        return await self._poll_task(reply, deadline)

    async def ask_outcome(self, arguments: JsonObject, context: str, *, stop_agent: bool) -> ports.ToolAnswer | None:
        """The outcome of an earlier call, from the agent's task that has its message; with ``stop_agent`` an agent that
        is still at work is told to stop.

        Returns None if the agent refuses to say, or has no task of the call among those that it listed, and may have
        others: a message counts as never received only if every task was listed whole. Raises ``ToolUnreachable`` or
        ``ToolSilent``.
        """
        task_id = str(arguments.get(ports.TASK_ID_KEY, ""))
        call_id = str(arguments.get(ports.CALL_ID_KEY, ""))
        wanted_call = "" if stop_agent and task_id else call_id  # whatever it was told last, it has to stop
        search = await _await_answer("the call", self._find_task(wanted_call, task_id, context))
        if isinstance(search, ports.ToolAnswer):
            return None
        if search.task is None:
            return ports.AGENT_NEVER_GOT_MESSAGE if search.is_certain else None
        if stop_agent and not has_task_ended(search.task):
            return await self.cancel_task(search.task.id) or convert_to_tool_answer(search.task)
        return convert_to_tool_answer(search.task)

    async def cancel_task(self, task_id: str) -> ports.ToolAnswer | None:
        """Asks the agent to cancel the task; returns the task's answer then, or None if the agent refuses to say.

        Raises ``ToolUnreachable`` or ``ToolSilent`` if it does not answer.
        """
        reply = await _await_answer("the cancellation", self._cancel_task(task_id))
        return None if isinstance(reply, ports.ToolAnswer) else convert_to_tool_answer(reply)

    async def _cancel_task(self, task_id: str) -> types.Task:
        try:
            return await self._client.cancel_task(types.CancelTaskRequest(id=task_id))
        except rpc.TaskNotCancelableError:
            return await self._client.get_task(types.GetTaskRequest(id=task_id))

    async def _send_once(self, request: types.SendMessageRequest) -> types.Task | types.Message:
        """Sends the message unless one of the agent's tasks already has it; returns the agent's task or message.

        Raises ``ValueError`` for an empty answer.
        """
        message = request.message
        if message.task_id:
            task = await self._client.get_task(types.GetTaskRequest(id=message.task_id, history_length=_MOST_LISTED))
            if _has_message_of_call(task, message.message_id):
                return task
            message.context_id = task.context_id  # without it, the SDK's server takes the task into a new one
        async for event in self._client.send_message(request):
            return event.message if event.HasField("message") else event.task
        raise ValueError("the answer is empty")

    async def _poll_task(self, task: types.Task, deadline: float) -> ports.ToolAnswer:
        """Polls the task until it ends, asks a question, or the deadline has come; returns its answer then.

        ``deadline``: on the event loop's clock. An agent that does not answer is asked again.
        """
        pause, now = _FIRST_PAUSE, asyncio.get_running_loop().time
        answer = convert_to_tool_answer(task)
        while answer.unfinished is not None and not answer.unfinished.question and now() + pause < deadline:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
            try:
                async with asyncio.timeout_at(deadline):
                    task = await self._client.get_task(types.GetTaskRequest(id=task.id))
            except (TimeoutError, A2AClientError, rpc.A2AError, httpx.HTTPError, *_NO_ANSWER_ERRORS):
                continue  # it has the message: what became of it can be asked later
            answer = convert_to_tool_answer(task)
        return answer

    async def _find_task(self, call_id: str, task_id: str, context: str) -> _TaskSearchResult:
        if task_id:
            task = await self._client.get_task(types.GetTaskRequest(id=task_id, history_length=_MOST_LISTED))
            may_be_it = _has_message_of_call(task, call_id) or not task.history
            return _TaskSearchResult(task if may_be_it else None, is_certain=True)
        is_certain = True
        for context_id in (context, ""):  # an agent need not keep the context that we name
            try:
                query = types.ListTasksRequest(context_id=context_id, include_artifacts=True)
                query.page_size = query.history_length = _MOST_LISTED
                page = await self._client.list_tasks(query)
            except NotImplementedError:  # the SDK's word for a generation without such a method
                return _TaskSearchResult(None, is_certain=False)
            taken_task = next((task for task in page.tasks if _has_message_of_call(task, call_id)), None)
            if taken_task is not None:
                return _TaskSearchResult(taken_task, is_certain=True)
            is_certain = not page.next_page_token and all(task.history for task in page.tasks)
        return _TaskSearchResult(None, is_certain)


def _has_message_of_call(task: types.Task, call_id: str) -> bool:
    return not call_id or any(message.message_id == call_id for message in task.history)


def _build_request(tool: str, arguments: JsonObject, context: str) -> types.SendMessageRequest:
    parts = arguments.get(ports.PARTS_KEY) or [{"text": str(arguments.get(ports.MESSAGE_KEY, ""))}]
    message = ParseDict({"parts": to_builtins(parts)}, types.Message(), ignore_unknown_fields=True)
    message.message_id = str(arguments.get(ports.CALL_ID_KEY) or uuid4())
    message.role = types.Role.ROLE_USER
    message.metadata.update({"skill": tool})
    if task_id := arguments.get(ports.TASK_ID_KEY):
        message.task_id = str(task_id)
    else:
        message.context_id = context
    if data := arguments.get(DATA_ARGUMENT):
        message.parts.append(ParseDict({"data": to_builtins(data)}, types.Part()))
    return types.SendMessageRequest(
        message=message, configuration=types.SendMessageConfiguration(return_immediately=True)
    )


async def _await_answer(question: str, request: Awaitable[T]) -> T | ports.ToolAnswer:
    """The agent's answer, or its refusal as an error answer; any other failure is raised as the port's error."""
    try:
        return await request
    except _NOT_BEGUN_ERRORS as error:
        return ports.ToolAnswer(str(error), is_error=True, not_begun=True)
    except _NO_ANSWER_ERRORS as error:
        raise type(error)(f"{question}: {error}") from error
    except (rpc.A2AError, httpx.HTTPError) as error:
        raise _build_tool_silent(question, error) from error
    except _UNUSABLE_ANSWER_ERRORS as error:
        raise ports.ToolSilent(f"{question}: the answer cannot be used: {type(error).__name__}") from error


def _build_tool_silent(question: str, error: Exception) -> ports.ToolSilent:
    cause = error.__cause__ if isinstance(error.__cause__, httpx.HTTPError) else error
    if isinstance(cause, httpx.HTTPStatusError):
        return ports.ToolSilent(f"{question}: the agent answered HTTP {cause.response.status_code}")
    return ports.ToolSilent(f"{question}: {str(cause) or type(cause).__name__}")
