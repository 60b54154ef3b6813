"""What a run changed in the world, row by row: to see what was done beside what was asked."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from pydantic import JsonValue

from shared.contracts.assessment.messages import JsonObject

_DERIVED = frozenset({"threads", "folders", "labels", "query", "summary"})  # these follow from other rows


class Difference(NamedTuple):
    """A row of a modality's table (``email``, ``emails``, its id) that was added, removed or changed.

    ``fields``: which of a changed row's fields differ.
    """

    modality: str
    table: str
    key: str
    kind: Literal["added", "removed", "changed"]
    fields: tuple[str, ...] = ()


def differences(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> list[Difference]:
    """The rows that differ, by modality, table and key.

    A table is an object of rows by id, or a list of rows with ids.
    """
    differences_found: list[Difference] = []
    for modality in sorted({*before, *after} - {"time"}):
        old, new = tables_of(before.get(modality)), tables_of(after.get(modality))
        for table in sorted({*old, *new}):
            differences_found += _row_differences(modality, table, old.get(table, {}), new.get(table, {}))
    return differences_found


def _row_differences(
    modality: str, table: str, old: Mapping[str, JsonObject], new: Mapping[str, JsonObject]
) -> Iterator[Difference]:
    for key in sorted({*old, *new}):
        if key not in old:
            yield Difference(modality, table, key, "added")
        elif key not in new:
            yield Difference(modality, table, key, "removed")
        elif fields := _changed_fields(old[key], new[key]):
            yield Difference(modality, table, key, "changed", fields)


def _changed_fields(old: JsonObject, new: JsonObject) -> tuple[str, ...]:
    return tuple(sorted(name for name in {*old, *new} if old.get(name) != new.get(name)))


def tables_of(state: JsonValue) -> dict[str, dict[str, JsonObject]]:
    """The tables of a modality's state: name -> id -> row."""
    if not isinstance(state, dict):
        return {}
    tables = {name: _rows_by_id(value) for name, value in state.items() if name not in _DERIVED}
    return {name: rows for name, rows in tables.items() if rows}


def _rows_by_id(value: JsonValue) -> dict[str, JsonObject]:
    if isinstance(value, dict):
        rows = {key: row for key, row in value.items() if isinstance(row, dict)}
        return rows if len(rows) == len(value) else {}
    if isinstance(value, list):
        listed = [row for row in value if isinstance(row, dict)]
        return {key: row for row in listed if (key := _row_id(row))}
    return {}


def _row_id(row: JsonObject) -> str:
    """A row's own id: the first of its fields that is called so."""
    return next((str(value) for name, value in row.items() if name.endswith("_id") and value), "")
