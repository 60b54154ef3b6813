"""The companies' books: filled with the errands' rows before a run, and asked after it what was really written."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from shared.domain.exact_json import JsonObject, loads_object
from tools.chaos.chaos_tasks import IntendedWrite, RowChange, SeededRow

_PATIENCE = 5.0


class AppliedWrite(NamedTuple):
    """One write that took hold, as the company counted it in the same transaction."""

    tool: str
    arguments: JsonObject


class CompanyLedger:
    """Every write that one company applied; indexed, because every task asks."""

    def __init__(self, writes: Iterable[AppliedWrite]) -> None:
        self.writes = tuple(writes)
        self._by_tool: dict[str, list[AppliedWrite]] = defaultdict(list)
        for write in self.writes:
            self._by_tool[write.tool].append(write)

    @classmethod
    def read(cls, database: Path) -> "CompanyLedger":
        """Straight from the file: the company's own code is not asked."""
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=_PATIENCE)) as connection:
            found = connection.execute("SELECT tool, arguments FROM writes ORDER BY number").fetchall()
        return cls(AppliedWrite(str(tool), loads_object(str(arguments))) for tool, arguments in found)

    def count(self, intended: IntendedWrite) -> int:
        """How often the write took hold."""
        return len(self.applications_of(intended))

    def applications_of(self, intended: IntendedWrite) -> tuple[AppliedWrite, ...]:
        """Each time that the write took hold, right or wrong in its other arguments."""
        return tuple(write for write in self._by_tool[intended.tool] if intended.is_made_by(*write))


def plant_rows(database: Path, rows: Iterable[SeededRow]) -> None:
    """Add rows to a company's books, and money to its budgets so that none runs dry."""
    with closing(sqlite3.connect(database, timeout=_PATIENCE)) as connection, connection:
        connection.execute("UPDATE budgets SET allocated_cents = allocated_cents * 1000")
        for row in rows:
            names = ", ".join(row.cells)
            places = ", ".join("?" for _ in row.cells)
            sql = f"INSERT INTO {row.table} ({names}) VALUES ({places})"  # noqa: S608  our own names
            connection.execute(sql, tuple(row.cells.values()))


def change_row(database: Path, change: RowChange) -> None:
    """Change one row behind everybody's back, as another user of the company's system does."""
    columns = ", ".join(f"{name} = ?" for name in change.cells)
    sql = f"UPDATE {change.table} SET {columns} WHERE id = ?"  # noqa: S608  our own names
    with closing(sqlite3.connect(database, timeout=_PATIENCE)) as connection, connection:
        connection.execute(sql, (*change.cells.values(), change.key))
