"""The rows of a call that takes several things at once: what each row has, and the call as if it had that row alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.records.field_values import Fields, fields_of_arguments
from services.executor.core.tools.record_tree import is_keyed_table
from shared.domain.exact_json import Json, JsonObject


class CallRows(NamedTuple):
    """A call, or one of its rows.

    ``groups``: the rows within it; ``fields``: its fields apart from those. For a row: ``alone``: the row itself, as if
    it were all of the arguments; ``naming``: the arguments with this row as the only one; ``outer``: the same without
    the rows within the row; ``key``: the row's key in its table.
    """

    fields: Fields
    alone: JsonObject
    naming: JsonObject
    outer: JsonObject
    key: str = ""
    groups: Sequence["ArgumentRows"] = ()

    def innermost_rows(self) -> Iterator["CallRows"]:
        """Yields each row that has no rows within it; itself if it has none."""
        if not self.groups:
            yield self
        for group in self.groups:
            for row in group.rows:
                yield from row.innermost_rows()


class ArgumentRows(NamedTuple):
    """The rows of one list or table in the arguments, or sibling objects such as a sender's and a receiver's."""

    rows: Sequence[CallRows]
    is_list: bool


_Placed = tuple[tuple[str, ...], Json, str]  # the names on the way to a row, the row, and its key in a table


def rows_of_call(arguments: JsonObject) -> CallRows:
    """The arguments with the rows of their lists of objects, tables, and sibling objects, at any depth."""
    return _split_rows(arguments, arguments, "")


def _split_rows(alone: JsonObject, naming: JsonObject, key: str) -> CallRows:
    found = [*_find_rows(alone, ())]
    bare, outer = alone, naming
    for path in {path for placed, _ in found for path, *_ in placed}:
        bare, outer = _place_at_path(bare, path, []), _place_at_path(outer, path, [])

    def split(placed: _Placed) -> CallRows:
        path, row, own = placed
        return _split_rows(_place_at_path({}, path, row), _place_at_path(outer, path, row), own)

    groups = [ArgumentRows([*map(split, placed)], is_list) for placed, is_list in found]
    return CallRows(fields_of_arguments(bare), alone, naming, outer, key, groups)


def _find_rows(value: JsonObject, path: tuple[str, ...]) -> Iterator[tuple[Sequence[_Placed], bool]]:
    """Yields each group of rows, and whether it is a list, or a table keyed by id or by words."""
    objects = {key: inner for key, inner in value.items() if isinstance(inner, dict)}
    tables = {
        key: inner for key, inner in objects.items() if len(inner) > 1 and (is_keyed_table(inner) or _is_table(inner))
    }
    beside = {key: inner for key, inner in objects.items() if key not in tables}
    if _have_common_field(beside):
        yield [((*path, key), inner, "") for key, inner in beside.items()], False
    for key, inner in value.items():
        here = (*path, key)
        if key in tables:
            yield [(here, {name: one}, name) for name, one in tables[key].items()], True
        elif isinstance(inner, dict) and not _have_common_field(beside):
            yield from _find_rows(inner, here)
        elif isinstance(inner, list) and any(isinstance(item, dict) for item in inner):
            yield [(here, item, "") for item in inner], True


def _is_table(value: JsonObject) -> bool:
    return all(isinstance(one, dict) for one in value.values()) and _have_common_field(value)


def _have_common_field(objects: Mapping[str, Json]) -> bool:
    """Whether there are several objects, and all of them have a plain field in common."""
    fields = [
        {key for key, value in one.items() if not isinstance(value, dict | list)}
        for one in objects.values()
        if isinstance(one, dict)
    ]
    return len(fields) > 1 and bool(set[str].intersection(*fields))


def _place_at_path(value: JsonObject, path: tuple[str, ...], item: Json) -> JsonObject:
    head, *rest = path
    inner = value.get(head)
    below = _place_at_path(inner if isinstance(inner, dict) else {}, tuple(rest), item) if rest else item
    return {**value, head: below}
