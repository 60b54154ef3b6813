"""The rows of one call that takes several things at once: what each says, and the call as it would be with it alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.records.record_graph import Fields, arguments_of
from services.executor.core.tools.record_tree import is_keyed
from shared.domain.exact_json import Json, JsonObject


class CallRows(NamedTuple):
    """The fields of a call without its lists of objects, or of one row of these; ``rows``: those of its own lists.

    ``naming``: the whole call, of each such list only this row.
    """

    fields: Fields
    naming: JsonObject
    rows: Sequence["CallRows"] = ()

    def each(self) -> Iterator["CallRows"]:
        """Yields each innermost row; itself if it has no rows."""
        if not self.rows:
            yield self
        for row in self.rows:
            yield from row.each()


def rows_of_call(arguments: JsonObject) -> CallRows:
    """The arguments with the rows of their lists of objects, and of tables keyed by id, however deep."""
    return _split_rows(arguments, arguments)


def _split_rows(figures: JsonObject, naming: JsonObject) -> CallRows:
    found = [*_find_rows(figures, ())]
    for path, _ in found:
        figures, naming = _put_at(figures, path, []), _put_at(naming, path, [])
    rows = [_split_rows(_put_at({}, path, row), _put_at(naming, path, row)) for path, some in found for row in some]
    return CallRows(arguments_of(figures), naming, rows)


def _find_rows(value: JsonObject, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Sequence[Json]]]:
    """Yields what has rows, with the names on the way to it: lists of objects, tables keyed by id or by words, and
    objects beside each other that have a field in common.
    """
    objects = {key: inner for key, inner in value.items() if isinstance(inner, dict)}
    alike = _are_alike(objects)
    for key, inner in value.items():
        if isinstance(inner, dict):
            is_table = all(isinstance(one, dict) for one in inner.values()) and _are_alike(inner)
            if len(inner) > 1 and (is_keyed(inner) or is_table):
                yield (*path, key), [{name: one} for name, one in inner.items()]
            elif alike:
                yield (*path, key), [inner]
            else:
                yield from _find_rows(inner, (*path, key))
        elif isinstance(inner, list) and any(isinstance(item, dict) for item in inner):
            yield (*path, key), inner


def _are_alike(objects: Mapping[str, Json]) -> bool:
    """Whether there are several objects, and all have a plain field in common."""
    fields = [
        {key for key, value in one.items() if not isinstance(value, dict | list)}
        for one in objects.values()
        if isinstance(one, dict)
    ]
    return len(fields) > 1 and bool(set[str].intersection(*fields))


def _put_at(value: JsonObject, path: tuple[str, ...], item: Json) -> JsonObject:
    head, *rest = path
    inner = value.get(head)
    below = _put_at(inner if isinstance(inner, dict) else {}, tuple(rest), item) if rest else item
    return {**value, head: below}
