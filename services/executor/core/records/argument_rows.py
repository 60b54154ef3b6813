"""Finds the rows in a call's arguments: where they stand, and each row as the arguments of a call of its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from services.executor.core.records.references import set_at_path
from services.executor.core.records.seen_records import is_id_text
from services.executor.core.tools.classes import (
    find_nouns_of_identifier,
    is_identifying_name,
    strip_batch_word,
    words_of_tool,
)
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import find_leaves, is_id_name, is_keyed_table
from shared.domain.exact_json import Json, JsonObject, as_object

_FEWEST_ROWS = 2
# Path, row, key. Of a list: the path to the list, one item, no key (""). Of a table like {"A-1": {...}}: the path to
# the table, one entry as {"A-1": {...}}, and its key "A-1". Of sibling objects: the path to one, the object, no key.
RowAtPath: TypeAlias = tuple[tuple[str, ...], Json, str]


def arguments_by_row(tool: str, arguments: JsonObject) -> Sequence[JsonObject]:
    """The arguments of one call for each row of a call; only the call's own if it has no such rows.

    ``{"to": 7, "lines": [{"id": "A-1"}, {"id": "A-2"}]}`` gives ``{"to": 7, "lines": None, "id": "A-1"}`` and the same
    for ``A-2``. At least two rows are needed, one of which names a record; else a list of at least two ids is split so.
    """
    placed_rows = [placed for group, is_list in find_row_groups(arguments, ()) if is_list for placed in group]
    rows = [row for placed in placed_rows for row in arguments_by_row(tool, _fields_of_row(placed))]
    paths = {path for path, *_ in placed_rows}
    if len(rows) < _FEWEST_ROWS or not any(map(_names_record, rows)):
        name, ids = _find_id_list(tool, arguments)
        if len(ids) < _FEWEST_ROWS:
            return [arguments]
        paths, rows = {(name,)}, ids
    outer = arguments
    for path in paths:
        outer = set_at_path(outer, path, None)
    return [{**outer, **row} for row in rows]


def _fields_of_row(placed: RowAtPath) -> JsonObject:
    """A row's fields, empty if it is no object; of ``{"A-1": {...}}`` from a table by id: ``{"id": "A-1", ...}``."""
    _, row, key = placed
    fields = as_object(row)
    inner = fields.get(key) if is_id_text(key) or key.isdigit() else None
    return {"id": key, **inner} if isinstance(inner, dict) else fields


def _names_record(row: JsonObject) -> bool:
    leaves = [leaf for leaf in find_leaves(row) if leaf.value is not None]
    return any(is_id_text(leaf.value) or any(map(_is_record_key_name, leaf.names)) for leaf in leaves)


def _is_record_key_name(name: str) -> bool:
    """Whether a row's field names a record: ``claim_id``, ``student_no``; not a mere ``key`` or ``number``."""
    return is_id_name(name) or (is_identifying_name(name) and len(words_of(name)) > 1)


def _find_id_list(tool: str, arguments: JsonObject) -> tuple[str, list[JsonObject]]:
    """The name of the call's list of ids of what the tool is about, with ``{"order_id": 5}`` for each; ``("", [])`` if
    it has none. If the tool's name says ``bulk``, a list of only texts like ``BME-12`` is one, too.
    """
    words, is_bulk = words_of_tool(tool), strip_batch_word(tool) != tool
    for name, value in arguments.items():
        singular_name = name.removesuffix("s")
        is_about = is_id_name(singular_name) and words.head in find_nouns_of_identifier(singular_name, words.nouns)
        if isinstance(value, list) and (is_about or (is_bulk and all(map(is_id_text, value)))):
            return name, [{singular_name: item} for item in value if item is not None]
    return "", []


def find_row_groups(value: JsonObject, path: tuple[str, ...]) -> Iterator[tuple[Sequence[RowAtPath], bool]]:
    """Yields groups of rows, with True for a list or table, False for siblings such as a sender and a receiver."""
    objects = {key: inner for key, inner in value.items() if isinstance(inner, dict)}
    tables = {key: rows for key, rows in objects.items() if len(rows) > 1 and (is_keyed_table(rows) or _is_table(rows))}
    siblings = {key: inner for key, inner in objects.items() if key not in tables}
    if _have_common_field(siblings):
        yield [((*path, key), inner, "") for key, inner in siblings.items()], False
    for key, inner in value.items():
        inner_path = (*path, key)
        if key in tables:
            yield [(inner_path, {name: row}, name) for name, row in tables[key].items()], True
        elif isinstance(inner, dict) and not _have_common_field(siblings):
            yield from find_row_groups(inner, inner_path)
        elif isinstance(inner, list) and any(isinstance(item, dict) for item in inner):
            yield [(inner_path, item, "") for item in inner], True


def _is_table(value: JsonObject) -> bool:
    return all(isinstance(inner, dict) for inner in value.values()) and _have_common_field(value)


def _have_common_field(objects: Mapping[str, Json]) -> bool:
    """Whether there are several objects, and all of them have a plain field in common."""
    rows = [row for row in objects.values() if isinstance(row, dict)]
    fields = [{key for key, value in row.items() if not isinstance(value, dict | list)} for row in rows]
    return len(fields) > 1 and bool(set[str].intersection(*fields))
