"""Converts a ``ModelRequest`` to a body of the Messages API, and its response to a ``ModelReply``.

Not by the SDK, so that figures stay exact, cached bytes stay equal, and a model's own blocks go back unchanged.
"""

import json
import re
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias, cast, get_args

import structlog
from pydantic import JsonValue

from shared.domain.exact_json import Json, JsonObject, as_object, dumps, loads_object, to_builtins
from shared.domain.identity_cache import IdentityCache
from shared.ports import models

SCHEMA_INSTRUCTION = "Answer with one JSON object of this schema: "
_MAX_STRICT_TOOLS = 20  # the API's limit of strict tools in one request
_MAX_CACHE_MARKS = 4  # and of cache breakpoints
_STRICT_KEYWORDS = frozenset({"type", "properties", "required", "additionalProperties", "description", "enum", "items"})
_CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
_BlockPosition: TypeAlias = tuple[int, int]  # a block: the index of its message, and its own in the message


class RequestFeature(StrEnum):
    """An optional part of a request that some endpoints refuse; the request means the same without it."""

    STRICT = "strict"
    CACHE_CONTROL = "cache_control"
    EFFORT = "effort"
    THINKING = "thinking"  # every block that nobody here reads
    OUTPUT_CONFIG = "output_config"
    IMAGES = "images"


def encode_model_request(model: str, request: models.ModelRequest, without: Set[RequestFeature] = frozenset()) -> bytes:
    """The JSON body of a request to ``model``, without the features that its endpoint refuses."""
    has_cache_marks = RequestFeature.CACHE_CONTROL not in without
    sends_opaque = RequestFeature.THINKING not in without
    sends_images = RequestFeature.IMAGES not in without
    messages = _replace_hidden_images(request.messages, sends_images)
    messages = _drop_unsendable_blocks(model, messages, sends_opaque=sends_opaque)
    fields = {"model": _encode(model), "max_tokens": _encode(request.max_tokens)}
    system = _build_system_blocks(request)
    if request.tools:
        is_strict = RequestFeature.STRICT not in without
        has_cache_mark = has_cache_marks and not system
        encoded_tools = _encoded_tools(request.tools)
        if (is_strict, has_cache_mark) not in encoded_tools:
            encoded_tools[is_strict, has_cache_mark] = _encode_tools(
                request.tools, is_strict=is_strict, has_cache_mark=has_cache_mark
            )
        fields["tools"] = encoded_tools[is_strict, has_cache_mark]
        fields["tool_choice"] = _encode({"type": "auto"})
    if system:
        fields["system"] = _encode([*system[:-1], {**system[-1], **(_CACHE_MARK if has_cache_marks else {})}])
    marked_places = (
        _choose_cache_breakpoints(messages, request.will_be_extended) if has_cache_marks else set[_BlockPosition]()
    )
    fields["messages"] = _join_json_array(_encode_messages(messages, marked_places))
    if output := _build_output_config(model, request, without):
        fields["output_config"] = _encode(output)
    return ("{" + ",".join(f"{_encode(name)}:{text}" for name, text in fields.items()) + "}").encode()


def _build_system_blocks(request: models.ModelRequest) -> list[dict[str, object]]:
    """The system text, with the reply's schema in words, since not every model supports structured output."""
    schema_texts = () if request.schema is None else (SCHEMA_INSTRUCTION + _encode(dict(request.schema)),)
    return [{"type": "text", "text": text} for text in (*request.system, *schema_texts) if text.strip()]


def _build_output_config(model: str, request: models.ModelRequest, without: Set[RequestFeature]) -> dict[str, object]:
    if RequestFeature.OUTPUT_CONFIG in without:
        return {}
    output: dict[str, object] = {}
    if request.schema is not None:
        output["format"] = {"type": "json_schema", "schema": dict(request.schema)}
    if request.effort is not None and RequestFeature.EFFORT not in without and supports_effort(model):
        output["effort"] = request.effort
    return output


