"""An orchestrator that remembers its conversation, asked as a model: all of ``ask`` holds for it, too.

Each round is journaled, masked, stopped by a cancel, and counted by estimated tokens (characters / 4); what it costs in
money is unknown here, and no money is counted.
"""

from dataclasses import replace

from typing_extensions import override

from services.executor.core.budget.budget import Tariff, TaskSpending, size_of
from services.executor.core.prompts.sections import render
from services.executor.core.session.context import TurnContext
from services.executor.ports.models import (
    Message,
    Model,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    TextBlock,
    ToolResult,
    ToolUse,
    Usage,
)
from services.executor.ports.orchestrators import (
    Orchestrator,
    OrchestratorReply,
    OrchestratorUnavailable,
    Saying,
    ToolTold,
)
from shared.domain.exact_json import Json, JsonObject, digest, dumps, loads

MARK = "brainos"  # in the journal's names of its rounds
_CHARACTERS_A_TOKEN = 4


def conversation_id(ctx: TurnContext) -> str:
    """A name for the task's conversation that no other task has."""
    record = ctx.record
    return f"purple-{digest([record.tenant, record.session_id, record.task_id])[:24]}"


def asking(ctx: TurnContext, conversation_id: str) -> TurnContext:
    """The context in which ``ask`` and ``talk`` speak with the orchestrator."""
    if ctx.ports.brainos is None:
        return replace(ctx, ports=ctx.ports._replace(model=_NotThere()))
    model = Conversing(ctx.ports.brainos, conversation_id, ctx.journal.spending)
    ceilings = ctx.limits.ceilings._replace(nanos=None, tariff=Tariff())
    return replace(ctx, ports=ctx.ports._replace(model=model), limits=ctx.limits._replace(ceilings=ceilings))


class _NotThere(Model):
    """In a replay nobody is asked; elsewhere the settings see to it that an orchestrator that is named is there."""

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        raise ModelUnavailable("BrainOS is not configured")


class Conversing(Model):
    """Sends only what the other side does not know yet.

    A round whose reply was lost in a crash is never sent again: a new conversation begins, and is told what was called
    so far.
    """

    def __init__(self, orchestrator: Orchestrator, conversation_id: str, spending: TaskSpending) -> None:
        self._orchestrator = orchestrator
        self._id = conversation_id
        self._spending = spending

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        saying = self._saying(request)
        try:
            said = await self._orchestrator.say(saying)
        except OrchestratorUnavailable as error:
            raise ModelUnavailable(str(error)) from error
        return _reply(request, saying, said)

    def _saying(self, request: ModelRequest) -> Saying:
        """``unanswered`` ends with this very round, for which something was set aside already."""
        *lost, now = [key for key in self._spending.unanswered if f":{MARK}" in key]
        name = f"{self._id}-{len(lost) + 1}" if lost else self._id
        if len(request.messages) == 1 or now in lost:
            return _opening(name, request)
        last = request.messages[-1]
        names = {use.id: use.name for use in _uses(request)}
        results = [block for block in last.blocks if isinstance(block, ToolResult)]
        told = tuple(ToolTold(names[result.tool_use_id], _result(result)) for result in results)
        text = "\n\n".join(block.text for block in last.blocks if isinstance(block, TextBlock) and block.text)
        return Saying(name, "Tool results:" if told else text, results=told)


def _opening(name: str, request: ModelRequest) -> Saying:
    """The task as the message; the role, what is known and the tools as its context."""
    first, *others = _texts(request.messages[0])
    tools: list[Json] = [
        {"name": tool.name, "description": tool.description, "input_schema": loads(dumps(_plain(tool.input_schema)))}
        for tool in request.tools
    ]
    so_far = _so_far(request)
    last = [] if len(request.messages) == 1 else _texts(request.messages[-1])
    parts = (*request.system, *others, render({"read_tools": tools, "so_far": so_far}), *last)
    return Saying(name, first, "\n\n".join(filter(None, parts)))


def _so_far(request: ModelRequest) -> list[Json]:
    blocks = [block for message in request.messages[1:] for block in message.blocks]
    came = {block.tool_use_id: block for block in blocks if isinstance(block, ToolResult)}
    return [_describe_call(use, came[use.id]) for use in _uses(request) if use.id in came]


def _describe_call(use: ToolUse, came: ToolResult) -> JsonObject:
    return {"tool": use.name, "arguments": use.input, "result": _result(came)}


def _uses(request: ModelRequest) -> list[ToolUse]:
    return [block for message in request.messages for block in message.blocks if isinstance(block, ToolUse)]


def _texts(message: Message) -> list[str]:
    return [block.text for block in message.blocks if isinstance(block, TextBlock)]


def _result(result: ToolResult) -> Json:
    try:
        content = loads(result.content)
    except ValueError:
        content = result.content
    return {"error": content} if result.is_error else content


def _plain(schema: object) -> Json:
    match schema:
        case dict():
            return {str(key): _plain(value) for key, value in schema.items()}
        case list() | tuple():
            return [_plain(value) for value in schema]
        case float():
            return str(schema)
        case None | bool() | int() | str():
            return schema
        case _:
            return str(schema)


def _reply(request: ModelRequest, saying: Saying, said: OrchestratorReply) -> ModelReply:
    began = len(_uses(request))
    uses = [ToolUse(f"b{began + place}", call.name, call.params) for place, call in enumerate(said.calls)]
    blocks = (*((TextBlock(said.text),) if said.text else ()), *uses)
    sent = len(saying.message) + sum(len(dumps(told.result)) for told in saying.results)
    sent += sum(len(text) for text in _texts(request.messages[0])[1:]) if saying.context else 0
    heard = len(said.text) + sum(len(call.name) + len(dumps(call.params)) for call in said.calls)
    usage = Usage(_tokens(sent), _tokens(heard), cache_read=max(0, size_of(request).whole - _tokens(sent)))
    return ModelReply(blocks, "tool_use" if uses else "end_turn", usage, MARK)


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_A_TOKEN)
