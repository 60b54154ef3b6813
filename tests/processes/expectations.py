"""What a task left behind, in the words that the tests of the processes compare it with."""

from examples.demo.books import BookChange
from shared.contracts.task import TaskRecord
from shared.domain.words import FsmState

_LETTERS = {
    FsmState.DECOMPOSE: "D",
    FsmState.ASSESS: "A",
    FsmState.COMPUTE: "C",
    FsmState.POLICY_CHECK: "P",
    FsmState.APPROVAL_GATE: "G",
    FsmState.MUTATE: "M",
    FsmState.SCHEDULE_NOTIFY: "N",
    FsmState.COMPLETE: "X",
    FsmState.ESCALATE: "E",
    FsmState.FAILED: "F",
}


def path(task: TaskRecord) -> str:
    """The states walked, such as "D A P M X" (E: ESCALATE, F: FAILED)."""
    walked = task.metadata["states"]
    assert isinstance(walked, list)
    return " ".join(_LETTERS[FsmState(str(state))] for state in walked)


def statuses(task: TaskRecord) -> list[tuple[str, str]]:
    """Each write that the task reports, and what came of it."""
    writes = task.metadata["writes"]
    assert isinstance(writes, list)
    return [(str(write["tool"]), str(write["status"])) for write in writes if isinstance(write, dict)]


def values(task: TaskRecord) -> dict[str, str]:
    """The named figures of the task."""
    named = task.metadata["values"]
    assert isinstance(named, dict)
    return {name: str(value) for name, value in named.items()}


def rules(task: TaskRecord) -> list[str]:
    """The rules that were triggered by the plan that was judged last."""
    verdict = task.metadata["verdict"]
    triggered = verdict.get("triggeredRules", []) if isinstance(verdict, dict) else []
    assert isinstance(triggered, list)
    return [*dict.fromkeys(str(rule["ruleId"]) for rule in triggered if isinstance(rule, dict))]


def row(table: str, key: str, **cells: str | int | None) -> list[BookChange]:
    """What these cells of a row became; a new row counts with each of its cells."""
    return [BookChange(table, key, column, value) for column, value in cells.items()]


def message(number: int, recipient: str) -> list[BookChange]:
    """One more message in the outbox; its words are the worker's own."""
    return row("outbox", f"MSG-{number}", id=f"MSG-{number}", recipient=recipient)


def exactly(*parts: list[BookChange]) -> tuple[BookChange, ...]:
    """All changes of a database, in the order in which a stage shows them."""
    return tuple(sorted(change for part in parts for change in part))