def _encode_tools(tools: Sequence[models.ToolDefinition], *, is_strict: bool, has_cache_mark: bool) -> str:
    """The tools as a JSON array; the first ``_MAX_STRICT_TOOLS`` whose schema the API can enforce are ``strict``."""
    entries: list[dict[str, object]] = []
    strict_left = _MAX_STRICT_TOOLS if is_strict else 0
    for tool in tools:
        entry: dict[str, object] = {"name": tool.name, "description": tool.description}
        entry["input_schema"] = dict(tool.input_schema)
        if strict_left and tool.strict and _can_be_strict(tool.input_schema):
            entry["strict"] = True
            strict_left -= 1
        entries.append(entry)
    if has_cache_mark:
        entries[-1] |= _CACHE_MARK
    return _encode(entries)


_encoded_tools = IdentityCache[Sequence[models.ToolDefinition], dict[tuple[bool, bool], str]](
    lambda _: {}, 32
)  # all tools of a request as a JSON array, by whether they are strict and whether the last has a cache mark


def _can_be_strict(schema: Mapping[str, JsonValue]) -> bool:
    """Whether a schema is closed, requires all properties, and uses only keywords that strict tools support."""
    if not set(schema) <= _STRICT_KEYWORDS:
        return False
    inner_schemas: list[JsonValue] = []
    if schema.get("type") == "object":
        properties, required = schema.get("properties"), schema.get("required")
        property_names = list(properties) if isinstance(properties, dict) else []
        if schema.get("additionalProperties") is not False or required != property_names:
            return False
        inner_schemas += properties.values() if isinstance(properties, dict) else ()
    if "items" in schema:
        inner_schemas.append(schema["items"])
    return all(isinstance(inner, dict) and _can_be_strict(inner) for inner in inner_schemas)


def _drop_unsendable_blocks(
    model: str, messages: Sequence[models.Message], *, sends_opaque: bool
) -> list[models.Message]:
    """The messages without what the API refuses: empty texts, empty messages, and opaque blocks of other models."""

    def is_sent(block: models.Block) -> bool:
        match block:
            case models.TextBlock(text):
                return bool(text.strip())
            case models.OpaqueBlock(_, made_by):
                return sends_opaque and made_by == model
            case _:
                return True

    filtered_messages = [message._replace(blocks=tuple(filter(is_sent, message.blocks))) for message in messages]
    return [message for message in filtered_messages if message.blocks]


def _replace_hidden_images(messages: Sequence[models.Message], sends_images: bool) -> Sequence[models.Message]:
    """The messages with a sentence in place of each image that is not sent."""

    def replace_if_hidden(block: models.Block) -> models.Block:
        if isinstance(block, models.ImageBlock) and not (sends_images and block.data):
            return models.TextBlock(f"(The image {block.name!r} is not shown to you.)")
        return block

    return [message._replace(blocks=tuple(map(replace_if_hidden, message.blocks))) for message in messages]


def _choose_cache_breakpoints(messages: Sequence[models.Message], will_be_extended: bool) -> set[_BlockPosition]:
    """The places of blocks that get a cache breakpoint, besides that of the static prefix: those of ``StableText``.

    If a later request will extend the messages, also the ends of the first and last messages, and where the previous
    request ended, because the API looks back only 20 blocks from a breakpoint.
    """
    stable = [
        (message_index, block_index)
        for message_index, message in enumerate(messages)
        for block_index, block in enumerate(message.blocks)
        if isinstance(block, models.StableText)
    ]
    if not will_be_extended or not messages:
        return set(stable[: _MAX_CACHE_MARKS - 1])
    last_index = len(messages) - 1
    ends = [_find_last_cacheable_block(messages, index) for index in (last_index, 0, last_index - 2) if index >= 0]
    places = [place for place in (*ends[:2], *stable, *ends[2:]) if place is not None]
    return set(list(dict.fromkeys(places))[: _MAX_CACHE_MARKS - 1])


