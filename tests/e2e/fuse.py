"""A fuse that kills its own process at one step of one session: before the step, or just after it."""

import os
import signal
from collections.abc import Awaitable
from contextvars import ContextVar
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

Side = Literal["before", "after"]
T = TypeVar("T")


class Boundary(NamedTuple):
    """Where the process dies: at the ``step``-th step of a turn's first attempt, counted from 1."""

    step: int
    side: Side


class Step(NamedTuple):
    """One line of the log: a step that began. A session's first attempt is the one that is struck."""

    session: str
    attempt: int
    number: int
    name: str


class Fuse:
    """Counts the steps of one attempt, writes each down before it begins, and strikes at the boundary."""

    def __init__(self, log: Path, session: str, attempt: int) -> None:
        self._log = log
        self._session = session
        self._attempt = attempt
        self._strikes = boundary_of(session) if attempt == 1 else None
        self._count = 0

    async def step(self, name: str, doing: Awaitable[T]) -> T:
        self._count += 1
        number = self._count
        self._note(Step(self._session, self._attempt, number, name))
        self._pass(Boundary(number, "before"))
        result = await doing
        self._pass(Boundary(number, "after"))
        return result

    def _pass(self, boundary: Boundary) -> None:
        if boundary == self._strikes:
            os.kill(os.getpid(), signal.SIGKILL)

    def _note(self, step: Step) -> None:
        """One write of one line: whole, whoever else writes, and there even if the next moment is the last."""
        with self._log.open("a") as log:
            log.write("\t".join(map(str, step)) + "\n")


FUSE: ContextVar[Fuse] = ContextVar("fuse")


def session_of(boundary: Boundary, again: int = 0) -> str:
    return f"strike-{boundary.step}-{boundary.side}-{again}"


def boundary_of(session: str) -> Boundary | None:
    """The boundary that a session's name asks for; None for other names."""
    match session.split("-"):
        case ["strike", step, "before", _]:
            return Boundary(int(step), "before")
        case ["strike", step, "after", _]:
            return Boundary(int(step), "after")
        case _:
            return None


def steps(log: Path) -> tuple[Step, ...]:
    """Every step that any process began, in order."""
    rows = (line.split("\t") for line in log.read_text().splitlines())
    return tuple(Step(session, int(attempt), int(number), name) for session, attempt, number, name in rows)
