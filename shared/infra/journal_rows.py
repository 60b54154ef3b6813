"""Packs the steps of a task's journal for its stream; steps stored together are one row.

A text that many tasks share is replaced in a step by its name, and restored when the row is read.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeAlias, cast

from pydantic_core import to_json

from shared.infra.compression import DictionaryCompressor

ROW_FIELD = "y"  # of a packed row; an earlier revision's row is one step in the fields ``key``, ``kind``, ``data``
TEXT_KIND = "text"  # kind of a step that holds a text which others name: its key is the name
_NAME_CHARACTERS = 32
_COMPRESSOR = DictionaryCompressor("journal_shapes.txt")

TextPart: TypeAlias = "str | list[str]"  # a text, or a list of the one name that stands for a text
StreamRow: TypeAlias = "tuple[str, Mapping[str, str]]"  # a stream's entry: its id, and its fields


class StoredStep(NamedTuple):
    """A stored step of a task's journal. ``parts``: its data, in which texts that several steps share are replaced by
    names; ``at_ms``: when it was stored.
    """

    key: str
    kind: str
    parts: tuple[TextPart, ...]
    at_ms: int = 0

    @property
    def shared_text_names(self) -> tuple[str, ...]:
        """The names of the shared texts in the step's data."""
        return tuple(part[0] for part in self.parts if isinstance(part, list))

    def join_data(self, texts: Mapping[str, str]) -> str:
        """The step's data with names replaced by their texts; raises ``KeyError`` for a name not in ``texts``."""
        return "".join(texts[part[0]] if isinstance(part, list) else part for part in self.parts)


def name_shared_text(text: str) -> str:
    """The name of a shared text: the first characters of its SHA-256 digest."""
    return sha256(text.encode()).hexdigest()[:_NAME_CHARACTERS]


def split_shared_texts(data: str, names: Mapping[str, str]) -> tuple[TextPart, ...]:
    """Splits ``data`` into parts. Each text that ``names`` has a name for becomes a part with only that name."""
    parts: list[TextPart] = [data]
    for text, name in names.items():
        parts = [
            text_part
            for part in parts
            for text_part in ([part] if isinstance(part, list) else _split_part_at_text(part, text, name))
        ]
    return tuple(parts)


def _split_part_at_text(part: str, text: str, name: str) -> list[TextPart]:
    head, match, tail = part.partition(text)
    return [text_part for text_part in (head, [name], tail) if text_part] if match else [part]


def pack_steps(steps: Sequence[StoredStep]) -> bytes:
    """The steps packed as one row; empty for no steps."""
    if not steps:
        return b""
    return _COMPRESSOR.pack(to_json([[step.key, step.kind, *step.parts] for step in steps]))


def parse_steps(rows: Iterable[StreamRow]) -> tuple[StoredStep, ...]:
    """The steps of the rows in order. Raises ``ValueError`` for an unreadable row."""
    return tuple(step for row_id, fields in rows for step in _unpack_steps(int(row_id.partition("-")[0]), fields))


def _unpack_steps(at_ms: int, fields: Mapping[str, str]) -> Iterable[StoredStep]:
    if ROW_FIELD not in fields:
        return [StoredStep(fields["key"], fields["kind"], (fields["data"],), at_ms)]
    try:
        steps_json = json.loads(_COMPRESSOR.unpack(fields[ROW_FIELD]))
    except ValueError as error:
        raise ValueError(f"a row of the journal cannot be read: {error}") from error
    steps = cast("list[tuple[str, str, *tuple[TextPart, ...]]]", steps_json)
    return [StoredStep(key, kind, tuple(parts), at_ms) for key, kind, *parts in steps]
