"""Views that are made once and kept until what they show changes."""

from collections.abc import Callable
from typing import Generic, TypeVar

from pydantic_core import to_json

from services.simulator.core.records import JsonObject, R, Table, TableStore

T = TypeVar("T")


class VersionedView(Generic[T]):
    """A view of a store, made again only after a change. Whoever gets it must not change it."""

    def __init__(self, store: TableStore, make: Callable[[], T]) -> None:
        self._store = store
        self._make = make
        self._made: tuple[int, T] | None = None

    def __call__(self) -> T:
        if self._made is None or self._made[0] != self._store.version:
            self._made = (self._store.version, self._make())
        return self._made[1]


class RenderedRows(Generic[R]):
    """The rows of a table as JSON: each is written once, not at every look at the state."""

    def __init__(self, table: Table[R], view: Callable[[R], JsonObject]) -> None:
        self._table = table
        self._view = view
        self._objects: dict[str, JsonObject] = {}
        self._texts: dict[str, bytes] = {}
        table.watch(self)

    def replace(self, key: str, before: R | None, after: R | None) -> None:  # noqa: ARG002  the shape of an index
        self._objects.pop(key, None)
        self._texts.pop(key, None)

    def row(self, key: str) -> JsonObject:
        if key not in self._objects:
            self._objects[key] = self._view(self._table[key])
        return self._objects[key]

    def rows_by_key(self) -> JsonObject:
        """All rows as JSON, by their keys."""
        return {key: self.row(key) for key in self._table}

    def as_bytes(self) -> bytes:
        """All rows as UTF-8 JSON, by their keys."""
        return b"{%s}" % b",".join(self._text(key) for key in self._table)

    def _text(self, key: str) -> bytes:
        if key not in self._texts:
            self._texts[key] = to_json(key) + b":" + to_json(self.row(key))
        return self._texts[key]


def join_objects(first: bytes, *others: bytes) -> bytes:
    """One JSON object with the fields of all of these."""
    inner = [text[1:-1] for text in (first, *others)]
    return b"{%s}" % b",".join(text for text in inner if text)


def row_as_json(row: R) -> JsonObject:
    """A row as JSON, with all its fields."""
    return row.model_dump(mode="json")
