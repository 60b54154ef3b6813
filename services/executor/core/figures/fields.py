"""The fields of a tool's answer: every scalar, the record that it stands in, and whether it is somebody's prose."""

import re
from collections.abc import Iterator
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.figures.arguments import LONGEST_FIELD, identifies_a_record, is_free_text_name
from services.executor.core.figures.identifiers import whole_form
from shared.domain.exact_json import Json, JsonObject, loads


class FieldStanding(StrEnum):
    """How a value stands in an answer. ``PROSE``: the whole answer is a text, which the tool or somebody else wrote."""

    STRUCTURED = "structured"
    FREE_TEXT = "free text"
    PROSE = "prose"


class FieldRecord(NamedTuple):
    """The nearest object around a value that has an identifier: its path, the identifying field and that one's text."""

    path: str
    field: str
    identifier: str


class ReadField(NamedTuple):
    """One scalar where it stands. ``parent`` and ``name`` make its path."""

    fact_id: str
    parent: str
    name: str
    record: FieldRecord | None
    value: Json
    standing: FieldStanding

    @property
    def path(self) -> str:
        return _join_names(self.parent, self.name)


class _FieldStep(NamedTuple):
    """A value still to be walked through."""

    parent: str
    name: str
    value: Json
    record: FieldRecord | None
    depth: int
    is_free: bool


_MOST_DEPTH = 100
_OPENING = ("{", "[")
_TOOL_TEXT = re.compile(r"(?:content\[\d+\]\.)?text")  # where the protocol puts the whole answer of a tool
_OWN_ID = ("id", "uuid")


def read_fields(fact_id: str, answer: Json) -> Iterator[ReadField]:
    """Every scalar of an answer once, whatever the nesting; JSON within strings is read as well.

    JSON within somebody's text, such as a mail's body, stays free text. Keys that are identifiers are values, too.
    """
    walk = [_FieldStep("", "", answer, None, 0, is_free=False)]
    while walk:
        step = _parse_text(walk.pop())
        if isinstance(step.value, dict | list):
            inner = [*_steps_into(step)] if step.depth < _MOST_DEPTH else []
            yield from (_field(fact_id, one) for one in inner if _is_leaf(one.value))
            walk.extend(one for one in reversed(inner) if not _is_leaf(one.value))
            if isinstance(step.value, dict):
                yield from _keys_of(fact_id, step, step.value)
        elif step.value is not None and not isinstance(step.value, bool):
            yield _field(fact_id, step)


def _is_leaf(value: Json) -> bool:
    """A value that is surely a number or a text, not JSON within a text."""
    return (
        value.lstrip()[:1] not in _OPENING
        if isinstance(value, str)
        else isinstance(value, int | Decimal) and not isinstance(value, bool)
    )


def _field(fact_id: str, step: _FieldStep) -> ReadField:
    return ReadField(fact_id, step.parent, step.name, step.record, step.value, _standing(step, step.value))


def _parse_text(step: _FieldStep) -> _FieldStep:
    text = step.value
    if not isinstance(text, str) or _is_leaf(text):
        return step
    try:
        value = loads(text)
    except ValueError:
        return step
    is_free = step.is_free or (is_free_text_name(step.name) and not _is_tool_text(step))
    return step._replace(value=value, is_free=is_free) if isinstance(value, dict | list) else step


def _steps_into(step: _FieldStep) -> Iterator[_FieldStep]:
    value, depth = step.value, step.depth + 1
    if isinstance(value, dict):
        place = _join_names(step.parent, step.name)
        record = _record_of(value, place, step.name) or step.record
        for key, inner in value.items():
            yield _FieldStep(place, key, inner, record, depth, step.is_free)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield _FieldStep(step.parent, f"{step.name}[{index}]", inner, step.record, depth, step.is_free)


def _keys_of(fact_id: str, step: _FieldStep, value: JsonObject) -> Iterator[ReadField]:
    """``{"EXP-1006": {...}}``: the key is the record's identifier."""
    for key, inner in value.items():
        if isinstance(inner, dict) and _looks_like_code(key):
            place = _join_names(step.parent, step.name)
            standing = FieldStanding.FREE_TEXT if step.is_free else FieldStanding.STRUCTURED
            yield ReadField(fact_id, place, key, FieldRecord(_join_names(place, key), "", key), key, standing)


def _standing(step: _FieldStep, value: Json) -> FieldStanding:
    if step.is_free:
        return FieldStanding.FREE_TEXT
    if not isinstance(value, str):
        return FieldStanding.STRUCTURED
    is_text = value.count(" ") >= LONGEST_FIELD or "\n" in value
    if not step.name or _is_tool_text(step):
        return FieldStanding.PROSE if is_text or " " in value.strip() else FieldStanding.STRUCTURED
    return FieldStanding.FREE_TEXT if is_text or is_free_text_name(step.name) else FieldStanding.STRUCTURED


def _is_tool_text(step: _FieldStep) -> bool:
    return step.name == "text" and _TOOL_TEXT.fullmatch(_join_names(step.parent, step.name)) is not None


def _join_names(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent and name and not name.startswith("[") else f"{parent}{name}"


def _record_of(item: JsonObject, path: str, name: str) -> FieldRecord | None:
    """The object as a record, if a field or its key names it; a field ``id`` before any other."""
    best = ""
    for key, value in item.items():
        if identifies_a_record(key) and isinstance(value, str | int) and not isinstance(value, bool):
            if key.lower() in _OWN_ID:
                return FieldRecord(path, key, str(value))
            best = best or key
    if best:
        return FieldRecord(path, best, str(item[best]))
    return FieldRecord(path, "", name) if _looks_like_code(name) else None


@lru_cache(maxsize=1024)
def _looks_like_code(name: str) -> bool:
    return "[" not in name and any(mark.isdecimal() for mark in name) and whole_form(name) is not None
