"""A whole stack whose executors can be killed at any step, and tasks for them that do not touch each other's rows."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from cli.stack.child import Child
from tests.e2e.whole_stack import WholeStack, whole_stack

FIRST_ROW = 770_000
_EMPLOYEE = "INSERT INTO employees (id, name, email, phone, title, department) VALUES (?, ?, ?, ?, ?, ?)"


class MortalStack(NamedTuple):
    """``log``: every step that any executor began."""

    whole: WholeStack
    log: Path


@asynccontextmanager
async def mortal_stack(executors: int, rows: int) -> AsyncIterator[MortalStack]:
    """No learner runs, so that each task knows what the first one knew. Nothing is archived, so that journals stay."""
    async with whole_stack(LEASE_SECONDS="3", TOOL_TIMEOUT="1.5", EXECUTOR_CAPACITY="1") as whole:
        immortal, log = whole.child("executor-1"), whole.stack.logs / "steps.log"
        await immortal.stop()
        await whole.child("learner").stop()
        log.touch()
        environ = {**immortal.spec.environ, "PORT": "0", "STEP_LOG": str(log), "ARCHIVE_URL": ""}
        arguments = ("tests.e2e.mortal_executor", str(executors))
        _more_rows(whole.database, range(FIRST_ROW, FIRST_ROW + rows))
        mortals = replace(immortal.spec, name="mortals", arguments=arguments, environ=environ)
        whole.started.append(Child.start(mortals, whole.stack.logs))
        yield MortalStack(whole, log)


def _more_rows(database: Path, numbers: range) -> None:
    people = [(f"EMP-{n}", f"Kim {n}", f"kim{n}@people.example", "+1 555 0000", "Clerk", "Finance") for n in numbers]
    assets = [(f"AST-{n}", "Notebook", f"SN-{n}", 100) for n in numbers]
    with closing(sqlite3.connect(database, timeout=5)) as books, books:
        books.executemany(_EMPLOYEE, people)
        books.executemany("INSERT INTO assets (id, item, serial_number, value_cents) VALUES (?, ?, ?, ?)", assets)