def _find_last_cacheable_block(messages: Sequence[models.Message], message_index: int) -> _BlockPosition | None:
    blocks = messages[message_index].blocks
    for block_index in reversed(range(len(blocks))):
        if not isinstance(blocks[block_index], models.OpaqueBlock | models.SingleRequestText):
            return message_index, block_index
    return None


def _encode_messages(messages: Sequence[models.Message], marked_places: Set[_BlockPosition]) -> list[str]:
    texts = []
    for message_index, message in enumerate(messages):
        blocks = [
            _encode_block(block, (message_index, block_index) in marked_places)
            for block_index, block in enumerate(message.blocks)
        ]
        texts.append(f'{{"role":{_encode(message.role)},"content":{_join_json_array(blocks)}}}')
    return texts


def _encode_block(block: models.Block, is_marked: bool) -> str:
    mark = _CACHE_MARK if is_marked else {}
    match block:
        case models.TextBlock(text):
            return _encode({"type": "text", "text": text, **mark})
        case models.ToolResult(use_id, content, is_error):
            fields = {"tool_use_id": use_id, "content": content, "is_error": is_error}
            return _encode({"type": "tool_result", **fields, **mark})
        case models.ToolUse(use_id, name, arguments):
            head = _encode({"type": "tool_use", "id": use_id, "name": name, **mark})
            return f'{head[:-1]},"input":{dumps(arguments)}}}'
        case models.OpaqueBlock(text):
            return text
        case models.ImageBlock(data=data):
            source = {"type": "base64", "media_type": "image/jpeg", "data": data}
            return _encode({"type": "image", "source": source, **mark})


def _join_json_array(items: Sequence[str]) -> str:
    return "[" + ",".join(items) + "]"


def _encode_decimal_or_mapping(value: object) -> object:
    match value:
        case Decimal():
            return to_builtins(value)
        case Mapping():
            return dict(value)
        case _:
            raise TypeError(f"{type(value).__name__} is no part of a model request")


_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=_encode_decimal_or_mapping
).encode  # made once


_MODEL_NAME_PATTERN = re.compile(r"claude-(?P<family>[a-z]+)-(?P<major>\d+)(?:-(?P<minor>\d{1,2}))?(?![\d])")
_FIRST_VERSION_WITH_EFFORT = {"opus": (4, 5), "sonnet": (4, 6)}
_FIRST_VERSION_WITH_EFFORT_OF_OTHERS = (5, 0)


def supports_effort(model: str) -> bool:
    """Whether the model accepts the ``effort`` field, judged by its name; False for an unknown name."""
    version = _MODEL_NAME_PATTERN.search(model)
    if version is None:
        return False
    return (int(version["major"]), int(version["minor"] or 0)) >= _FIRST_VERSION_WITH_EFFORT.get(
        version["family"], _FIRST_VERSION_WITH_EFFORT_OF_OTHERS
    )


MOST_REPLY_CHARACTERS = 4 * 1024 * 1024  # of one message: reading more would hold up all that runs beside it
MOST_REPLY_CALLS = 200  # that one message may ask for
_STOP_REASONS = frozenset(get_args(models.StopReason))
_UNDERSTOOD_BLOCK_TYPES = frozenset({"text", "tool_use"})
log = structlog.get_logger()
_CODE_FENCE_PATTERN = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL)
_SEPARATORS_PATTERN = re.compile(r"[\s:,]*")
_decode_json_at = json.JSONDecoder().raw_decode


