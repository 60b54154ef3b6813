"""The demo's tasks at a company that misbehaves in one way at a time, and what must hold however they end.

A task ends *right*, with exactly the rows of the undisturbed run, or *honestly*: it is not reported as done, and what
it wrote by then are rows of the undisturbed run, none of them before a person's approval. Anything else is *wrong*.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from cli.gateway.messages import Speaker
from examples.company.faults import ToolFault
from examples.company.tables import all_columns
from examples.demo.books import BookChange, BooksSnapshot, DemoTask
from shared.contracts.task import Principal, TaskRecord
from shared.domain.exact_json import Json, loads
from shared.domain.words import Role, TaskState
from tests.processes.stage import Stage

TOOL_SECONDS = 0.5
_TOO_LATE_MS = 900
_COLUMNS = {f"{table}.{column.name}" for table, found in all_columns().items() for column in found}
_NO_MATTER = {"tax_rates.country": "land"}  # a rename that no task of the demo sees, so that what is shown is noted


class Misfortune(NamedTuple):
    """One thing that is wrong with the company while a task runs."""

    name: str
    faults: Mapping[str, ToolFault] = {}
    renamed: Mapping[str, str] = {}


class End(StrEnum):
    RIGHT = "right"
    HONEST = "honest"
    WRONG = "wrong"


class Ran(NamedTuple):
    """A task as it stood after its last turn, and what it left."""

    record: TaskRecord
    early: tuple[BookChange, ...]  # what was written before the last turn
    changes: tuple[BookChange, ...]
    writes: tuple[str, ...]
    books: BooksSnapshot


class Judged(NamedTuple):
    task: str
    misfortune: str
    end: End
    why: str


@dataclass
class Tally:
    """How many tasks ended in which way, for people."""

    judged: list[Judged] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        return [f"{one.task} with {one.misfortune}: {one.why}" for one in self.judged if one.end is End.WRONG]

    def __str__(self) -> str:
        ends = Counter(one.end for one in self.judged)
        total = len(self.judged)
        right = 100 * ends[End.RIGHT] // max(total, 1)
        return f"{total} runs: {ends[End.RIGHT]} right ({right} %), {ends[End.HONEST]} honest, {ends[End.WRONG]} wrong"


class Theatre:
    """One stage for many runs: before each, the company's database is what it was at first."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._first = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(stage.database, timeout=5)) as live:
            live.backup(self._first)

    async def undisturbed(self, task: DemoTask) -> Ran:
        self._stage.faults.called.clear()
        self._stage.faults.renamed.shown.clear()
        return await self.run(task, Misfortune("nothing", renamed=_NO_MATTER))

    @property
    def called(self) -> Sequence[str]:
        return [*dict.fromkeys(self._stage.faults.called)]

    @property
    def shown(self) -> Sequence[str]:
        return sorted(self._stage.faults.renamed.shown & _COLUMNS)

    async def run(self, task: DemoTask, misfortune: Misfortune) -> Ran:
        """Every turn of the task in a session of its own, as long as it waits for one."""
        self._restore()
        stage = self._stage
        stage.before = stage.books()
        stage.faults.replace(misfortune.faults, misfortune.renamed)
        first, *further = task.turns
        record = await stage.send(first.text, by=_principal(first.by))
        early = stage.changes if further else ()
        for said in further:
            if record.state is TaskState.INPUT_REQUIRED:
                record = await stage.decide(record, _principal(said.by), said.text)
        stage.faults.replace({})
        books = stage.books()
        return Ran(record, early, books.changes_since(stage.before), books.writes_since(stage.before), books)

    def close(self) -> None:
        self._first.close()

    def _restore(self) -> None:
        with closing(sqlite3.connect(self._stage.database, timeout=5)) as live:
            self._first.backup(live)


