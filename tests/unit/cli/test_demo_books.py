"""The picture of the company's database: every table, and each write that was counted."""

import sqlite3
from contextlib import closing
from pathlib import Path

from cli.demo.books import BookChange, Books


def _database(folder: Path, *statements: str) -> Path:
    path = folder / "books.sqlite3"
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_changes_of_any_table_and_counted_writes_are_seen(tmp_path: Path) -> None:
    """Also of a table that the demo has never heard of; when something happened is no change."""
    path = _database(
        tmp_path,
        "CREATE TABLE writes (number INTEGER PRIMARY KEY, tool TEXT)",
        "CREATE TABLE odd (id TEXT, colour TEXT, decided_at TEXT)",
        "INSERT INTO odd VALUES ('O-1', 'red', NULL)",
    )
    before = Books.read(path)
    _database(tmp_path, "UPDATE odd SET colour = 'blue', decided_at = 'now'", "INSERT INTO writes VALUES (1, 'paint')")
    after = Books.read(path)
    assert after.changes_since(before) == (BookChange("odd", "O-1", "colour", "blue"),)
    assert after.writes_since(before) == ("paint",)
