"""The company's database: one SQLite file in WAL mode, where each write is counted with its effect."""

import sqlite3
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import TypeAlias

from examples.company import money
from examples.company.tables import SCHEMA
from shared.domain.exact_json import Json, JsonObject, dumps, loads

Value: TypeAlias = "str | int | None"
Clock: TypeAlias = Callable[[], datetime]

_PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=5000")


class ToolRefused(Exception):
    """The company's own rules forbid this write; nothing was changed. The message is a sentence for people."""


class AlreadyDone(ToolRefused):
    """What may happen once only has happened before."""


class KeyReused(ToolRefused):
    """The idempotency key belongs to another call."""


class CompanyBooks:
    """The tables, and the count of every write applied to them. For one thread."""

    def __init__(self, database: Path, clock: Clock) -> None:
        self._clock = clock
        self.renamed: Mapping[str, str] = {}  # "table.column" to the name under which it is shown now
        self.pretends = False  # whether writes are only pretended: answered like any other, and taken back
        self._connection = sqlite3.connect(database, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        for pragma in _PRAGMAS:
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.executescript(SCHEMA.read_text(encoding="utf-8"))

    def close(self) -> None:
        self._connection.close()

    def now(self) -> str:
        return self._clock().isoformat(timespec="milliseconds")

    def today(self) -> date:
        return self._clock().date()

    def find_rows(self, sql: str, *values: Value) -> list[JsonObject]:
        """The rows as JSON objects; a column ``x_cents`` becomes ``x``, a decimal string, ``x_flag`` a yes or no."""
        return [_row_as_json(row) for row in self._connection.execute(sql, values)]

    def find_row(self, sql: str, *values: Value) -> JsonObject | None:
        """The first row, or None."""
        return next(iter(self.find_rows(sql, *values)), None)

    def find_number(self, sql: str, *values: Value) -> int:
        """The single whole number that a query yields; 0 if it yields none."""
        row = self._connection.execute(sql, values).fetchone()
        return 0 if row is None or row[0] is None else int(row[0])

    def execute(self, sql: str, *values: Value) -> None:
        self._connection.execute(sql, values)

    def next_id(self, table: str, prefix: str, first: int) -> str:
        """The next free id of a table, such as ``REF-3007``: one more than the highest."""
        highest = self.find_number(
            f"SELECT MAX(CAST(SUBSTR(id, ?) AS INTEGER)) FROM {table}",  # noqa: S608 - our own table names
            len(prefix) + 2,
        )
        return f"{prefix}-{max(highest + 1, first)}"

    def apply_write(self, tool: str, arguments: JsonObject, effect: Callable[[], Json], key: str | None = None) -> Json:
        """Apply one write and count it, in one transaction; a refusal or an error leaves no trace.

        A call whose ``key`` was seen before gets the first one's result again, and nothing is written.
        """
        self.execute("BEGIN IMMEDIATE")
        try:
            result = self._write_or_recall(tool, arguments, effect, key)
        except BaseException:
            self.execute("ROLLBACK")
            raise
        self.execute("ROLLBACK" if self.pretends else "COMMIT")
        self.checkpoint()
        return result

    def _write_or_recall(self, tool: str, arguments: JsonObject, effect: Callable[[], Json], key: str | None) -> Json:
        said = dumps(arguments)
        known = self._connection.execute("SELECT * FROM idempotency_keys WHERE key = ?", (key,)).fetchone()
        if known is not None and (known["tool"], known["arguments"]) != (tool, said):
            raise KeyReused(f"The idempotency key {key} belongs to another call.")
        if known is not None:
            return loads(known["result"])
        result = effect()
        self.execute("INSERT INTO writes (tool, arguments, at) VALUES (?, ?, ?)", tool, said, self.now())
        if key is not None:
            row = (key, tool, said, dumps(result), self.now())
            self.execute("INSERT INTO idempotency_keys VALUES (?, ?, ?, ?, ?)", *row)
        return result

    def checkpoint(self) -> None:
        """Move the log into the main file, so that a plain copy of the file shows every write."""
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _row_as_json(row: sqlite3.Row) -> JsonObject:
    return dict(_shown_field(key, row[key]) for key in row.keys())  # noqa: SIM118 - iterating a Row yields its values


def _shown_field(key: str, value: Value) -> tuple[str, Json]:
    if key.endswith("_flag"):
        return key.removesuffix("_flag"), bool(value)
    if not key.endswith("_cents"):
        return key, value
    return key.removesuffix("_cents"), money.spell(value) if isinstance(value, int) else value
