"""A message of the Messages API as a ``ModelReply``, from its raw text: every number stays exact, every byte of a
block that nobody here reads is kept.
"""

import json
import re
from collections.abc import Sequence
from typing import cast, get_args

import structlog

from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.ports.models import (
    ModelRefused,
    ModelReply,
    ModelUnavailable,
    OpaqueBlock,
    ReplyBlock,
    StopReason,
    TextBlock,
    ToolUse,
    Usage,
)

MOST_CHARACTERS = 4 * 1024 * 1024  # of one message: reading more would hold up all that runs beside it
MOST_CALLS = 200  # that one message may ask for
_ENDS = frozenset(get_args(StopReason))
_READ = frozenset({"text", "tool_use"})
log = structlog.get_logger()
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL)
_BETWEEN = re.compile(r"[\s:,]*")
_scan = json.JSONDecoder().raw_decode


def read_reply(model: str, text: str, *, is_json: bool = False) -> ModelReply:
    """The reply of ``model`` to a request. ``is_json``: it was asked for JSON, so fences around that are taken off.

    Raises ``ModelRefused`` for a refusal, ``ModelUnavailable`` for what is no whole message, or too large a one.
    """
    if len(text) > MOST_CHARACTERS:
        raise ModelUnavailable(f"the answer of the model {model} is over the limit of {MOST_CHARACTERS:,} characters")
    try:
        body = loads_object(text)
        blocks = _blocks(model, body, text)
        reason, usage, name = str(body.get("stop_reason") or ""), _usage(body.get("usage")), str(body["model"])
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        log.warning("model_reply_unreadable", model=model, said=text[:300])
        raise ModelUnavailable(f"the model {model} answered something that is no message") from error
    if reason == "refusal":
        raise ModelRefused(f"the model {model} refused to answer")
    if reason not in _ENDS:
        raise ModelUnavailable(f"the answer of the model {model} broke off ({reason or 'no stop reason'})")
    if (calls := sum(isinstance(block, ToolUse) for block in blocks)) > MOST_CALLS:
        raise ModelUnavailable(f"the model {model} asks for {calls:,} calls at once; {MOST_CALLS} are the most")
    if is_json:
        blocks = tuple(TextBlock(_strip_fence(one.text)) if isinstance(one, TextBlock) else one for one in blocks)
    return ModelReply(blocks, cast(StopReason, reason), usage, name, model)


def _blocks(model: str, body: JsonObject, text: str) -> tuple[ReplyBlock, ...]:
    content = body["content"]
    if body.get("type") != "message" or not isinstance(content, list):
        raise ValueError("not a message")
    found = [block for block in content if isinstance(block, dict)]
    if len(found) < len(content):
        raise ValueError("a block that is no object")
    raw = _raw_blocks(text) if any(block.get("type") not in _READ for block in found) else [""] * len(found)
    return tuple(_block(model, block, as_sent) for block, as_sent in zip(found, raw, strict=True))


def _block(model: str, block: JsonObject, raw: str) -> ReplyBlock:
    if block.get("type") == "text":
        return TextBlock(str(block["text"]))
    if block.get("type") != "tool_use":
        return OpaqueBlock(raw, model)
    given = block["input"]
    if not isinstance(given, dict):
        raise ValueError("a tool_use without an input object")
    return ToolUse(str(block["id"]), str(block["name"]), given)


def _raw_blocks(text: str) -> Sequence[str]:
    """The text of each item of ``content``, of a body that is known to be a JSON object."""
    at, blocks = text.index("{") + 1, []
    while True:
        name, at = _scan(text, _rest_after(text, at))
        at = _rest_after(text, at)
        if name == "content":
            break
        _, at = _scan(text, at)
    at = _rest_after(text, at + 1)
    while text[at] != "]":
        _, end = _scan(text, at)
        blocks.append(text[at:end])
        at = _rest_after(text, end)
    return blocks


def _rest_after(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return between.end() if between else at


def _strip_fence(text: str) -> str:
    """The JSON alone, where a model put it between code fences, with words around them perhaps."""
    if text.lstrip()[:1] in ("{", "["):
        return text
    fenced = _FENCED.search(text)
    return fenced[1] if fenced else text


def _usage(told: Json) -> Usage:
    usage = told if isinstance(told, dict) else {}
    return Usage(
        input=_count(usage.get("input_tokens")),
        output=_count(usage.get("output_tokens")),
        cache_read=_count(usage.get("cache_read_input_tokens")),
        cache_write=_count(usage.get("cache_creation_input_tokens")),
    )


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
