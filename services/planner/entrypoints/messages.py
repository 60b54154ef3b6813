"""A reply as the Messages API sends it: blocks, stop reason, usage; whole or as server-sent events."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from services.planner.core.request import PlannerReply, objects
from shared.domain.exact_json import Json, JsonObject, digest, dumps

CHARACTERS_A_TOKEN = 4


class FinishedMessage(NamedTuple):
    """An answer as the Messages API sends it, with its content blocks for a stream."""

    message: JsonObject
    blocks: tuple[JsonObject, ...]

    @property
    def stop(self) -> str:
        return str(self.message["stop_reason"])


def count_tokens(value: Json) -> int:
    """Four characters a token, of the canonical text."""
    return -(-len(value if isinstance(value, str) else dumps(value)) // CHARACTERS_A_TOKEN)


def count_input_tokens(body: JsonObject) -> int:
    return sum(count_tokens(body[name]) for name in ("system", "messages", "tools") if name in body)


class Prefix(NamedTuple):
    """The request up to the end of one block: its hash, its size in tokens, whether a cache breakpoint ends it."""

    key: str
    size: int
    is_marked: bool


def list_prefixes(body: JsonObject) -> list[Prefix]:
    """One for tools and system, then one for each block of the messages. The marks themselves are no part of a hash."""
    running = hashlib.sha256()
    prefixes_found: list[Prefix] = []
    size = 0
    for blocks in _prefix_steps(body):
        for block in blocks:
            bare = {name: value for name, value in block.items() if name != "cache_control"}
            text = dumps(bare)
            running.update(text.encode())
            size += count_tokens(text)
        is_marked = any("cache_control" in block for block in blocks)
        prefixes_found.append(Prefix(running.hexdigest(), size, is_marked))
    if prefixes_found and "cache_control" in body:
        prefixes_found[-1] = prefixes_found[-1]._replace(is_marked=True)
    return prefixes_found


def _prefix_steps(body: JsonObject) -> Iterator[list[JsonObject]]:
    yield [*objects(body.get("tools")), *_blocks_of(body.get("system"))]
    for message in objects(body.get("messages")):
        for block in _blocks_of(message.get("content")):
            yield [block]


def _blocks_of(content: Json) -> list[JsonObject]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def make_message(body: JsonObject, reply: PlannerReply, cached: tuple[int, int], truncated: bool) -> FinishedMessage:
    """The message for a body. ``cached``: tokens read from and written to the cache."""
    name = digest({"body": body})[:24]
    blocks = _content_blocks(name, reply)
    fitting, cut = _cut_to_limit(blocks, int(str(body["max_tokens"])), truncated)
    reason = "max_tokens" if cut else "tool_use" if any(b["type"] == "tool_use" for b in fitting) else "end_turn"
    read, written = cached
    usage: JsonObject = {
        "input_tokens": max(0, count_input_tokens(body) - read - written),
        "output_tokens": sum(_count_block_tokens(block) for block in fitting),
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }
    content: list[Json] = [*fitting]
    message: JsonObject = {
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }
    return FinishedMessage(message, tuple(fitting))


def _content_blocks(name: str, reply: PlannerReply) -> list[JsonObject]:
    text: list[JsonObject] = [{"type": "text", "text": reply.text}] if reply.text else []
    return text + [
        {"type": "tool_use", "id": f"toolu_{name[:20]}{index:02d}", "name": tool, "input": arguments}
        for index, (tool, arguments) in enumerate(reply.calls)
    ]


def _count_block_tokens(block: JsonObject) -> int:
    return count_tokens(block["text"] if block["type"] == "text" else dumps([block["name"], block["input"]]))


def _cut_to_limit(blocks: list[JsonObject], limit: int, truncated: bool) -> tuple[list[JsonObject], bool]:
    """The blocks that fit, and whether something was cut off."""
    if truncated:
        limit = min(limit, max(1, sum(_count_block_tokens(block) for block in blocks) // 2))
    blocks_kept: list[JsonObject] = []
    for block in blocks:
        tokens_left = limit - sum(_count_block_tokens(block_kept) for block_kept in blocks_kept)
        if _count_block_tokens(block) > tokens_left:
            text = str(block.get("text", ""))[: tokens_left * CHARACTERS_A_TOKEN]
            return ([*blocks_kept, {"type": "text", "text": text}] if text else blocks_kept), True
        blocks_kept.append(block)
    return blocks_kept, False


def message_events(message: FinishedMessage) -> Iterator[str]:
    """The same message as server-sent events."""
    start = {**message.message, "content": [], "stop_reason": None}
    yield _sse_event("message_start", {"message": start})
    yield _sse_event("ping", {})
    for index, block in enumerate(message.blocks):
        yield from _block_events(index, block)
    usage = message.message["usage"]
    spent = usage["output_tokens"] if isinstance(usage, dict) else 0
    delta: JsonObject = {"stop_reason": message.stop, "stop_sequence": None}
    yield _sse_event("message_delta", {"delta": delta, "usage": {"output_tokens": spent}})
    yield _sse_event("message_stop", {})


def _block_events(index: int, block: JsonObject) -> Iterator[str]:
    is_text = block["type"] == "text"
    empty: JsonObject = {**block, "text": ""} if is_text else {**block, "input": {}}
    yield _sse_event("content_block_start", {"index": index, "content_block": empty})
    block_text = str(block["text"]) if is_text else dumps(block["input"])
    kind, field = ("text_delta", "text") if is_text else ("input_json_delta", "partial_json")
    for start in range(0, len(block_text), 80):
        delta: JsonObject = {"type": kind, field: block_text[start : start + 80]}
        yield _sse_event("content_block_delta", {"index": index, "delta": delta})
    yield _sse_event("content_block_stop", {"index": index})


def _sse_event(name: str, data: JsonObject) -> str:
    return f"event: {name}\ndata: {dumps({'type': name, **data})}\n\n"
