"""What model calls cost: an upper estimate before a call, the API's own count after it.

Money is a whole number of nano-dollars. Tokens count what is fresh: input beyond the static prefix (system text and
tools) that no cache answered, and output.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.ports.models import (
    ModelReply,
    ModelRequest,
    StableText,
    TextBlock,
    Tier,
    ToolDefinition,
    ToolResult,
    ToolUse,
    Usage,
)
from shared.domain.exact_json import dumps
from shared.domain.model_price import NANO, Price, dearest

__all__ = ["NANO", "Amount", "Price", "Size", "Tariff", "billed", "estimated", "size_of"]
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True)
class Amount:
    """Tokens and money of one call, or of many."""

    tokens: int = 0
    nanos: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.tokens + other.tokens, self.nanos + other.nanos)


@dataclass(frozen=True)
class Tariff:
    """Prices by model. ``tiers``: the models that may serve a tier. A model without a price costs the dearest one."""

    prices: Mapping[str, Price] = field(default_factory=dict)
    tiers: Mapping[Tier, tuple[str, ...]] = field(default_factory=dict)

    def of(self, model: str) -> Price:
        return self.prices[model] if model in self.prices else dearest(self.prices.values())

    def of_tier(self, tier: Tier) -> Price:
        """The highest price that a call of the tier may have, number by number."""
        return dearest(self.of(model) for model in self.tiers.get(tier, ()))


class Size(NamedTuple):
    """Estimated tokens of a request: its static prefix, and its messages."""

    prefix: int
    messages: int


def size_of(request: ModelRequest) -> Size:
    prefix = sum(map(len, request.system)) + sum(_tool_length(tool) for tool in request.tools)
    prefix += _length(request.schema)
    blocks = [block for message in request.messages for block in message.blocks]
    stable = sum(_block_length(block) for block in blocks if isinstance(block, StableText))
    messages = sum(map(_block_length, blocks)) - stable
    return Size(_tokens(prefix + stable), _tokens(messages))


def estimated(size: Size, output: int, price: Price) -> Amount:
    """The most that a call of that size may cost, with ``output`` as its limit of tokens."""
    money = (size.prefix + size.messages) * price.fresh_input + output * price.output
    return Amount(size.messages + output, money)


def billed(reply: ModelReply, size: Size, price: Price) -> Amount:
    """What a call did cost. Where nothing was cached, the prefix is part of the input and is taken off."""
    usage = reply.usage
    prefix = 0 if usage.cache_read or usage.cache_write else size.prefix
    return Amount(max(0, usage.input - prefix) + usage.output, _money(usage, price))


def _money(usage: Usage, price: Price) -> int:
    cached = usage.cache_read * price.cache_read + usage.cache_write * price.cache_write
    return usage.input * price.input + usage.output * price.output + cached


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_A_TOKEN)


def _length(schema: Mapping[str, JsonValue] | None) -> int:
    return len(json.dumps(dict(schema))) if schema else 0


def _tool_length(tool: ToolDefinition) -> int:
    return len(tool.name) + len(tool.description) + _length(tool.input_schema)


def _block_length(block: TextBlock | ToolUse | ToolResult) -> int:
    match block:
        case TextBlock(text):
            return len(text)
        case ToolUse(_, name, given):
            return len(name) + len(dumps(given))
        case ToolResult(_, content):
            return len(content)