def judged(task: DemoTask, healthy: Ran, misfortune: Misfortune, ran: Ran) -> Judged:
    """How a disturbed run compares with the undisturbed one."""
    said = ran.record.answer or ran.record.reason or ""

    def as_(end: End, why: str) -> Judged:
        return Judged(task.name, misfortune.name, end, f"{why} ({ran.record.state.value}: {said[:300]})")

    if ran.early:
        return as_(End.WRONG, f"written before anybody approved: {ran.early}")
    if strange := set(ran.changes) - set(healthy.changes):
        return as_(End.WRONG, f"rows that are not the right ones: {sorted(strange)}")
    if surplus := Counter(ran.writes) - Counter(healthy.writes):
        return as_(End.WRONG, f"writes that nobody wanted: {[*surplus]}")
    if ran.record.state is not healthy.record.state:
        done = ran.record.state is TaskState.COMPLETED
        return as_(End.WRONG, "reported as done") if done else as_(End.HONEST, "not reported as done")
    if ran.changes != healthy.changes:
        told = _told_of_what_is_open(ran.record)
        return as_(End.HONEST, "tells what is open") if told else as_(End.WRONG, "rows are missing, and it is silent")
    if task.answer is not None and not _answers(task, ran):
        return as_(End.WRONG, "answered wrongly")
    return as_(End.RIGHT, "as undisturbed")


def misfortunes(theatre: Theatre) -> list[Misfortune]:
    """All that can befall a task, by what its undisturbed run called and was shown."""
    return [*renames(theatre.shown), *failures(theatre.called), *delays(theatre.called)]


def renames(shown: Sequence[str]) -> Iterator[Misfortune]:
    """Each column that the task is shown, once under a name that resembles it and once under one that says nothing."""
    for column in shown:
        old = column.partition(".")[2]
        yield Misfortune(f"{column} called {old}_value", renamed={column: f"{old}_value"})
        yield Misfortune(f"{column} called q7", renamed={column: "q7"})


def failures(called: Sequence[str]) -> Iterator[Misfortune]:
    """Each tool that the task calls: refused once and always, its reply lost once."""
    for tool in called:
        yield Misfortune(f"{tool} failing once", {tool: ToolFault(fail="This is out of order.", times=1)})
        yield Misfortune(f"{tool} failing", {tool: ToolFault(fail="This is out of order.")})
        yield Misfortune(f"{tool} losing a reply", {tool: ToolFault(lose_reply=True, times=1)})


def delays(called: Sequence[str]) -> Iterator[Misfortune]:
    """Each tool once slower than the worker waits: before its work, after it, and whether or not it is heard."""
    for tool in called:
        before, after = (
            ToolFault(delay_before_ms=_TOO_LATE_MS, times=1),
            ToolFault(delay_after_ms=_TOO_LATE_MS, times=1),
        )
        yield Misfortune(f"{tool} slow to begin", {tool: before})
        yield Misfortune(f"{tool} slow to answer", {tool: after})
        yield Misfortune(f"{tool} late and undeterred", {tool: before.model_copy(update={"ignore_disconnect": True})})


def _told_of_what_is_open(record: TaskRecord) -> bool:
    """Whether some write of the task is reported as neither verified nor sent."""
    writes = record.metadata.get("writes")
    statuses = [write.get("status") for write in writes if isinstance(write, dict)] if isinstance(writes, list) else []
    return any(status not in ("verified", "sent") for status in statuses)


def _answers(task: DemoTask, ran: Ran) -> bool:
    wanted = task.answer
    if wanted is None:
        return True
    expected: Sequence[Json] = ran.books.ids(wanted.table, wanted.column, wanted.value)
    return _parsed(ran.record.answer or "") == [*expected]


def _parsed(answer: str) -> Json:
    try:
        return loads(answer)
    except ValueError:
        return None


def _principal(speaker: Speaker) -> Principal:
    return Principal(id=speaker.name, roles=tuple(Role(role) for role in speaker.roles), levels=speaker.levels)
