"""What the company really did, read straight from its database file: for tests, demos and audits."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias, cast

from examples.company.tables import TABLES
from shared.domain.exact_json import JsonObject, loads_object

__all__ = ["TABLES", "Cell", "LedgerWrite", "count", "row", "rows", "writes"]

Cell: TypeAlias = "str | int | None"


class LedgerWrite(NamedTuple):
    """One write that took hold. ``arguments`` are canonical: money as a decimal string with two places."""

    number: int
    tool: str
    arguments: JsonObject
    at: str


def writes(database: Path, tool: str | None = None) -> tuple[LedgerWrite, ...]:
    """Every write applied, in order; those of one tool if asked."""
    sql = "SELECT number, tool, arguments, at FROM writes WHERE ? IS NULL OR tool = ? ORDER BY number"
    with _open_for_reading(database) as connection:
        rows = connection.execute(sql, (tool, tool)).fetchall()
    return tuple(LedgerWrite(number, name, loads_object(arguments), at) for number, name, arguments, at in rows)


def count(database: Path, tool: str | None = None) -> int:
    """How many writes were applied: it counts, it does not deduplicate."""
    return len(writes(database, tool))


def rows(database: Path, table: str) -> tuple[dict[str, Cell], ...]:
    """All rows of one of ``TABLES`` by id, as they are stored: money in integer cents.

    Raises ``ValueError`` for any other table.
    """
    if table not in TABLES:
        raise ValueError(f"unknown table {table!r}; known tables: {', '.join(TABLES)}")
    with _open_for_reading(database) as connection:
        connection.row_factory = sqlite3.Row
        found = connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()  # noqa: S608 - one of TABLES
    return tuple(cast("dict[str, Cell]", dict(row)) for row in found)


def row(database: Path, table: str, key: str) -> dict[str, Cell] | None:
    """The row of that id, or None."""
    return next((found for found in rows(database, table) if found["id"] == key), None)


@contextmanager
def _open_for_reading(database: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)) as connection:
        yield connection
