"""Records as servers nest them: where each record stands, and its fields at any depth by their path.

Items of a list are known by their own ids, not by their positions; so are the entries of a table ``{"C-1": {...}}``.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from shared.contracts.tenant import normalized_key_name
from shared.domain.exact_json import Json, JsonObject, as_text

_WORD_ENDS = re.compile(r"[_\-\s]|(?<=[a-z0-9])(?=[A-Z])")
_NO_IDS = frozenset("paid unpaid prepaid repaid valid invalid void avoid bid grid solid liquid hybrid aid".split())


@lru_cache(maxsize=4_096)  # the same few names of fields, over and over
def names_a_record(key: str) -> bool:
    """Whether a field is an identifier by its name: ``id``, ``claim_id``, ``claimId``, ``orderid``; not ``paid``."""
    last = _WORD_ENDS.split(key)[-1].lower()
    return last.endswith("id") and last not in _NO_IDS


class RecordKeys(NamedTuple):
    """Declared keys: the words for the kind of each, by its name as it is compared, and by the read tools that show one
    record by its key. ``readers``: the names of all tools that read.
    """

    kinds: tuple[tuple[str, tuple[str, ...]], ...] = ()
    reads: tuple[tuple[str, tuple[str, ...]], ...] = ()
    readers: frozenset[str] = frozenset()

    def kind_of(self, name: str) -> tuple[str, ...]:
        """The kind whose key a field or argument of this name holds; empty where none is declared."""
        return dict(self.kinds).get(normalized_key_name(name), ()) if self.kinds else ()

    def kind_shown_by(self, tool: str) -> tuple[str, ...]:
        """The kind of which a read tool is declared to show one record; empty for any other tool."""
        return dict(self.reads).get(tool, ())

    def name_a_record(self, name: str) -> bool:
        """Whether a field is an identifier by its name, or as a declared key."""
        return names_a_record(name) or self.kind_of(name) != ()


NO_KEYS = RecordKeys()
_ITEM = ("sku", "code", "key", "number", "name")  # by which an item without an id is known
_UNNAMED = "[]"


PARTIAL = "NOT all rows"  # how the note on a list begins of which rows are missing


class NoSuchPath(LookupError):
    """A value has nothing at the path; the message names the step that failed."""


class RecordNode(NamedTuple):
    """One record. ``place``: the names on the way to it; ``own``: its id; ``around``: those that it stands in."""

    record: JsonObject
    place: tuple[str, ...]
    own: Json
    around: tuple["RecordNode", ...]


class Leaf(NamedTuple):
    """A scalar, or a list of them, at a path's end. ``names``: without ids; ``items``: ids of list items, or ``[]``."""

    path: tuple[str, ...]
    names: tuple[str, ...]
    items: frozenset[str]
    value: Json

    @property
    def name(self) -> str:
        return self.names[-1]


def nodes_of(value: Json) -> list[RecordNode]:
    """Every record in a value that has fields of its own, outermost first."""
    return list(_walk_nodes(value, (), None, ()))


def leaves_of(record: JsonObject) -> list[Leaf]:
    return list(_walk_leaves(record, (), (), frozenset()))


def own_id(record: JsonObject) -> Json:
    return next((value for key, value in record.items() if key.lower() == "id"), None)


def _walk_nodes(value: Json, place: tuple[str, ...], key: Json, around: tuple[RecordNode, ...]) -> Iterator[RecordNode]:
    if isinstance(value, list):
        for item in value:
            yield from _walk_nodes(item, place, None, around)
    elif isinstance(value, dict):
        inside = around
        own = own_id(value)
        if any(_is_field(item) for item in value.values()):
            node = RecordNode(value, place, key if own is None else own, around)
            inside = (*around, node)
            yield node
        table = is_keyed(value)
        for name, item in value.items():
            yield from _walk_nodes(item, place if table else (*place, name), name if table else None, inside)


def _walk_leaves(value: Json, path: tuple[str, ...], names: tuple[str, ...], items: frozenset[str]) -> Iterator[Leaf]:
    if isinstance(value, dict):
        table = is_keyed(value)
        for name, inner in value.items():
            if table:
                yield from _walk_leaves(inner, (*path, name), names, items | {name})
            else:
                yield from _walk_leaves(inner, (*path, name), (*names, name), items)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        known_by = item_key(value)
        for item in value:
            own = str(item[known_by]) if known_by and isinstance(item, dict) else _UNNAMED
            yield from _walk_leaves(item, (*path, own), names, items | {own})
    elif names:
        yield Leaf(path, names, items, value)


def _is_field(value: Json) -> bool:
    if isinstance(value, list):
        return not any(isinstance(item, dict | list) for item in value)
    return not isinstance(value, dict)


def item_key(items: Sequence[Json]) -> str | None:
    """The field by which the items of a list are told apart; None if no field has a different value in each."""
    records = [item for item in items if isinstance(item, dict)]
    if len(records) != len(items):
        return None
    first = records[0]
    candidates = [key for key in first if key.lower() == "id"] + [key for key in first if names_a_record(key)]
    for key in [*candidates, *(key for key in first if _WORD_ENDS.split(key)[-1].lower() in _ITEM)]:
        values = [str(record[key]) for record in records if isinstance(record.get(key), str | int)]
        if len(set(values)) == len(records):
            return key
    return None


def is_keyed(value: JsonObject) -> bool:
    """Whether an object is a table keyed by id: ``{"C-1": {...}, "C-2": {...}}``."""
    rows = [(key, row) for key, row in value.items() if isinstance(row, dict)]
    if not rows or len(rows) != len(value):
        return False
    return all(any(mark.isdigit() for mark in key) or str(own_id(row)) == key for key, row in rows)


def map_objects(content: Json, change: Callable[[JsonObject], JsonObject]) -> Json:
    """The content with every object in it changed, the outer ones first."""
    if isinstance(content, list):
        return [map_objects(item, change) for item in content]
    if not isinstance(content, dict):
        return content
    return {key: map_objects(value, change) for key, value in change(content).items()}


def write_condition(field: str, sign: str, value: Json) -> str:
    """A condition as it is written in paths."""
    if value is None:
        return f"{field}{sign}null"
    text = as_text(value)
    return f"{field}{sign}" + "'" + text.replace("'", "''") + "'"


_MOST_NAMES = 12  # of fields in a message
_ABOUT = frozenset({"status", "message", "note", "next", "cursor", "next_cursor", "next_page", "error", "detail"})


def found_nothing(result: Json) -> bool:
    """Whether a read found nothing: null, an empty list, ``{"found": false}``, or rows of which there are none."""
    if not isinstance(result, dict):
        return result is None or result == "" or result == []
    lists = [item for item in result.values() if isinstance(item, list)]
    if result.get("found") is False or not result:
        return True
    told = [key for key, item in result.items() if key not in _ABOUT and isinstance(item, str | dict) and item]
    return bool(lists) and not any(lists) and not told


def is_empty(value: Json) -> bool:
    """Whether a field's value is null, empty or only white space."""
    return value is None or value in ("", [], {}) or (isinstance(value, str) and not value.strip())


def list_names(records: Iterator[Json] | Sequence[Json]) -> str:
    """The field names of the records as text for a message."""
    names = dict.fromkeys(key for record in records if isinstance(record, dict) for key in record)
    return ", ".join([*list(names)[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])])
