"""Records as servers nest them: where each record is, and its fields at any depth with their paths.

Items of a list are identified by their ids, not by their positions; so are the entries of a table ``{"C-1": {...}}``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from shared.contracts.tenant import normalized_key_name
from shared.domain.exact_json import Json, JsonObject, as_text

_WORD_BOUNDARY_PATTERN = re.compile(r"[_\-\s]|(?<=[a-z0-9])(?=[A-Z])")
_WORDS_IN_ID_THAT_ARE_NO_IDS = frozenset(
    "paid unpaid prepaid repaid valid invalid void avoid bid grid solid liquid hybrid aid".split()
)


@lru_cache(maxsize=4_096)  # the same few names of fields, over and over
def is_id_name(key: str) -> bool:
    """Whether a field is an identifier by its name: ``id``, ``claim_id``, ``claimId``, ``orderid``; not ``paid``."""
    last_word = _WORD_BOUNDARY_PATTERN.split(key)[-1].lower()
    return last_word.endswith("id") and last_word not in _WORDS_IN_ID_THAT_ARE_NO_IDS


class RecordKeys(NamedTuple):
    """The key fields of records that a tenant declares.

    ``kinds``: pairs of a key's normalized name and the words of its record's kind. ``kinds_by_read``: pairs of a read
    tool that shows one record by its key, and the words of that record's kind. ``read_tools``: the names of all read
    tools. ``first_names``: pairs of a key's normalized name and the first of the names that this key has.
    """

    kinds: tuple[tuple[str, tuple[str, ...]], ...] = ()
    kinds_by_read: tuple[tuple[str, tuple[str, ...]], ...] = ()
    read_tools: frozenset[str] = frozenset()
    first_names: tuple[tuple[str, str], ...] = ()

    def get_first_name_of_key(self, name: str) -> str:
        """The first name of the declared key that has this name, in normal form; else the name in normal form."""
        key = normalized_key_name(name)
        return dict(self.first_names).get(key, key)

    def kind_of(self, name: str) -> tuple[str, ...]:
        """The words of the kind whose declared key a field or argument of this name holds; empty if there is none."""
        return dict(self.kinds).get(normalized_key_name(name), ()) if self.kinds else ()

    def kind_shown_by(self, tool: str) -> tuple[str, ...]:
        """The words of the kind of which a read tool is declared to show one record; empty for any other tool."""
        return dict(self.kinds_by_read).get(tool, ())

    def is_id_or_key(self, name: str) -> bool:
        """Whether a field is an identifier by its name, or a declared key."""
        return is_id_name(name) or self.kind_of(name) != ()


NO_RECORD_KEYS = RecordKeys()
_USUAL_KEY_NAMES = ("sku", "code", "key", "number", "name")  # by which an item without an id is known
_ITEM_WITHOUT_KEY = "[]"
MISSING_ROWS_NOTE = "NOT all rows"  # how the note on a list begins of which rows are missing


class NoSuchPath(LookupError):
    """A value has nothing at a path; the message names the step that failed."""


class RecordNode(NamedTuple):
    """One record. ``place``: the keys that lead to it; ``record_id``: its own id, None without one;
    ``outer_records``: the records that contain it, the outermost first.
    """

    record: JsonObject
    place: tuple[str, ...]
    record_id: Json
    outer_records: tuple["RecordNode", ...]


class Leaf(NamedTuple):
    """A scalar, or a list of scalars, at the end of a path such as ``("lines", "L-2", "qty")``.

    ``names``: the path without ids; ``items``: the ids of the list items on the path, ``[]`` for an item without one.
    """

    path: tuple[str, ...]
    names: tuple[str, ...]
    items: frozenset[str]
    value: Json

    @property
    def name(self) -> str:
        return self.names[-1]


ValuesByPath: TypeAlias = Mapping[tuple[str, ...], Json]


def find_record_nodes(value: Json) -> list[RecordNode]:
    """Every object in the value that has a scalar or a list of scalars as a field, outer ones first."""
    return list(_walk_nodes(value, (), None, ()))


def find_leaves(record: JsonObject) -> list[Leaf]:
    return list(_walk_leaves(record, (), (), frozenset()))


def get_own_id(record: JsonObject) -> Json:
    return next((value for key, value in record.items() if key.lower() == "id"), None)


def _walk_nodes(value: Json, place: tuple[str, ...], key: Json, outer: tuple[RecordNode, ...]) -> Iterator[RecordNode]:
    if isinstance(value, list):
        for item in value:
            yield from _walk_nodes(item, place, None, outer)
    elif isinstance(value, dict):
        if any(map(_is_field_value, value.values())):
            record_id = get_own_id(value)
            node = RecordNode(value, place, key if record_id is None else record_id, outer)
            outer = (*outer, node)
            yield node
        is_table = is_keyed_table(value)
        for name, inner in value.items():
            yield from _walk_nodes(inner, place if is_table else (*place, name), name if is_table else None, outer)


def _walk_leaves(value: Json, path: tuple[str, ...], names: tuple[str, ...], items: frozenset[str]) -> Iterator[Leaf]:
    if isinstance(value, dict):
        is_table = is_keyed_table(value)
        for name, inner in value.items():
            inner_names, inner_items = (names, items | {name}) if is_table else ((*names, name), items)
            yield from _walk_leaves(inner, (*path, name), inner_names, inner_items)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        key_field = find_distinguishing_key(value)
        for item in value:
            key = str(item[key_field]) if key_field and isinstance(item, dict) else _ITEM_WITHOUT_KEY
            yield from _walk_leaves(item, (*path, key), names, items | {key})
    elif names:
        yield Leaf(path, names, items, value)


def _is_field_value(value: Json) -> bool:
    if isinstance(value, list):
        return not any(isinstance(item, dict | list) for item in value)
    return not isinstance(value, dict)


def find_distinguishing_key(items: Sequence[Json]) -> str | None:
    """The field, an id or one with a usual name, that has another value in each item; None if there is none."""
    records = [item for item in items if isinstance(item, dict)]
    if len(records) != len(items):
        return None
    first_record = records[0]
    candidates = [key for key in first_record if key.lower() == "id"] + [key for key in first_record if is_id_name(key)]
    for key in [
        *candidates,
        *(key for key in first_record if _WORD_BOUNDARY_PATTERN.split(key)[-1].lower() in _USUAL_KEY_NAMES),
    ]:
        values = [str(record[key]) for record in records if isinstance(record.get(key), str | int)]
        if len(set(values)) == len(records):
            return key
    return None


def is_keyed_table(value: JsonObject) -> bool:
    """Whether an object is a table keyed by id: ``{"C-1": {...}, "C-2": {...}}``."""
    rows = [(key, row) for key, row in value.items() if isinstance(row, dict)]
    if not rows or len(rows) != len(value):
        return False
    return all(any(mark.isdigit() for mark in key) or str(get_own_id(row)) == key for key, row in rows)


def map_objects(content: Json, change: Callable[[JsonObject], JsonObject]) -> Json:
    """The content with ``change`` applied to every object in it, outer ones first."""
    if isinstance(content, list):
        return [map_objects(item, change) for item in content]
    if not isinstance(content, dict):
        return content
    return {key: map_objects(value, change) for key, value in change(content).items()}


def format_condition(field: str, sign: str, value: Json) -> str:
    """A condition as it is written in paths: ``name='O''Neil'``."""
    if value is None:
        return f"{field}{sign}null"
    text = as_text(value)
    return f"{field}{sign}" + "'" + text.replace("'", "''") + "'"


def convert_to_schema_type(value: Json, schema: JsonObject) -> Json:
    """The value in the type that the schema names, 7 for "7" or the reverse; unchanged if unclear."""
    kind = schema.get("type")
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind in ("integer", "number") and isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    return value


_MOST_FIELD_NAMES = 12  # of fields in a message
_ENVELOPE_FIELDS = frozenset(
    {"status", "message", "note", "next", "cursor", "next_cursor", "next_page", "error", "detail"}
)


def is_empty_result(result: Json) -> bool:
    """Whether a read found nothing: an empty value, ``{"found": false}``, or an answer whose list is empty."""
    if not isinstance(result, dict):
        return result is None or result == "" or result == []
    lists = [content for content in result.values() if isinstance(content, list)]
    if result.get("found") is False or not result:
        return True
    others = (content for key, content in result.items() if key not in _ENVELOPE_FIELDS)
    return bool(lists) and not any(lists) and not any(isinstance(content, str | dict) and content for content in others)


def is_empty_value(value: Json) -> bool:
    """Whether a value is null, empty or only white space."""
    return value is None or value in ("", [], {}) or (isinstance(value, str) and not value.strip())


def format_field_names(records: Iterator[Json] | Sequence[Json]) -> str:
    """The first twelve field names of the records, as text for a message; ``...`` at its end if there are more."""
    names = dict.fromkeys(key for record in records if isinstance(record, dict) for key in record)
    return ", ".join([*list(names)[:_MOST_FIELD_NAMES], *(["..."] if len(names) > _MOST_FIELD_NAMES else [])])
