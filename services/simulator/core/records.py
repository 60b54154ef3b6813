"""Tables of frozen records that note every change, so that what an action did can be taken back exactly."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from pydantic import ConfigDict, JsonValue
from typing_extensions import override

from shared.contracts.base import NullableModel

JsonObject: TypeAlias = dict[str, JsonValue]


class StoredRow(NullableModel):
    """A row. It is never changed: ``table.put(key, row.model_copy(update={...}))`` replaces it."""

    model_config = ConfigDict(frozen=True, extra="ignore")


R = TypeVar("R", bound=StoredRow)
R_contra = TypeVar("R_contra", bound=StoredRow, contravariant=True)


class PlacedRow(NamedTuple):
    """A row and its place in the order."""

    position: int
    row: StoredRow


Rows: TypeAlias = Mapping[str, Mapping[str, PlacedRow]]


class TableChange(NamedTuple):
    """One row before and after; ``None`` where there was or is no such row. ``position`` is its place in the order."""

    table: str
    key: str
    position: int
    before: StoredRow | None
    after: StoredRow | None


class Index(Protocol[R_contra]):
    """What a table keeps up to date beside its rows, through actions, undo and imports alike."""

    def replace(self, key: str, before: R_contra | None, after: R_contra | None) -> None:
        """Enters a row that came (no ``before``), changed, or went (no ``after``)."""


class Table(Mapping[str, R], Generic[R]):
    """Rows by key, iterated in the order in which they came, which undo restores as well."""

    def __init__(self, name: str, kind: type[R], note: Callable[[TableChange], None]) -> None:
        self.name = name
        self.kind = kind
        self._note = note
        self._rows: dict[str, R] = {}
        self._positions: dict[str, int] = {}
        self._next = 0
        self._indexes: list[Index[R]] = []

    @override
    def __getitem__(self, key: str) -> R:
        return self._rows[key]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    @override
    def __len__(self) -> int:
        return len(self._rows)

    def watch(self, index: Index[R]) -> None:
        """Tell an index of the rows there are and of every change from now on."""
        self._indexes.append(index)
        for key, row in self._rows.items():
            index.replace(key, None, row)

    def position(self, key: str) -> int:
        """The row's place in the order: it stays while the row does. Raises ``KeyError``."""
        return self._positions[key]

    def put(self, key: str, row: R) -> None:
        """Add the row at the end, or replace the one with that key where it stands."""
        position = self._positions.get(key, self._next)
        self._apply(TableChange(self.name, key, position, self._rows.get(key), row))

    def remove(self, key: str) -> None:
        """Removes the row. Raises ``KeyError`` if there is none."""
        self._apply(TableChange(self.name, key, self._positions[key], self._rows[key], None))

    def write(self, key: str, position: int, row: StoredRow | None) -> None:
        """Sets or (None) removes the row at this position without recording the change, for undo and redo."""
        before = self._rows.get(key)
        if row is None:
            self._drop(key)
            after = None
        else:
            after = self._require_kind(row)
            self._set(key, position, after)
        for index in self._indexes:
            index.replace(key, before, after)

    def placed_rows(self) -> Mapping[str, PlacedRow]:
        """The rows as they are now, which later changes leave alone."""
        return {key: PlacedRow(self._positions[key], row) for key, row in self._rows.items()}

    def empty(self) -> None:
        """Drop every row, without noting it."""
        for key in reversed(list(self._rows)):  # from the end, where indexes drop cheaply
            self.write(key, 0, None)
        self._next = 0

    def _apply(self, change: TableChange) -> None:
        self.write(change.key, change.position, change.after)
        self._note(change)

    def _set(self, key: str, position: int, row: R) -> None:
        late = key not in self._rows and position < self._next
        self._rows[key] = row
        self._positions[key] = position
        self._next = max(self._next, position + 1)
        if late:  # a removed row comes back to its place
            self._rows = {name: self._rows[name] for name in sorted(self._rows, key=self._positions.__getitem__)}

    def _drop(self, key: str) -> None:
        self._rows.pop(key, None)
        self._positions.pop(key, None)

    def _require_kind(self, row: StoredRow) -> R:
        if not isinstance(row, self.kind):
            raise TypeError(f"{type(row).__name__} is no row of {self.name}")
        return row


