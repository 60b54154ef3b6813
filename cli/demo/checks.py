"""What must hold after a task of the demo, and a sentence for each thing that does not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cli.demo.books import Books
from cli.demo.tasks import DemoTask
from cli.gateway.messages import TaskView
from shared.domain.exact_json import Json, JsonObject, dumps, loads

_PROVED = "verified"


@dataclass(frozen=True)
class Observed:
    """One task as it went: the task after each turn, the books before it, after each waiting turn, and after it."""

    task: DemoTask
    views: tuple[TaskView, ...]
    before: Books
    waiting: tuple[Books, ...]
    after: Books
    seconds: float

    @property
    def final(self) -> TaskView:
        return self.views[-1]

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(str(state) for state in _list(self.final.metadata.get("states")))

    @property
    def reported_writes(self) -> tuple[JsonObject, ...]:
        return tuple(write for write in _list(self.final.metadata.get("writes")) if isinstance(write, dict))


def problems(observed: Observed) -> tuple[str, ...]:
    """Each expectation that does not hold, as a sentence; empty if the task did exactly what it should."""
    return (*_turns(observed), *_path(observed), *_database(observed), *_report(observed), *_answer(observed))


def database_json(observed: Observed) -> JsonObject:
    """What the database shows beside what it should show."""
    return {
        "changes": [change.as_json() for change in observed.after.changes_since(observed.before)],
        "expected": [change.as_json() for change in sorted(observed.task.changes)],
        "writes_applied": [*observed.after.writes_since(observed.before)],
        "writes_expected": [*observed.task.writes],
    }


def _turns(observed: Observed) -> Iterator[str]:
    for said, view in zip(observed.task.turns, observed.views, strict=False):
        if view.state != said.then:
            yield f"after {said.text!r} the task is {view.state}, not {said.then}: {view.answer}"
    if any(books.changes_since(observed.before) for books in observed.waiting):
        yield "something was written while the task waited"


def _path(observed: Observed) -> Iterator[str]:
    walked = iter(observed.states)
    if not all(state in walked for state in observed.task.passes):
        yield f"walked {' > '.join(observed.states)}, not through {' > '.join(observed.task.passes)}"
    for state in set(observed.task.avoids) & set(observed.states):
        yield f"reached {state}, which it must not"


def _database(observed: Observed) -> Iterator[str]:
    found = observed.after.changes_since(observed.before)
    if found != tuple(sorted(observed.task.changes)):
        yield f"the database changed in {dumps([change.as_json() for change in found])}"
    applied = observed.after.writes_since(observed.before)
    if applied != observed.task.writes:
        yield f"the company counted {len(applied)} writes {list(applied)}, expected {list(observed.task.writes)}"


def _report(observed: Observed) -> Iterator[str]:
    proved = [write.get("tool") for write in observed.reported_writes if write.get("status") == _PROVED]
    if proved != list(observed.task.writes):
        yield f"reported as verified: {proved}, expected {list(observed.task.writes)}"


def _answer(observed: Observed) -> Iterator[str]:
    if not observed.final.answer.strip():
        yield "there is no answer"
    elif observed.task.answer is not None:
        wanted = observed.task.answer
        expected: Sequence[Json] = observed.after.ids(wanted.table, wanted.column, wanted.value)
        if _parsed(observed.final.answer) != [*expected]:
            yield f"answered {observed.final.answer}, expected {dumps([*expected])}"


def _parsed(answer: str) -> Json:
    try:
        return loads(answer)
    except ValueError:
        return None


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
