"""Marked values kept from the model: placeholders in what it is asked, the values again in what it answers.

Pure and within one request: the same request gives the same placeholders, and one that goes on where another stopped
keeps its placeholders. What is journaled holds the values, so a resumed or replayed run needs nothing of this.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.ports.models import (
    Message,
    ModelReply,
    ModelRequest,
    TextBlock,
    ToolDefinition,
    ToolResult,
    ToolUse,
)
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.marks import MarkKind, marked
from shared.domain.redaction import literals

_TOLD = "Words such as PROTECTED_CARD_1Z stand for values that are kept from you. Use them as they are."
_PLACEHOLDER = re.compile(r"PROTECTED_[A-Z]+_\d+Z")
_NOTHING = re.compile(r"(?!)")
_QUOTED = re.compile(r'\\*"(PROTECTED_[A-Z]+_\d+Z)\\*"')
_IN_STRING = re.compile(r'(\\*)"[^"]*$')


class Masked(NamedTuple):
    """What may be sent, the values by their placeholders, and which of these stood as a bare JSON number."""

    request: ModelRequest
    values: Mapping[str, str]
    bare: frozenset[str]
    kinds: Mapping[str, MarkKind]  # by value


def masked(request: ModelRequest, task: str) -> Masked:
    """The request without anything that the guard marks; what the task's text marks is known to it from the start."""
    texts = tuple(_texts(request))
    kinds: dict[str, MarkKind] = {}
    for found in (marked(task), *_of_tools(request), *(marked(text) for text in texts)):
        for value, kind in found.items():
            kinds.setdefault(_plain(value), kind)
    if not kinds:
        return Masked(request, {}, frozenset(), {})
    names = _named(kinds, texts)
    mask, plain_to_see = (
        _mask(names, kinds),
        _mask(names, {v: k for v, k in kinds.items() if k is not MarkKind.PASSWORD}),
    )
    sent = request._replace(
        system=(*request.system, _TOLD),
        messages=tuple(_message(message, mask) for message in request.messages),
        tools=tuple(_tool(tool, mask, plain_to_see) for tool in request.tools),
    )
    return Masked(sent, names, frozenset(mask.bare), kinds)


def restored(reply: ModelReply, masked: Masked) -> ModelReply:
    """The reply with the values in place of their placeholders. A text without one stays as it is, to the byte."""
    if not masked.values:
        return reply
    return reply._replace(blocks=tuple(_restored(block, masked) for block in reply.blocks))


class _Mask:
    """Replaces values by their placeholders, and notes which stood as a bare number in JSON."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._pattern = literals(names) if names else _NOTHING
        self.bare: set[str] = set()

    def text(self, text: str) -> str:
        return self._pattern.sub(self._placeholder, text)

    def json(self, value: Json) -> Json:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {key: self.json(inner) for key, inner in value.items()}
            case list():
                return [self.json(inner) for inner in value]
            case int() if not isinstance(value, bool) and str(value) in self._names:
                self.bare.add(self._names[str(value)])
                return self._names[str(value)]
            case _:
                return value

    def _placeholder(self, match: re.Match[str]) -> str:
        name, text = self._names[match.group()], match.string
        if not _is_bare(text, match.start(), match.end()):
            return name
        self.bare.add(name)
        return f'"{name}"'


def _is_bare(text: str, start: int, end: int) -> bool:
    """Whether digits stand as a number in JSON, as the value of a field or an item of a list."""
    return (
        text[start:end].isdigit()
        and text[start - 1 : start] in (":", ",", "[")
        and text[end : end + 1] in (",", "}", "]")
    )


def _texts(request: ModelRequest) -> Iterator[str]:
    """What the messages hold. The system's text is ours, and holds no values."""
    for message in request.messages:
        for block in message.blocks:
            yield _said(block)


def _of_tools(request: ModelRequest) -> Iterator[Mapping[str, MarkKind]]:
    for tool in request.tools:
        yield _marked(tool.description)
        yield _marked(json.dumps(tool.input_schema, ensure_ascii=False, default=str))


