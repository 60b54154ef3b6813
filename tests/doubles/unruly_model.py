"""A ``Model`` that may say anything in any reply, drawn from a seed, and tells a tape what it was asked and said."""

import itertools
import json
from collections.abc import Iterable
from random import Random

from typing_extensions import override

from shared.domain.exact_json import Json, dumps, loads
from shared.ports.models import (
    Block,
    ImageBlock,
    Model,
    ModelAway,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    OpaqueBlock,
    ReplyBlock,
    SingleRequestText,
    StableText,
    TextBlock,
    ToolResult,
    ToolUse,
    Usage,
)
from tests.doubles.scripted_model import json_reply, state_of, text_reply
from tests.doubles.scripted_talk import calls_reply
from tests.doubles.tape import Asked, Tape
from tests.doubles.unruly_json import junk, mutated
from tests.doubles.unruly_replies import CLAIMS, CONVERSATION, LOCAL, Replies

_TOOLS = ("invented_write", "drop_table", "", "notify_all", "fetch_all_matching")
_NAMES = (
    "id", "query", "text", "claim_id", "operation", "operands", "name", "tool", "arguments", "parts", "process", "ref",
    "where", "by", "part", "_call",
)  # fmt: skip
_GARBAGE = ("{", "[", '{"calls": 5}', "null", '{"values": [{"value": 1e999}]}', "[" * 300, "NaN", "```json\n{}\n```")


class UnrulyModel(Model):
    """``oddity``: the share of replies that are not what was asked for. It reports what it used honestly."""

    def __init__(self, random: Random, replies: Replies, tape: Tape, tools: tuple[str, ...], oddity: float) -> None:
        self._random = random
        self._replies = replies
        self._tape = tape
        self._tools = tools
        self._oddity = oddity
        self._answered: list[ModelRequest] = []
        self._said: list[ModelReply] = []

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        state = state_of(request)
        if self._random.random() < self._oddity / 30:
            self._tape.note(Asked(state, 0, None))
            raise self._away()
        reply = self._replies.of(state, request)
        if self._random.random() < self._oddity:
            reply = self._odd(state, request, reply)
        reply = _within(reply, request, _fresh(request, self._answered))
        self._answered.append(request)
        self._said.append(reply)
        calls = len(reply.tool_uses)
        self._tape.note(Asked(state, reply.usage.input + reply.usage.output, reply.text, calls, reply.stop_reason))
        return reply

    def _away(self) -> ModelUnavailable:
        if self._random.random() < 0.6:
            return ModelAway("overloaded", self._random.choice([None, 3.0, 90.0]))
        return ModelUnavailable("it is not there")

    def _odd(self, state: str, request: ModelRequest, usual: ModelReply) -> ModelReply:
        match self._random.randrange(11):
            case 0:
                return self._replies.of(self._random.choice(self._replies.states), request)
            case 1:
                return text_reply(usual.text[: self._random.randrange(40)])._replace(stop_reason="max_tokens")
            case 2:
                return usual._replace(stop_reason=self._random.choice(["max_tokens", "pause_turn", "stop_sequence"]))
            case 3:
                return self._any_calls(usual)
            case 4:
                return self._random.choice([*self._said, usual])  # with the same ids, too
            case 5:
                return self._repeated(usual)
            case 6:
                return text_reply(self._random.choice([*CLAIMS, *_GARBAGE]))
            case 7:
                return json_reply(junk(self._random))
            case 8 if state in (CONVERSATION, "IMPROVE"):
                return text_reply(f"{usual.text} ")
            case 9:
                return usual._replace(blocks=())
            case _:
                return self._mutated(usual)

    def _any_calls(self, usual: ModelReply) -> ModelReply:
        """Calls of any tools beside what it would call, some of them twice, in any order."""
        names = self._random.choices([*self._tools, *LOCAL, *_TOOLS], k=self._random.randint(1, 4))
        calls = [(name, self._any_arguments(name)) for name in names]
        calls += [(use.name, use.input) for use in usual.tool_uses[: self._random.randrange(3)]]
        self._random.shuffle(calls)
        reply = calls_reply([*calls, *calls[: self._random.randrange(2)]], len(self._said), usual.text)
        return reply._replace(stop_reason=self._random.choice(["tool_use", "tool_use", "end_turn"]))

    def _repeated(self, usual: ModelReply) -> ModelReply:
        """What was called before, once more."""
        before = [use for reply in self._said for use in reply.tool_uses] or usual.tool_uses
        calls = [(use.name, use.input) for use in self._random.choices(before, k=2)] if before else []
        return calls_reply([*calls, *((use.name, use.input) for use in usual.tool_uses)], len(self._said))

    def _any_arguments(self, tool: str) -> dict[str, Json]:
        fitting = self._replies.call_of(tool)
        if fitting is not None and self._random.random() < 0.6:
            return {**fitting, "_call": junk(self._random)} if self._random.random() < 0.3 else fitting
        names = self._random.choices(_NAMES, k=3)
        return {name: self._any_argument(name) for name in names}

    def _any_argument(self, name: str) -> Json:
        if name == "tool":
            return self._random.choice(self._tools)
        if name in ("arguments", "_call") and self._random.random() < 0.6:
            return {"part": 1, "id": junk(self._random), "from": {"id": "1.id"}}
        if name == "parts" and self._random.random() < 0.6:
            return [{"quote": str(junk(self._random)), "kind": "do"}]
        return junk(self._random)

    def _mutated(self, usual: ModelReply) -> ModelReply:
        if usual.tool_uses:
            return usual._replace(blocks=tuple(map(self._mutated_block, usual.blocks)))
        try:
            return json_reply(mutated(loads(usual.text), self._random))
        except ValueError:
            return text_reply(usual.text[::-1])

    def _mutated_block(self, block: ReplyBlock) -> ReplyBlock:
        if not isinstance(block, ToolUse):
            return block
        given = mutated(block.input, self._random)
        return block._replace(input=given if isinstance(given, dict) else {})