class TableStore:
    """The tables of one modality. ``version`` grows with every change, undo included: what caches are keyed by."""

    def __init__(self) -> None:
        self.version = 0
        self._tables: dict[str, _WritableTable] = {}
        self._noted: list[TableChange] = []

    def table(self, name: str, kind: type[R]) -> Table[R]:
        """A new, empty table of that store."""
        table = Table(name, kind, self._record)
        self._tables[name] = table
        return table

    @contextmanager
    def recording(self) -> Iterator[list[TableChange]]:
        """Yields a list that holds the changes made inside, complete at the end; an error takes them all back."""
        noted: list[TableChange] = []
        self._noted = noted
        try:
            yield noted
        except BaseException:
            self.take_back(noted)
            raise
        finally:
            self._noted = []

    def take_back(self, changes: Sequence[TableChange]) -> None:
        """Takes the changes back, the newest first."""
        for change in reversed(changes):
            self._write(change, change.before)

    def do_again(self, changes: Sequence[TableChange]) -> None:
        """Makes changes again that were taken back, the oldest first."""
        for change in changes:
            self._write(change, change.after)

    def rows(self) -> Rows:
        """All rows of all tables as they are now; cheap, since rows are never changed."""
        return {name: table.placed_rows() for name, table in self._tables.items()}

    def replace(self, rows: Rows) -> None:
        """Replaces all tables by rows that ``rows`` returned earlier."""
        self.clear()
        for name, stored_rows in rows.items():
            for key, (position, row) in stored_rows.items():
                self._tables[name].write(key, position, row)

    def clear(self, *, keep: Sequence[str] = ()) -> None:
        """Empty the tables, except those named."""
        self.version += 1
        for name, table in self._tables.items():
            if name not in keep:
                table.empty()

    def rows_as_json(self, rows: Rows) -> JsonObject:
        """Rows as JSON, for a saved world; their places are kept."""
        return {
            name: [[key, position, _json(row)] for key, (position, row) in stored_rows.items()]
            for name, stored_rows in rows.items()
        }

    def rows_from_json(self, written: Mapping[str, Sequence[tuple[str, int, JsonValue]]]) -> Rows:
        """The inverse of ``rows_as_json``; raises ``ValueError`` for what it did not write."""
        if strange := written.keys() - self._tables.keys():
            raise ValueError(f"no tables of this modality: {', '.join(sorted(strange))}")
        return {
            name: {
                key: PlacedRow(place, self._tables[name].kind.model_validate(row)) for key, place, row in stored_rows
            }
            for name, stored_rows in written.items()
        }

    def changes_as_json(self, changes: Sequence[TableChange]) -> list[JsonValue]:
        """Changes as JSON, for a saved world."""
        return [[c.table, c.key, c.position, _json(c.before), _json(c.after)] for c in changes]

    def changes_from_json(self, changes: Sequence[Sequence[JsonValue]]) -> list[TableChange]:
        """The inverse of ``changes_as_json``; raises ``ValueError`` for what it did not write."""
        return [self._change(*items) for items in changes]

    def _change(self, table: JsonValue, key: JsonValue, position: JsonValue, *rows: JsonValue) -> TableChange:
        if not isinstance(position, int) or str(table) not in self._tables or len(rows) != 2:
            raise ValueError(f"no change of this modality: {table!r} {key!r}")
        before, after = (None if row is None else self._tables[str(table)].kind.model_validate(row) for row in rows)
        return TableChange(str(table), str(key), position, before, after)

    def _record(self, change: TableChange) -> None:
        self.version += 1
        self._noted.append(change)

    def _write(self, change: TableChange, row: StoredRow | None) -> None:
        self.version += 1
        self._tables[change.table].write(change.key, change.position, row)


class _WritableTable(Protocol):
    """A table of any kind."""

    @property
    def kind(self) -> type[StoredRow]: ...

    def write(self, key: str, position: int, row: StoredRow | None) -> None: ...

    def placed_rows(self) -> Mapping[str, PlacedRow]: ...

    def empty(self) -> None: ...


def _json(row: StoredRow | None) -> JsonValue:
    return None if row is None else row.model_dump(mode="json")
