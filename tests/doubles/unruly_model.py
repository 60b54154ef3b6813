"""A ``Model`` that may say anything in any state, drawn from a seed, and tells a tape what it was asked and said."""

from random import Random

from typing_extensions import override

from services.executor.ports.models import (
    Model,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    StableText,
    TextBlock,
    ToolResult,
    ToolUse,
    Usage,
)
from shared.domain.exact_json import Json, dumps, loads
from tests.doubles.scripted_model import json_reply, state_of, text_reply, tool_reply
from tests.doubles.tape import Asked, Tape
from tests.doubles.unruly_json import junk, mutated
from tests.doubles.unruly_replies import CLAIMS, Replies

_TOOLS = ("calculate", "fetch_all_matching", "sum_field", "group_by", "invented_write", "drop_table", "", "notify_all")
_GARBAGE = ("{", "[", '{"calls": 5}', "null", '{"values": [{"value": 1e999}]}', "[" * 300, "NaN", "```json\n{}\n```")


class UnrulyModel(Model):
    """``oddity``: the share of replies that are not what the state asks for. It reports what it used honestly."""

    def __init__(self, random: Random, replies: Replies, tape: Tape, tools: tuple[str, ...], oddity: float) -> None:
        self._random = random
        self._replies = replies
        self._tape = tape
        self._tools = tools
        self._oddity = oddity

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        state = state_of(request)
        if self._random.random() < self._oddity / 40:
            self._tape.note(Asked(state, 0, None))
            raise ModelUnavailable("it is not there")
        reply = self._replies.of(state, request)
        if self._random.random() < self._oddity:
            reply = self._odd(state, request, reply)
        reply = _within(reply, request)
        self._tape.note(Asked(state, _messages(request) + reply.usage.output, reply.text))
        return reply

    def _odd(self, state: str, request: ModelRequest, usual: ModelReply) -> ModelReply:
        match self._random.randrange(7):
            case 0:
                return self._replies.of(self._random.choice(self._replies.states), request)
            case 1:
                return text_reply(usual.text[: self._random.randrange(40)])._replace(stop_reason="max_tokens")
            case 2:
                return self._any_calls(usual.text)
            case 3:
                return text_reply(self._random.choice([*CLAIMS, *_GARBAGE]))
            case 4:
                return json_reply(junk(self._random))
            case 5 if state in ("COMPLETE", "IMPROVE"):
                return text_reply(f"{usual.text} ")
            case _:
                return self._mutated(usual)

    def _any_calls(self, text: str) -> ModelReply:
        """Calls of any tools, some of them twice."""
        names = self._random.choices([*self._tools, *_TOOLS], k=self._random.randint(1, 4))
        calls = [(name, self._any_arguments(name)) for name in names]
        return tool_reply(*calls, *calls[: self._random.randrange(2)], text=text)

    def _any_arguments(self, tool: str) -> dict[str, Json]:
        fitting = self._replies.call_of(tool)
        if fitting is not None and self._random.random() < 0.6:
            return fitting
        names = self._random.choices(["id", "query", "text", "claim_id", "operation", "tool", "arguments"], k=2)
        return {name: junk(self._random) for name in names}

    def _mutated(self, usual: ModelReply) -> ModelReply:
        try:
            return json_reply(mutated(loads(usual.text), self._random))
        except ValueError:
            return text_reply(usual.text[::-1])


def _within(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """The reply with an honest count of tokens, cut off where the request allows no more."""
    room = request.max_tokens
    if sum(_size(block) for block in reply.blocks) > room:
        reply = text_reply(reply.text[: room * 4 - 4])._replace(stop_reason="max_tokens")
    output = sum(_size(block) for block in reply.blocks)
    prefix = sum(map(len, request.system)) + sum(len(f"{tool}") for tool in request.tools)
    return reply._replace(usage=Usage(_messages(request), output, cache_read=prefix // 4))


def _messages(request: ModelRequest) -> int:
    """What is fresh: a text that many tasks have in common is kept by who answers, as the system texts are."""
    blocks = [block for message in request.messages for block in message.blocks]
    return -(-sum(_length(block) for block in blocks if not isinstance(block, StableText)) // 4)


def _size(block: TextBlock | ToolUse | ToolResult) -> int:
    return -(-_length(block) // 4)


def _length(block: TextBlock | ToolUse | ToolResult) -> int:
    match block:
        case TextBlock(text):
            return len(text)
        case ToolUse(_, name, given):
            return len(name) + len(dumps(given))
        case ToolResult(_, content):
            return len(content)
