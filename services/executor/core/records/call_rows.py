"""The rows of a call that takes several things at once: what each row has, and the call as if it had that row alone."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.executor.core.records.argument_rows import RowAtPath, find_row_groups
from services.executor.core.records.field_values import Fields, fields_of_arguments
from services.executor.core.records.references import set_at_path
from shared.domain.exact_json import JsonObject


class CallOrRow(NamedTuple):
    """A call, or one of its rows. For the first row of ``{"to": 7, "rows": [{"id": 1, "ids": [{"n": 2}]}, ...]}``:

    ``fields``: name and value of its own fields: ``id``. ``groups``: the rows within it: ``{"n": 2}``.
    ``alone``: the row where it stands, without its call: ``{"rows": {"id": 1, "ids": [{"n": 2}]}}``.
    ``arguments``: the call as if it had that row alone: ``{"to": 7, "rows": {"id": 1, "ids": [{"n": 2}]}}``.
    ``outer``: the same without the rows within it: ``{"to": 7, "rows": {"id": 1, "ids": []}}``.
    ``key``: the row's key in its table, else empty. For a call, ``alone`` and ``arguments`` are its arguments.
    """

    fields: Fields
    alone: JsonObject
    arguments: JsonObject
    outer: JsonObject
    key: str = ""
    groups: Sequence["RowGroup"] = ()

    def list_innermost_rows(self) -> Iterator["CallOrRow"]:
        """Yields each row that has no rows within it; itself if it has none."""
        if not self.groups:
            yield self
        for group in self.groups:
            for row in group.rows:
                yield from row.list_innermost_rows()


class RowGroup(NamedTuple):
    """The rows of one list or table in the arguments (``is_list``), or sibling objects: a sender and a receiver."""

    rows: Sequence[CallOrRow]
    is_list: bool


def split_into_rows(arguments: JsonObject) -> CallOrRow:
    """The call with the rows of its arguments: items of lists, entries of tables, sibling objects, at any depth."""
    return _split_call_or_row(arguments, arguments, "")


def _split_call_or_row(alone: JsonObject, arguments: JsonObject, key: str) -> CallOrRow:
    """The call or row with the rows within it; the arguments are what ``CallOrRow`` keeps under the same names."""
    row_groups = [*find_row_groups(alone, ())]
    bare, outer = alone, arguments
    for path in {path for placed, _ in row_groups for path, *_ in placed}:
        bare, outer = set_at_path(bare, path, []), set_at_path(outer, path, [])

    def split(placed: RowAtPath) -> CallOrRow:
        path, row, row_key = placed
        return _split_call_or_row(set_at_path({}, path, row), set_at_path(outer, path, row), row_key)

    groups = [RowGroup([*map(split, placed)], is_list) for placed, is_list in row_groups]
    return CallOrRow(fields_of_arguments(bare), alone, arguments, outer, key, groups)