def parse_model_reply(model: str, text: str, *, is_json: bool = False) -> models.ModelReply:
    """Parses the response of ``model``. ``is_json``: it was asked for JSON, so code fences are removed.

    Raises ``ModelRefused`` for a refusal, and ``ModelUnavailable`` for an incomplete or too large message.
    """
    if len(text) > MOST_REPLY_CHARACTERS:
        raise models.ModelUnavailable(
            f"the answer of the model {model} is over the limit of {MOST_REPLY_CHARACTERS:,} characters"
        )
    try:
        body = loads_object(text)
        blocks = _parse_reply_blocks(model, body, text)
        reason = str(body.get("stop_reason") or "")
        usage = _parse_usage(body.get("usage"))
        name = str(body["model"])
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        log.warning("model_reply_unreadable", model=model, said=text[:300])
        raise models.ModelUnavailable(f"the model {model} answered something that is no message") from error
    if reason == "refusal":
        raise models.ModelRefused(f"the model {model} refused to answer")
    if reason not in _STOP_REASONS:
        raise models.ModelUnavailable(f"the answer of the model {model} broke off ({reason or 'no stop reason'})")
    if (calls := sum(isinstance(block, models.ToolUse) for block in blocks)) > MOST_REPLY_CALLS:
        sentence = f"the model {model} asks for {calls:,} calls at once; {MOST_REPLY_CALLS} are the most"
        raise models.ModelUnavailable(sentence)
    if is_json:
        blocks = tuple(
            models.TextBlock(_strip_code_fence(block.text)) if isinstance(block, models.TextBlock) else block
            for block in blocks
        )
    return models.ModelReply(blocks, cast(models.StopReason, reason), usage, name, model)


def _parse_reply_blocks(model: str, body: JsonObject, text: str) -> tuple[models.ReplyBlock, ...]:
    content = body["content"]
    if body.get("type") != "message" or not isinstance(content, list):
        raise ValueError("not a message")
    objects = [block for block in content if isinstance(block, dict)]
    if len(objects) < len(content):
        raise ValueError("a block that is no object")
    item_texts = (
        _split_content_items(text)
        if any(block.get("type") not in _UNDERSTOOD_BLOCK_TYPES for block in objects)
        else [""] * len(objects)
    )
    return tuple(_parse_reply_block(model, block, raw) for block, raw in zip(objects, item_texts, strict=True))


def _parse_reply_block(model: str, block: JsonObject, raw: str) -> models.ReplyBlock:
    if block.get("type") == "text":
        return models.TextBlock(str(block["text"]))
    if block.get("type") != "tool_use":
        return models.OpaqueBlock(raw, model)
    arguments = block["input"]
    if not isinstance(arguments, dict):
        raise ValueError("a tool_use without an input object")
    return models.ToolUse(str(block["id"]), str(block["name"]), arguments)


def _split_content_items(text: str) -> Sequence[str]:
    """The JSON text of each item of ``content``. ``text`` must be known to be a JSON object with such a list."""
    position, blocks = text.index("{") + 1, []
    while True:
        name, position = _decode_json_at(text, _skip_separators(text, position))
        position = _skip_separators(text, position)
        if name == "content":
            break
        _, position = _decode_json_at(text, position)
    position = _skip_separators(text, position + 1)
    while text[position] != "]":
        _, end = _decode_json_at(text, position)
        blocks.append(text[position:end])
        position = _skip_separators(text, end)
    return blocks


def _skip_separators(text: str, position: int) -> int:
    separators = _SEPARATORS_PATTERN.match(text, position)
    return separators.end() if separators else position


def _strip_code_fence(text: str) -> str:
    """The JSON inside code fences, if there are any."""
    if text.lstrip()[:1] in ("{", "["):
        return text
    fence = _CODE_FENCE_PATTERN.search(text)
    return fence[1] if fence else text


def _parse_usage(value: Json) -> models.Usage:
    usage = as_object(value)
    return models.Usage(
        input=_read_token_count(usage.get("input_tokens")),
        output=_read_token_count(usage.get("output_tokens")),
        cache_read=_read_token_count(usage.get("cache_read_input_tokens")),
        cache_write=_read_token_count(usage.get("cache_creation_input_tokens")),
    )


def _read_token_count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
