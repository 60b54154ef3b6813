"""Hides protected values from the model: requests carry placeholders, and replies get the values back.

Equal values of a task get equal placeholders, so the endpoint's prompt cache still applies. The journal holds the real
values. The static prompt explains placeholders to the model.
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple, cast

from pydantic import JsonValue

from shared.domain.exact_json import Json, JsonObject, dumps, map_leaves, walk_json
from shared.domain.identity_cache import cached_by_identity
from shared.domain.lru_cache import cached_by_text
from shared.domain.protected_values import ProtectedKind, find_protected_values
from shared.domain.redaction import LiteralFinder, replace_spans
from shared.ports import models

_PLACEHOLDER_PATTERN = re.compile(r"PROTECTED_[A-Z]+_\d+Z")
_QUOTED_PLACEHOLDER_PATTERN = re.compile(r'\\*"(PROTECTED_[A-Z]+_\d+Z)\\*"')


class MaskedRequest(NamedTuple):
    """A masked request with what is needed to restore the values in its reply."""

    request: models.ModelRequest
    values: Mapping[str, str]  # by placeholder
    number_placeholders: frozenset[str]  # those that replaced a bare JSON number
    kinds: Mapping[str, ProtectedKind]  # by value


def mask_request(request: models.ModelRequest, task: str) -> MaskedRequest:
    """The request with placeholders for everything that the privacy guard marks.

    In each message only values found up to that message are replaced, so that a growing history stays the same to the
    byte.
    """
    masked_values = _MaskedValues()
    masked_values.add_values(find_protected_values(task))
    for found_values in _find_values_in_tools(request.tools):
        masked_values.add_found(found_values)
    tools = _mask_tools(request.tools, masked_values)
    messages, mask = [], masked_values.make_mask()
    for message in request.messages:
        count_before = len(masked_values.placeholders)
        for block in message.blocks:
            masked_values.add_found(_find_protected_values(_get_block_text(block)))
        mask = masked_values.make_mask() if len(masked_values.placeholders) > count_before else mask
        if masked_values.placeholders:
            message = message._replace(blocks=tuple(_mask_block(block, mask) for block in message.blocks))  # noqa: PLW2901
        messages.append(message)
    masked = request._replace(tools=tools, messages=tuple(messages))
    values = {placeholder: value for value, placeholder in masked_values.placeholders.items()}
    return MaskedRequest(masked, values, frozenset(masked_values.number_placeholders), masked_values.kinds)


def restore_values(reply: models.ModelReply, masked: MaskedRequest) -> models.ModelReply:
    """The reply with values in place of placeholders. A text without placeholders is returned unchanged."""
    if not masked.values:
        return reply
    return reply._replace(blocks=tuple(_restore_block(block, masked) for block in reply.blocks))


class _MaskedValues:
    """The values hidden so far with their placeholders; words that look like placeholders are hidden as well."""

    def __init__(self) -> None:
        self.kinds: dict[str, ProtectedKind] = {}
        self.placeholders: dict[str, str] = {}  # by value
        self.number_placeholders: set[str] = set()

    def add_found(self, found_values: "_FoundValues") -> None:
        self.add_values(found_values.values)
        for word in found_values.placeholder_like_words:
            self._add_placeholder(word, "WORD")

    def add_values(self, values: Mapping[str, ProtectedKind]) -> None:
        for value, kind in values.items():
            normal = _restore_line_breaks(value)
            self.kinds.setdefault(normal, kind)
            self._add_placeholder(normal, kind.value.upper())

    def make_mask(self, kind_left_out: ProtectedKind | None = None) -> "_Mask":
        """A mask of all values so far, without those of ``kind_left_out``."""
        return _Mask(
            {
                form: placeholder
                for value, placeholder in self.placeholders.items()
                if kind_left_out is None or self.kinds.get(value) is not kind_left_out
                for form in _list_escaped_forms(value)
            },
            self.number_placeholders,
        )

    def _add_placeholder(self, value: str, kind: str) -> None:
        self.placeholders.setdefault(value, f"PROTECTED_{kind}_{len(self.placeholders) + 1}Z")


class _Mask:
    """Replaces values by their placeholders; adds to ``number_placeholders`` those that replaced a bare JSON number."""

    def __init__(self, placeholders: Mapping[str, str], number_placeholders: set[str]) -> None:
        self._placeholders = placeholders
        self._finder = LiteralFinder(placeholders)
        self._number_placeholders = number_placeholders

    def would_change(self, text: str) -> bool:
        return any(True for _ in self._finder.find_spans(text))

    def mask_text(self, text: str) -> str:
        return replace_spans(
            text, self._finder.find_spans(text), lambda start, end: self._write_placeholder(text, start, end)
        )

    def mask_json(self, value: Json) -> Json:
        return map_leaves(value, self._mask_leaf)

    def _mask_leaf(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, int) and not isinstance(value, bool) and str(value) in self._placeholders:
            self._number_placeholders.add(self._placeholders[str(value)])
            return self._placeholders[str(value)]
        return value

    def _write_placeholder(self, text: str, start: int, end: int) -> str:
        name = self._placeholders[text[start:end]]
        if not _is_json_number(text, start, end):
            return name
        self._number_placeholders.add(name)
        return f'"{name}"'


def _is_json_number(text: str, start: int, end: int) -> bool:
    """Whether the digits are a number in JSON: the value of a field, or an item of a list."""
    return (
        text[start:end].isdigit()
        and text[start - 1 : start] in (":", ",", "[")
        and text[end : end + 1] in (",", "}", "]")
    )


class _FoundValues(NamedTuple):
    """The protected values in one text, and its words that look like placeholders."""

    values: Mapping[str, ProtectedKind]
    placeholder_like_words: tuple[str, ...]


@cached_by_text(4_000_000)
def _find_protected_values(text: str) -> _FoundValues:
    """A text's protected values, and its words that look like placeholders; cached, as texts recur in each request."""
    return _FoundValues(find_protected_values(text), tuple(dict.fromkeys(_PLACEHOLDER_PATTERN.findall(text))))


