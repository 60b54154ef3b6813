"""The demo's judgement: each way a task can go wrong has its sentence, and a change of any table is seen."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.gateway.messages import Event, TaskView
from examples.demo.books import MANAGER, BookChange, BooksSnapshot, DemoTask, DemoTurn, IdsWhere
from examples.demo.checks import ObservedTask, find_problems
from shared.domain.exact_json import Json
from tests.each_row import each_row

CELL = ("expenses", "EXP-1", "status")
PENDING = BooksSnapshot({CELL: "pending"}, ())
APPROVED = BooksSnapshot({CELL: "approved"}, ("approve_expense",))
TASK = DemoTask(
    "a write",
    "a claim is written",
    (DemoTurn("Approve it.", "input-required"), DemoTurn("approve", "completed", MANAGER)),
    (BookChange(*CELL, "approved"),),
    ("approve_expense",),
    passes=("ASSESS", "MUTATE"),
    avoids=("ESCALATE",),
)
METADATA: Mapping[str, Json] = {
    "states": ["DECOMPOSE", "ASSESS", "MUTATE", "COMPLETE"],
    "writes": [{"tool": "approve_expense", "status": "verified"}],
}


def _view(state: str, answer: str = "Done.", metadata: Mapping[str, Json] = METADATA) -> TaskView:
    return TaskView("t", state, answer, metadata)


def _event(**data: Json) -> Event:
    return Event("1", "note", datetime(2026, 1, 1, tzinfo=UTC), data)


GOOD = ObservedTask(TASK, (_view("input-required"), _view("completed")), PENDING, (PENDING,), APPROVED, 1.0)


def test_a_task_that_did_exactly_what_it_should_has_no_problems() -> None:
    assert find_problems(GOOD) == ()


def _told(answer: str = "Done.", **metadata: Json) -> ObservedTask:
    """As it should be but for the answer or some of the metadata."""
    return replace(GOOD, views=(GOOD.views[0], _view("completed", answer, {**METADATA, **metadata})))


@pytest.mark.promise("demo.fails_loudly", "demo.checks")
@each_row(
    ("observed", "sentence"),
    (replace(GOOD, views=(_view("completed"),)), "not input-required"),
    (replace(GOOD, waiting=(APPROVED,)), "while the task waited"),
    (replace(GOOD, after=PENDING), "counted 0 writes"),
    (
        replace(GOOD, after=BooksSnapshot({**APPROVED.cells, ("orders", "O", "x"): 1}, APPROVED.writes)),
        "the database changed in",
    ),
    (_told(states=["ASSESS"]), "not through"),
    (_told(states=["ASSESS", "MUTATE", "ESCALATE"]), "reached ESCALATE"),
    (_told(writes=[]), "reported no write, expected approve_expense as verified"),
    (_told(" "), "no answer"),
    (replace(GOOD, task=replace(TASK, process_type="payroll")), "not as payroll"),
    (replace(GOOD, task=replace(TASK, escalated=True)), "was not escalated"),
    (
        replace(GOOD, task=replace(TASK, tells=(("now_called", "state"),)), events=(_event(now_called="other"),)),
        "says now_called=state",
    ),
    (replace(GOOD, task=replace(TASK, tells=(("silent", ""),))), "says silent"),
)
def test_each_thing_that_does_not_hold_is_named(observed: ObservedTask, sentence: str) -> None:
    assert any(sentence in problem for problem in find_problems(observed))


@each_row(("answer", "holds"), [('["EXP-1"]', True), ('["EXP-2"]', False), ("EXP-1", False)])
def test_a_question_must_be_answered_with_the_exact_list(answer: str, holds: bool) -> None:
    task = DemoTask("q", "a question", (DemoTurn("?", "completed"),), answer=IdsWhere("expenses", "status", "pending"))
    view = _view("completed", answer, {"states": [], "writes": []})
    assert (find_problems(ObservedTask(task, (view,), PENDING, (), PENDING, 1.0)) == ()) is holds


def test_a_row_that_vanishes_is_a_change() -> None:
    assert BooksSnapshot({}, ()).changes_since(PENDING) == (BookChange(*CELL, None),)


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
    before = BooksSnapshot.read(path)
    _database(tmp_path, "UPDATE odd SET colour = 'blue', decided_at = 'now'", "INSERT INTO writes VALUES (1, 'paint')")
    after = BooksSnapshot.read(path)
    assert after.changes_since(before) == (BookChange("odd", "O-1", "colour", "blue"),)
    assert after.writes_since(before) == ("paint",)