@lru_cache(maxsize=512)
def _marked(text: str) -> Mapping[str, MarkKind]:
    """Of texts that come again with each request."""
    return marked(text)


def _plain(value: str) -> str:
    """A private key that was found in JSON, with its lines as they are."""
    return value.replace("\\\\n", "\n").replace("\\n", "\n") if value.startswith("-----BEGIN") else value


def _mask(names: Mapping[str, str], kinds: Mapping[str, MarkKind]) -> "_Mask":
    return _Mask({form: name for name, value in names.items() if value in kinds for form in _forms(value)})


def _said(block: TextBlock | ToolUse | ToolResult) -> str:
    match block:
        case TextBlock(text):
            return text
        case ToolUse():
            return dumps(block.input)
        case ToolResult():
            return block.content


def _named(kinds: Mapping[str, MarkKind], texts: Iterable[str]) -> dict[str, str]:
    """Values by placeholders, which are numbered as they come and are no words of the texts."""
    taken = {word for text in texts for word in _PLACEHOLDER.findall(text)}
    names: dict[str, str] = {}
    number = 0
    for value, kind in kinds.items():
        number += 1
        while (name := f"PROTECTED_{kind.value.upper()}_{number}Z") in taken:
            number += 1
        names[name] = value
    return names


def _forms(value: str) -> tuple[str, ...]:
    """The value as it stands in plain text, in JSON, and in JSON within JSON."""
    once = _escaped(value)
    return tuple(dict.fromkeys((value, once, _escaped(once))))


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _message(message: Message, mask: _Mask) -> Message:
    return message._replace(blocks=tuple(_block(block, mask) for block in message.blocks))


def _block(block: TextBlock | ToolUse | ToolResult, mask: _Mask) -> TextBlock | ToolUse | ToolResult:
    match block:
        case TextBlock(text):
            return block._replace(text=mask.text(text))
        case ToolUse():
            return block._replace(input=cast(JsonObject, mask.json(block.input)))
        case ToolResult():
            return block._replace(content=mask.text(block.content))


def _tool(tool: ToolDefinition, mask: _Mask, plain_to_see: _Mask) -> ToolDefinition:
    """A schema's own words may well be somebody's password: in it only what shows by itself is masked."""
    schema = cast("Mapping[str, JsonValue]", plain_to_see.json(cast(Json, dict(tool.input_schema))))
    return tool._replace(description=mask.text(tool.description), input_schema=schema)


def _restored(block: TextBlock | ToolUse, masked: Masked) -> TextBlock | ToolUse:
    if isinstance(block, TextBlock):
        return TextBlock(_restored_text(block.text, masked))
    return block._replace(input=cast(JsonObject, _restored_json(block.input, masked)))


def _restored_text(text: str, masked: Masked) -> str:
    if "PROTECTED_" not in text:
        return text
    is_json = text.lstrip()[:1] in ("{", "[")

    def value(match: re.Match[str]) -> str:
        found = masked.values.get(match.group())
        if found is None:
            return match.group()
        return _as_written(found, text[: match.start()]) if is_json else found

    def number(match: re.Match[str]) -> str:
        return masked.values[match[1]] if match[1] in masked.bare else match.group()

    if is_json and masked.bare:
        text = _QUOTED.sub(number, text)
    return _PLACEHOLDER.sub(value, text)


def _as_written(value: str, before: str) -> str:
    """The value as it stands inside a string of JSON, or of JSON within JSON: the quote that opened it tells."""
    opened = _IN_STRING.search(before)
    for _ in range((len(opened[1]) + 1).bit_length() if opened else 0):
        value = _escaped(value)
    return value


def _restored_json(value: Json, masked: Masked) -> Json:
    match value:
        case str():
            if value in masked.bare:
                return int(masked.values[value])
            return _restored_text(value, masked)
        case dict():
            return {key: _restored_json(inner, masked) for key, inner in value.items()}
        case list():
            return [_restored_json(inner, masked) for inner in value]
        case _:
            return value
