"""What model calls cost: an upper estimate before a call, the API's own count after it.

Money is a whole number of nano-dollars and counts everything as billed. Tokens count what is fresh: input beyond the
static prefix (system text and tools) and beyond what an earlier request of the same history held, and output.
"""

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.budget.budget import CallCost, Size, estimate_cost
from services.executor.ports.models import (
    Block,
    ImageBlock,
    ModelReply,
    ModelRequest,
    OpaqueBlock,
    PassingText,
    StableText,
    TextBlock,
    ToolDefinition,
    ToolResult,
    ToolUse,
    Usage,
)
from shared.domain.exact_json import dumps
from shared.domain.identity_cache import IdentityCache
from shared.domain.model_price import Price

_CHARACTERS_A_TOKEN = 4
_ABSURD = 10  # times what a number of tokens can be: then it is none
_LEAST = 500  # estimates below it say little: an endpoint has a preamble of its own


class Bill(NamedTuple):
    """What a call did cost. ``doubt``: why the estimate counts, and not what the endpoint reports."""

    amount: CallCost
    doubt: str = ""


def size_of(request: ModelRequest, before: ModelRequest | None = None) -> Size:
    """``before``: the request of the same history that was answered last. What both begin with was counted with it,
    and the reply that follows was counted as its output.
    """
    blocks = _blocks(request)
    repeated = _repeated_tokens(request, before)
    prefix = sum(map(len, request.system)) + sum(_tool_length(tool) for tool in request.tools)
    prefix += _length(request.schema)
    prefix += sum(_block_length(block) for _, block in blocks if isinstance(block, StableText))
    known, fresh = _dynamic_length(blocks[:repeated]), _dynamic_length(blocks[repeated:])
    return Size(_tokens(prefix), _tokens(fresh), _tokens(known))


def bill_reply(reply: ModelReply, size: Size, price: Price, longest: int) -> Bill:
    """What a call did cost whose answer might have ``longest`` tokens.

    Of the input that the API read, the share counts that is fresh by our own measure: no less than we estimate, and no
    more than no cache answered. So a history counts once, whether the endpoint caches it, has forgotten it, or never
    caches.
    """
    usage = reply.usage
    if doubt := _doubt(reply, size, longest):
        return Bill(estimate_cost(size, _tokens(sum(map(_block_length, reply.blocks))), price), doubt)
    read = usage.input + usage.cache_read + usage.cache_write
    share = -(-read * size.fresh // size.whole) if size.whole else read
    fresh = min(max(share, size.fresh), usage.input + usage.cache_write)
    return Bill(CallCost(fresh + usage.output, _money(usage, price)))


def _doubt(reply: ModelReply, size: Size, longest: int) -> str:
    usage = reply.usage
    read = usage.input + usage.cache_read + usage.cache_write
    if min(usage) < 0:
        return "the endpoint reports a negative usage"
    if not read or (reply.blocks and not usage.output):
        return "the endpoint reports no usage"
    if read > _ABSURD * max(size.whole, _LEAST):
        return f"the endpoint reports {read:,} tokens of input where about {size.whole:,} were sent"
    if usage.output > _ABSURD * max(longest, _LEAST):
        return f"the endpoint reports {usage.output:,} tokens of output where at most {longest:,} were asked for"
    return ""


def _repeated_tokens(request: ModelRequest, before: ModelRequest | None) -> int:
    """How many blocks at the beginning were counted with ``before``, of which another model's count for nothing."""
    if before is None or before.tier is not request.tier:
        return 0
    asked = [one for one in _blocks(before) if not isinstance(one[1], PassingText)]
    blocks = _blocks(request)
    pairs = enumerate(zip(asked, blocks, strict=False))
    same = next((place for place, (one, other) in pairs if one != other), min(len(asked), len(blocks)))
    replied = itertools.takewhile(lambda block: block[0] == "assistant", blocks[same:])
    return same + sum(1 for _ in replied)


def _blocks(request: ModelRequest) -> list[tuple[str, Block]]:
    return [(message.role, block) for message in request.messages for block in message.blocks]


def _dynamic_length(blocks: Iterable[tuple[str, Block]]) -> int:
    return sum(_block_length(block) for _, block in blocks if not isinstance(block, StableText))


def _money(usage: Usage, price: Price) -> int:
    cached = usage.cache_read * price.cache_read + usage.cache_write * price.cache_write
    return usage.input * price.input + usage.output * price.output + cached


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_A_TOKEN)


def _length(schema: Mapping[str, JsonValue] | None) -> int:
    return len(json.dumps(dict(schema))) if schema else 0


def _measure_tool(tool: ToolDefinition) -> int:
    return len(tool.name) + len(tool.description) + _length(tool.input_schema)


_tool_length = IdentityCache(_measure_tool, 8_192)


def _block_length(block: Block) -> int:
    match block:
        case TextBlock(text):
            return len(text)
        case ToolUse(_, name, given):
            return len(name) + len(dumps(given))
        case ToolResult(_, content):
            return len(content)
        case OpaqueBlock(text):
            return len(text)
        case ImageBlock(tokens=tokens):
            return tokens * _CHARACTERS_A_TOKEN
