"""The company's database before and after a task, and what changed in between."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from examples.company import ledger
from shared.domain.exact_json import JsonObject

# When, and the worker's own words about it: part of a change, but nothing that could be known beforehand.
_INCIDENTAL = frozenset({"decided_at", "note", "reason", "created_at"})


class Change(NamedTuple):
    """One cell that is not what it was; a new or vanished row counts with each of its cells."""

    table: str
    row: str
    column: str
    value: str | int | None

    def as_json(self) -> JsonObject:
        return {"table": self.table, "row": self.row, "column": self.column, "value": self.value}


@dataclass(frozen=True)
class Books:
    """A picture of every table, and how many writes the company had counted by then."""

    cells: dict[tuple[str, str, str], str | int | None]
    writes: tuple[str, ...]

    @classmethod
    def read(cls, database: Path) -> "Books":
        cells = {
            (table, str(row["id"]), column): value
            for table in ledger.TABLES
            for row in ledger.rows(database, table)
            for column, value in row.items()
            if column not in _INCIDENTAL
        }
        return cls(cells, tuple(write.tool for write in ledger.writes(database)))

    def changes_since(self, before: "Books") -> tuple[Change, ...]:
        places = sorted(self.cells.keys() | before.cells.keys())
        return tuple(
            Change(*place, self.cells.get(place))
            for place in places
            if self.cells.get(place) != before.cells.get(place)
        )

    def writes_since(self, before: "Books") -> tuple[str, ...]:
        """The tools of the writes that the company applied in between, each time it did."""
        return self.writes[len(before.writes) :]

    def ids(self, table: str, column: str, value: str) -> tuple[str, ...]:
        """The ids of the rows of a table in which a column has that value."""
        return tuple(
            row for (name, row, cell), found in self.cells.items() if (name, cell, found) == (table, column, value)
        )
