"""A plain loop that speaks the Messages API with the planner's core in process, over the example company's tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import JsonValue, ValidationError

from cli.demo.books import BookChange
from cli.demo.books import Books as Picture
from examples.company.books import ToolRefused
from examples.company.catalogue import TOOLS
from examples.company.drift import as_shown
from services.planner.core.request import PlannerReply, parse
from services.planner.core.roles import reply
from shared.domain.exact_json import Json, JsonObject, dumps, loads, loads_object, plain, wire
from tests.company_stage import open_books
from tests.planner_tasks.task import PlainTask

NOW = datetime(2026, 3, 31, 9, tzinfo=UTC)
_TURNS = 20
_ADMITS = ("Not done", "Not understood", "Could not be found out", "could be read", "Left out", "could be found")
_WORDS = frozenset({"cancel_reason", "resolution"})  # the worker's own, like those that the picture leaves out


class Company:
    """One fresh copy of the company's books; ``renamed`` columns are shown under other names."""

    def __init__(self, folder: Path, renamed: Mapping[str, str] | None = None) -> None:
        self.file = folder / "company.db"
        self._books = open_books(folder, NOW)
        self.before = Picture.read(self.file)
        self._renamed = dict(renamed or {})
        self._books.renamed = self._renamed

    def rename(self, columns: JsonObject) -> None:
        """Show columns under other names from now on."""
        self._renamed = {old: str(new) for old, new in columns.items()}
        self._books.renamed = self._renamed

    def call(self, name: str, arguments: JsonObject) -> tuple[Json, bool]:
        """The answer and whether it is an error."""
        if name not in TOOLS:
            return f"There is no tool {name}.", True
        try:
            return as_shown(TOOLS[name].call(self._books, _plain(arguments)), self._renamed), False
        except ToolRefused as refusal:
            return str(refusal), True
        except ValidationError as error:
            return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()), True

    def close(self) -> "tuple[frozenset[BookChange], tuple[str, ...]]":
        """What changed, and the writes that were counted."""
        self._books.close()
        after = Picture.read(self.file)
        changes = after.changes_since(self.before)
        return frozenset(one for one in changes if one.column not in _WORDS), after.writes_since(self.before)


@dataclass
class Run:
    """One conversation as it went."""

    answer: str = ""
    replies: list[PlannerReply] = field(default_factory=list)
    messages: list[Json] = field(default_factory=list)

    @property
    def calls(self) -> list[tuple[str, JsonObject]]:
        return [call for one in self.replies for call in one.calls]


def _plain(arguments: JsonObject) -> dict[str, JsonValue]:
    told = wire(arguments)
    assert isinstance(told, dict)
    return told


def _offered() -> list[Json]:
    """The company's tools as a server lists them."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": loads_object(dumps(plain(tool.input_schema()))),
        }
        for tool in TOOLS.values()
    ]


def _flat(task: str, company: Company) -> Run:
    """Whatever is called is carried out at once."""
    run, offered = Run(messages=[{"role": "user", "content": task}]), _offered()
    for _ in range(_TURNS):
        said = reply(parse({"system": "rules", "messages": run.messages, "tools": offered}))
        run.replies.append(said)
        if not said.calls:
            run.answer = said.text
            return run
        run.messages += _exchange(said, [company.call(*call) for call in said.calls], len(run.replies))
    raise AssertionError(f"no end after {_TURNS} replies: {run.calls}")


def _exchange(said: PlannerReply, results: list[tuple[Json, bool]], turn: int) -> list[Json]:
    uses: list[Json] = [
        {"type": "tool_use", "id": f"u{turn}_{place}", "name": name, "input": given}
        for place, (name, given) in enumerate(said.calls)
    ]
    told: list[Json] = [
        {
            "type": "tool_result",
            "tool_use_id": f"u{turn}_{place}",
            "content": result if isinstance(result, str) else dumps(result),
            "is_error": failed,
        }
        for place, (result, failed) in enumerate(results)
    ]
    return [{"role": "assistant", "content": uses}, {"role": "user", "content": told}]


class Verdict(StrEnum):
    RIGHT = "right"
    REFUSED = "refused"  # nothing wrong was written, and the answer says what was not done
    WRONG = "wrong"


def judge_flat(task: PlainTask, folder: Path) -> Verdict:
    """Run a task on fresh books and compare them with books on which its own writes were made."""
    expected, _ = _model(task, folder)
    company = Company(folder)
    run = _flat(task.text, company)
    changes, _ = company.close()
    if changes == expected and _answers(task, run.answer):
        return Verdict.RIGHT
    admits = any(words in run.answer for words in _ADMITS)
    return Verdict.REFUSED if admits and _is_part(changes, expected) else Verdict.WRONG


def _is_part(changes: frozenset[BookChange], expected: frozenset[BookChange]) -> bool:
    """Whether every row that was changed is one that should be; a counter may stand between."""
    return {(one.table, one.row) for one in changes} <= {(one.table, one.row) for one in expected}


def _model(task: PlainTask, folder: Path) -> tuple[frozenset[BookChange], tuple[str, ...]]:
    company = Company(folder)
    for name, arguments in task.writes:
        result, failed = company.call(name, arguments)
        assert not failed, (task.name, name, result)
    return company.close()


def _answers(task: PlainTask, answer: str) -> bool:
    if task.listed is not None:
        try:
            return loads(answer) == [*task.listed]
        except ValueError:
            return False
    return all(words in answer for words in task.says)
