"""Plain loops that speak the Messages API with the planner's core in process, over the example company's own tools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue, ValidationError

from cli.demo.books import BookChange
from cli.demo.books import Books as Picture
from examples.company.books import ToolRefused
from examples.company.catalogue import TOOLS
from examples.company.drift import as_shown
from services.planner.core.request import PlannerReply, parse
from services.planner.core.roles import reply
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object, plain, wire
from tests.company_stage import open_books
from tests.unit.planner.local_tools import LOCAL_TOOLS, LocalTools

NOW = datetime(2026, 3, 31, 9, tzinfo=UTC)
_TURNS = 20
Answers = Callable[[tuple[tuple[str, JsonObject], ...]], list[tuple[Json, bool]]]
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


def tools(guarded: bool) -> list[Json]:
    """The company's tools as a server lists them; ``guarded`` adds the loop's own tools and the note of proposals."""
    listed: list[Json] = [*LOCAL_TOOLS] if guarded else []
    for tool in TOOLS.values():
        schema = loads_object(dumps(plain(tool.input_schema())))
        if guarded and not tool.hints.read_only:
            properties = schema["properties"]
            assert isinstance(properties, dict)
            schema["properties"] = {**properties, "_call": {"type": "object", "properties": {}}}
        listed.append({"name": tool.name, "description": tool.description, "input_schema": schema})
    return listed


def flat(task: str, company: Company) -> Run:
    """A loop without guards: whatever is called is carried out at once."""
    return _conversation(task, tools(False), lambda calls: [company.call(*call) for call in calls])


def guarded(task: str, company: Company) -> Run:
    """A loop that takes proposals, with the loop's own tools, as the executor has it."""
    local = LocalTools(company.call)
    return _conversation(f"<task>\n{task}\n</task>\n\n<now>\n{NOW.isoformat()}\n</now>", tools(True), local.answers)


def _conversation(first: str, offered: list[Json], answers: Answers) -> Run:
    run = Run(messages=[{"role": "user", "content": first}])
    for _ in range(_TURNS):
        said = reply(parse({"system": "rules", "messages": run.messages, "tools": offered}))
        run.replies.append(said)
        if not said.calls:
            run.answer = said.text
            return run
        run.messages += _exchange(said, answers(said.calls), len(run.replies))
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