def _within(reply: ModelReply, request: ModelRequest, fresh: int) -> ModelReply:
    """The reply with an honest count of tokens, cut off where the request allows no more."""
    room = request.max_tokens
    if sum(_size(block) for block in reply.blocks) > room:
        reply = text_reply(reply.text[: room * 4 - 4])._replace(stop_reason="max_tokens")
    output = sum(_size(block) for block in reply.blocks)
    return reply._replace(usage=Usage(fresh, output, cache_read=_prefix(request) // 4 + _fresh(request, ()) - fresh))


def _prefix(request: ModelRequest) -> int:
    schemas = [dict(tool.input_schema) for tool in request.tools] + [dict(request.schema or {})]
    texts = [text for tool in request.tools for text in (tool.name, tool.description)]
    return sum(map(len, (*request.system, *texts))) + sum(len(json.dumps(schema)) for schema in schemas if schema)


def _fresh(request: ModelRequest, earlier: Iterable[ModelRequest]) -> int:
    """What is fresh: who answers keeps the texts that many tasks have in common, and a history that it answered."""
    blocks, kept = _blocks(request), 0
    for one in earlier:
        asked = [block for block in _blocks(one) if not isinstance(block[1], SingleRequestText)]
        if one.tier is request.tier and blocks[: len(asked)] == asked:
            kept = max(kept, len(asked))
    replied = itertools.takewhile(lambda block: kept and block[0] == "assistant", blocks[kept:])
    fresh = blocks[kept + sum(1 for _ in replied) :]
    return -(-sum(_length(block) for _, block in fresh if not isinstance(block, StableText)) // 4)


def _blocks(request: ModelRequest) -> list[tuple[str, Block]]:
    return [(message.role, block) for message in request.messages for block in message.blocks]


def _size(block: Block) -> int:
    return -(-_length(block) // 4)


def _length(block: Block) -> int:
    match block:
        case TextBlock(text):
            return len(text)
        case ToolUse(_, name, given):
            return len(name) + len(dumps(given))
        case ToolResult(_, content) | OpaqueBlock(content):
            return len(content)
        case ImageBlock(tokens=tokens):
            return tokens * 4