# A conversation asks with the same tuple of tools each time.
@cached_by_identity(32)
def _find_values_in_tools(tools: tuple[models.ToolDefinition, ...]) -> tuple[_FoundValues, ...]:
    """The protected values in each description and each schema of the tools; texts without any are left out."""
    values_of_texts = [
        _find_protected_values(text)
        for tool in tools
        for text in (tool.description, json.dumps(tool.input_schema, ensure_ascii=False, default=str))
    ]
    return tuple(
        found_values for found_values in values_of_texts if found_values.values or found_values.placeholder_like_words
    )


@cached_by_identity(32)
def _join_maskable_texts(tools: tuple[models.ToolDefinition, ...]) -> str:
    """All texts and numbers of the tools that a mask may replace, joined into one text."""
    values = (value for tool in tools for _, value in walk_json(cast(Json, dict(tool.input_schema))))
    texts = (str(value) for value in values if not isinstance(value, dict | list))
    return "\0".join((*(tool.description for tool in tools), *texts))


def _restore_line_breaks(value: str) -> str:
    """The value, with escaped line breaks restored if it is a private key found in JSON."""
    return value.replace("\\\\n", "\n").replace("\\n", "\n") if value.startswith("-----BEGIN") else value


def _get_block_text(block: models.Block) -> str:
    match block:
        case models.TextBlock(text):
            return text
        case models.ToolUse():
            return dumps(block.input)
        case models.ToolResult():
            return block.content
        case models.OpaqueBlock() | models.ImageBlock():
            return ""


def _list_escaped_forms(value: str) -> tuple[str, ...]:
    """The value as written in plain text, in a JSON string, and in a JSON string inside another."""
    once = _escape_json(value)
    return tuple(dict.fromkeys((value, once, _escape_json(once))))


def _escape_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _mask_block(block: models.Block, mask: _Mask) -> models.Block:
    match block:
        case models.TextBlock(text):
            return block._replace(text=mask.mask_text(text))
        case models.ToolUse():
            return block._replace(input=cast(JsonObject, mask.mask_json(block.input)))
        case models.ToolResult():
            return block._replace(content=mask.mask_text(block.content))
        # The former is a model's own, which saw placeholders alone; what is drawn is not read.
        case models.OpaqueBlock() | models.ImageBlock():
            return block


def _mask_tools(
    tools: tuple[models.ToolDefinition, ...], masked_values: _MaskedValues
) -> tuple[models.ToolDefinition, ...]:
    """The tools with masked values; the same objects if nothing is masked, so that caches by identity apply."""
    if not masked_values.placeholders:
        return tools
    mask = masked_values.make_mask()
    if not mask.would_change(_join_maskable_texts(tools)):
        return tools
    schema_mask = masked_values.make_mask(kind_left_out=ProtectedKind.PASSWORD)
    return tuple(_mask_tool(tool, mask, schema_mask) for tool in tools)


def _mask_tool(tool: models.ToolDefinition, mask: _Mask, schema_mask: _Mask) -> models.ToolDefinition:
    """The tool with its description masked, and its schema by ``schema_mask``, which leaves out passwords."""
    schema = cast("Mapping[str, JsonValue]", schema_mask.mask_json(cast(Json, dict(tool.input_schema))))
    return tool._replace(description=mask.mask_text(tool.description), input_schema=schema)


def _restore_block(block: models.ReplyBlock, masked: MaskedRequest) -> models.ReplyBlock:
    match block:
        case models.TextBlock(text):
            return models.TextBlock(_restore_text(text, masked))
        case models.ToolUse():
            return block._replace(
                input=cast(JsonObject, map_leaves(block.input, lambda leaf: _restore_leaf(leaf, masked)))
            )
        case models.OpaqueBlock():
            return block


def _restore_text(text: str, masked: MaskedRequest) -> str:
    if "PROTECTED_" not in text:
        return text
    is_json = text.lstrip()[:1] in ("{", "[")

    def restore_value(match: re.Match[str]) -> str:
        value = masked.values.get(match.group(), match.group())
        return _escape_for_context(value, text, match.start()) if is_json else value

    def restore_number(match: re.Match[str]) -> str:
        return masked.values[match[1]] if match[1] in masked.number_placeholders else match.group()

    if is_json and masked.number_placeholders:
        text = _QUOTED_PLACEHOLDER_PATTERN.sub(restore_number, text)
    return _PLACEHOLDER_PATTERN.sub(restore_value, text)


def _escape_for_context(value: str, text: str, place: int) -> str:
    """The value, escaped once for each JSON string that its place is nested in (by the last quote before it)."""
    quote = first_backslash = text.rfind('"', 0, place)
    while first_backslash > 0 and text[first_backslash - 1] == "\\":
        first_backslash -= 1
    for _ in range((quote - first_backslash + 1).bit_length() if quote >= 0 else 0):
        value = _escape_json(value)
    return value


def _restore_leaf(value: Json, masked: MaskedRequest) -> Json:
    if not isinstance(value, str):
        return value
    return int(masked.values[value]) if value in masked.number_placeholders else _restore_text(value, masked)
