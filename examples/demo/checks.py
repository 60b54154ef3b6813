"""Checks a finished task of the demo, with a sentence for each expectation that does not hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cli.gateway.messages import Event, TaskView, get_list_or_empty
from examples.demo.books import BooksSnapshot, DemoTask
from shared.domain.exact_json import Json, JsonObject, dumps, loads, objects_in

_PROVED = "verified"
_SENT = "sent"


@dataclass(frozen=True)
class ObservedTask:
    """One finished task: its view after each turn, snapshots before, during and after it, and its events."""

    task: DemoTask
    views: tuple[TaskView, ...]
    before: BooksSnapshot
    waiting: tuple[BooksSnapshot, ...]
    after: BooksSnapshot
    seconds: float
    events: tuple[Event, ...] = ()

    @property
    def final(self) -> TaskView:
        return self.views[-1]

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(str(state) for state in get_list_or_empty(self.final.metadata.get("states")))

    @property
    def reported_writes(self) -> tuple[JsonObject, ...]:
        return tuple(objects_in(self.final.metadata.get("writes")))


def find_problems(observed: ObservedTask) -> tuple[str, ...]:
    """A sentence for each expectation that does not hold; empty if the task did exactly what it should."""
    checks = (_check_turns, _check_process, _check_states, _check_database, _check_report, _check_events, _check_answer)
    return tuple(sentence for check in checks for sentence in check(observed))


def database_json(observed: ObservedTask) -> JsonObject:
    """What has changed in the database, beside what should have."""
    return {
        "changes": [change.as_json() for change in observed.after.changes_since(observed.before)],
        "expected": [change.as_json() for change in sorted(observed.task.changes)],
        "writes_applied": [*observed.after.writes_since(observed.before)],
        "writes_expected": [*observed.task.writes],
    }


def _check_turns(observed: ObservedTask) -> Iterator[str]:
    for said, view in zip(observed.task.turns, observed.views, strict=False):
        if view.state != said.then:
            yield f"after {said.text!r} the task is {view.state}, not {said.then}: {view.answer}"
    if any(books.changes_since(observed.before) for books in observed.waiting):
        yield "something was written while the task waited"


def _check_process(observed: ObservedTask) -> Iterator[str]:
    wanted, found = observed.task.process_type, observed.final.metadata.get("process_type")
    if wanted and found != wanted:
        yield f"was carried out as {found}, not as {wanted}"
    if bool(observed.final.metadata.get("escalated")) is not observed.task.escalated:
        yield "was not escalated" if observed.task.escalated else "was escalated, which it must not be"


def _check_states(observed: ObservedTask) -> Iterator[str]:
    walked = iter(observed.states)
    if not all(state in walked for state in observed.task.passes):
        yield f"walked {' > '.join(observed.states)}, not through {' > '.join(observed.task.passes)}"
    for state in set(observed.task.avoids) & set(observed.states):
        yield f"reached {state}, which it must not"


def _check_database(observed: ObservedTask) -> Iterator[str]:
    found = observed.after.changes_since(observed.before)
    if found != tuple(sorted(observed.task.changes)):
        yield f"the database changed in {dumps([change.as_json() for change in found])}"
    applied = observed.after.writes_since(observed.before)
    if applied != observed.task.writes:
        yield f"the company counted {len(applied)} writes {list(applied)}, expected {list(observed.task.writes)}"


def _check_report(observed: ObservedTask) -> Iterator[str]:
    reported = [(write.get("tool"), write.get("status")) for write in observed.reported_writes]
    notices = observed.task.notices
    expected = [(tool, _SENT if tool in notices else _PROVED) for tool in observed.task.writes]
    if reported != expected:
        yield f"reported {_describe_writes(reported)}, expected {_describe_writes(expected)}"


def _describe_writes(writes: Sequence[tuple[Json, Json]]) -> str:
    return ", ".join(f"{tool} as {status}" for tool, status in writes) or "no write"


def _check_events(observed: ObservedTask) -> Iterator[str]:
    for key, value in observed.task.tells:
        said = [event.data[key] for event in observed.events if key in event.data]
        if value not in said and (value or not said):
            yield f"nothing in its story says {key}{'=' if value else ''}{value}"


def _check_answer(observed: ObservedTask) -> Iterator[str]:
    if not observed.final.answer.strip():
        yield "there is no answer"
    elif observed.task.answer is not None:
        wanted = observed.task.answer
        expected: Sequence[Json] = observed.after.ids(wanted.table, wanted.column, wanted.value)
        if _parse_answer(observed.final.answer) != [*expected]:
            yield f"answered {observed.final.answer}, expected {dumps([*expected])}"


def _parse_answer(answer: str) -> Json:
    try:
        return loads(answer)
    except ValueError:
        return None
