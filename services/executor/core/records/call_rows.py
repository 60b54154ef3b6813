"""The rows of one call that takes a list: what each says, and the call as it would be with this row alone."""

from collections.abc import Iterator, Sequence
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

    def each(self) -> Iterator[JsonObject]:
        """Yields the call as it would be with each innermost row alone; the call itself if it has no rows."""
        if not self.rows:
            yield self.naming
        for row in self.rows:
            yield from row.each()


def rows_of_call(arguments: JsonObject) -> CallRows:
    """The arguments with the rows of their lists of objects, and of tables keyed by id, however deep."""
    return _split_rows(arguments, arguments)


def _split_rows(figures: JsonObject, naming: JsonObject) -> CallRows:
    rows: list[CallRows] = []
    for path, items in [*_lists_of_objects(figures, ())]:
        figures = _put_at(figures, path, [])
        rows += (_split_rows(_put_at({}, path, item), _put_at(naming, path, item)) for item in items)
    return CallRows(arguments_of(figures), naming, rows)


def _lists_of_objects(value: JsonObject, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Sequence[Json]]]:
    """Yields what has rows, with the names on the way to each."""
    for key, inner in value.items():
        if isinstance(inner, dict):
            if is_keyed(inner):
                yield (*path, key), [*inner.values()]
            else:
                yield from _lists_of_objects(inner, (*path, key))
        elif isinstance(inner, list) and any(isinstance(item, dict) for item in inner):
            yield (*path, key), inner


def _put_at(value: JsonObject, path: tuple[str, ...], item: Json) -> JsonObject:
    head, *rest = path
    inner = value.get(head)
    below = _put_at(inner if isinstance(inner, dict) else {}, tuple(rest), item) if rest else item
    return {**value, head: below}
