"""The tasks of the demo, and snapshots of the company's database before and after them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cli.gateway.messages import Speaker
from shared.domain.exact_json import JsonObject

# When, and the worker's own words about it: part of a change, but nothing that could be known beforehand.
_INCIDENTAL = frozenset({"decided_at", "note", "reason", "subject", "message", "created_at", "place"})
_COUNT = "writes"  # where the company counts what it applied
_KEYS = "idempotency_keys"  # where it notes what it did under which of its callers' keys


class BookChange(NamedTuple):
    """One changed cell of the database; a new or removed row counts with each of its cells."""

    table: str
    row: str
    column: str
    value: str | int | None

    def as_json(self) -> JsonObject:
        return {"table": self.table, "row": self.row, "column": self.column, "value": self.value}


@dataclass(frozen=True)
class BooksSnapshot:
    """A snapshot of every table, and the writes that the company had counted by then."""

    cells: dict[tuple[str, str, str], str | int | None]
    writes: tuple[str, ...]

    @classmethod
    def read(cls, database: Path) -> "BooksSnapshot":
        """Read a snapshot from the database file, whatever tables it has, without asking the company."""
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)) as connection:
            connection.row_factory = sqlite3.Row
            cells = {
                place: value for table in _list_tables(connection) for place, value in _list_cells(connection, table)
            }
            writes = connection.execute("SELECT tool FROM writes ORDER BY number").fetchall()
        return cls(cells, tuple(row["tool"] for row in writes))

    def changes_since(self, before: "BooksSnapshot") -> tuple[BookChange, ...]:
        places = sorted(self.cells.keys() | before.cells.keys())
        return tuple(
            BookChange(*place, self.cells.get(place))
            for place in places
            if self.cells.get(place) != before.cells.get(place)
        )

    def writes_since(self, before: "BooksSnapshot") -> tuple[str, ...]:
        """The tools of the writes that the company applied since ``before``, in order."""
        return self.writes[len(before.writes) :]

    def ids(self, table: str, column: str, value: str) -> tuple[str, ...]:
        """The ids of the rows with that value in that column of a table, sorted."""
        return tuple(
            sorted(
                row for (name, row, cell), found in self.cells.items() if (name, cell, found) == (table, column, value)
            )
        )


def _list_tables(connection: sqlite3.Connection) -> list[str]:
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN (?, ?)"
    return [row["name"] for row in connection.execute(sql, (_COUNT, _KEYS)).fetchall()]


def _list_cells(connection: sqlite3.Connection, table: str) -> Iterator[tuple[tuple[str, str, str], str | int | None]]:
    for row in connection.execute(f'SELECT rowid AS place, * FROM "{table}"').fetchall():  # noqa: S608  its own name
        key = str(row["id"] if "id" in row.keys() else row["place"])  # noqa: SIM118  a Row iterates over values
        yield from (((table, key, column), row[column]) for column in row.keys() if column not in _INCIDENTAL)  # noqa: SIM118


CLAIMANT = Speaker("casey")
MANAGER = Speaker("dana", ("approver",), ("manager",))


@dataclass(frozen=True)
class DemoTurn:
    """One turn, and the state its task must be in afterwards. Only the last turn may write."""

    text: str
    then: str
    by: Speaker = CLAIMANT


@dataclass(frozen=True)
class IdsWhere:
    """An expected answer: the ids of the rows with that value, as an exact JSON list."""

    table: str
    column: str
    value: str


@dataclass(frozen=True)
class DemoTask:
    """A task and what must come of it.

    ``writes``: the tools of all writes that the company must have counted, in order. ``notices``: those of them that
    are sent and that no read can show. ``tells``: what the task's events must have said.
    """

    name: str
    shows: str
    turns: tuple[DemoTurn, ...]
    changes: tuple[BookChange, ...] = ()
    writes: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    answer: IdsWhere | None = None
    process_type: str = ""  # empty: whichever
    passes: tuple[str, ...] = ()  # states that it must have walked through
    avoids: tuple[str, ...] = ()  # states that it must not have reached
    faults: str = ""  # how the company misbehaves meanwhile
    tells: tuple[tuple[str, str], ...] = ()  # entries of some event's data; empty: whatever it is
    escalated: bool = False
