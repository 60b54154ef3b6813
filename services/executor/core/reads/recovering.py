"""Makes one read and, if it fails, recovers by the kind of its failure.

A name that the server no longer knows is corrected; a tool that is gone is replaced; a value of the wrong type is sent
once more in the right one. A read that is not permitted or finds nothing is reported, and nothing replaces it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.model.model_calls import ModelQuestion, Unanswered, UnusableAnswer, ask_checked
from services.executor.core.reads.server_call import send_call, with_expected_names
from services.executor.core.session.context import DispatchRefused, TurnContext, require_permitted
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ruled_tools import has_tool_rules
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import Failed
from services.executor.core.states.prompts import STAND_IN_SCHEMA
from services.executor.core.tools import schema_drift
from services.executor.core.tools.failures import (
    ReadFailure,
    UnknownName,
    classify_failure,
    convert_to_wanted_types,
    echoes_call,
    find_unknown_name,
    has_failed,
    table_named_in,
)
from services.executor.core.tools.listing import open_paged_list
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import MISSING_ROWS_NOTE
from services.executor.core.tools.recover import check_stand_in, find_renamed_reads, find_single_reads, may_be_offered
from services.executor.core.tools.schema_drift import (
    PARAMETER_MARK,
    TABLE_PARAMETERS,
    ColumnMatch,
    NameCorrections,
    rename_arguments,
)
from services.executor.core.tools.toolbox import problems_with
from services.executor.ports.tools import ReadCall, Tool, ToolAnswer
from shared.contracts.base import Contract
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import FsmState, ToolClass

_MOST_NAMES = 3  # how many renamed columns one call may meet; each is corrected once
_MOST_OFFERED = 30
_LONGEST_FAILURE = 120  # characters of each failure that are told
# What is said of a failure that is final; whoever reads it knows that asking again changes nothing.
_RECOVERY_NOTES = {
    ReadFailure.NOT_PERMITTED: "{tool} is not permitted here; nothing was asked in its place.",
    ReadFailure.NOT_FOUND: "{tool} works, and has no such record.",
}


def known_corrections(ctx: TurnContext, progress: Progress) -> NameCorrections:
    """The renamed columns that the session knew when the turn began, and those that this task has learned since."""
    return NameCorrections({**ctx.session.corrections, **progress.corrections})


async def read_with_recovery(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, corrections: NameCorrections
) -> "ServerRead":
    """Makes one journaled read. Raises ``Failed`` if the server does not answer.

    If the server calls a column by another name, the call is corrected and repeated for that column; the result then
    also has the column under the name that was asked for, as it has fields that were only renamed. A read whose tool is
    gone is made with a tool that asks the same, if there is one.
    """
    reading = ServerRead(ctx, key, tool, arguments, corrections.names_for_call(tool, arguments))
    await reading.send()
    await reading.correct_names()
    await reading.recover()
    await reading.read_all_pages()
    reading.show_expected_names()
    return reading


async def read_again(ctx: TurnContext, key: str, fact: Fact, progress: Progress) -> Fact:
    """The fact read again, as the journal step ``key``. Raises ``Failed`` if that is not possible."""
    tool = ctx.toolbox.find_tool(fact.connection_id, fact.tool)
    if tool is None:
        raise Failed(f"the tool {fact.tool} is gone, so the inputs cannot be read again; nothing was written")
    try:
        require_permitted(FsmState.APPROVAL_GATE, tool)  # MUTATE would let it pass, whatever it has become
    except DispatchRefused as error:
        raise Failed(f"the inputs cannot be read again, so nothing was written: {error}") from error
    reading = await read_with_recovery(
        ctx, key, tool, loads_object(fact.arguments_json), known_corrections(ctx, progress)
    )
    renewed = {
        "result_json": dumps(reading.answer.content),
        "ok": reading.is_source,
        "note": reading.note,
        "again": True,
    }
    return fact.model_copy(update=renewed)


class ServerRead:
    """One read in progress: the ``tool`` and ``arguments`` that were called last, under the server's present ``names``
    by the old ones, and the ``answer``. Every call is a step of the journal.

    ``learned``: the new names by the old ones that the read found out. ``echoes``: the answer only repeats the call.
    """

    def __init__(
        self, ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, names: Mapping[str, str] = {}
    ) -> None:
        self._ctx, self._key = ctx, key
        self.tool, self.arguments, self.names = tool, arguments, names
        self.answer = ToolAnswer(None)
        self.learned: dict[str, str] = {}
        self.echoes = False
        self._notes: list[str] = []

    @property
    def is_source(self) -> bool:
        """Whether the answer is a source of facts: not a refusal, and not just a repetition of the call."""
        return not (self.answer.is_error or self.echoes)

    @property
    def note(self) -> str:
        """The notes on the answer. What is missing from a list comes first, since readers of notes look there."""
        return " ".join(sorted(self._notes, key=lambda text: not text.startswith(MISSING_ROWS_NOTE)))

    async def send(self, step: str = "") -> None:
        """Makes the call. ``step``: the suffix of its journal step's name."""
        made = await send_call(self._ctx, f"{self._key}{step}", self.tool, self.arguments, self.names)
        self.answer, self.names = made.answer, made.names

    async def correct_names(self) -> None:
        """Repeats a failed call under the server's present names, if these are clear; else the answer stands."""
        for number in range(1, _MOST_NAMES + 1):
            found = await self._find_new_name()
            if found is None:
                return
            old, new = found
            self.learned[old] = new.name
            kind = "renamed_parameter" if schema_drift.is_parameter_name(old) else "renamed_column"
            told = {kind: old.removeprefix(PARAMETER_MARK), "now_called": new.name, "found_by": new.tier}
            self._ctx.journal.add_event("note", tool=self.tool.name, **told)
            self.names = {**self.names, old: new.name}
            await self.send(f":renamed{number}")

    async def _find_new_name(self) -> tuple[str, ColumnMatch] | None:
        """The name that the server does not know, and the column that it is now; None if that is unclear or the call
        cannot be corrected.
        """
        unknown = find_unknown_name(self.answer.content) if has_failed(self.answer) else None
        if unknown is None:
            return None
        mark, old = PARAMETER_MARK if unknown.is_parameter else "", schema_drift.unqualified_name(unknown.name)
        asked = next((name for name, used in self.names.items() if used == old and name.startswith(mark)), mark + old)
        if rename_arguments(self.arguments, {asked: ""}) == self.arguments:
            return None
        columns = await self._known_columns(unknown)
        new = schema_drift.match_column(asked.removeprefix(PARAMETER_MARK), old, columns.names, columns.described)
        if new is None:
            return None
        present = {*schema_drift.names_in_arguments(rename_arguments(self.arguments, self.names))} - {old}
        if new.name != asked.removeprefix(PARAMETER_MARK) and new.name in present:
            return None  # the call asks for that column already, under its own name or in the place of another
        again = rename_arguments(self.arguments, {**self.names, asked: new.name})
        return None if problems_with(again, self.tool) else (asked, new)

    async def _known_columns(self, unknown: UnknownName) -> "_KnownColumns":
        """The columns that the server has, from the error itself, from a describing tool or from the tool's own schema;
        for an unknown parameter, the parameters that it may be.
        """
        tool, error = self.tool, self.answer.content
        if unknown.is_parameter:
            free: JsonObject = {name: said for name, said in tool.parameters.items() if name not in self.arguments}
            return _KnownColumns(
                unknown.missing_parameters or tuple(free), schema_drift.descriptions_in({"properties": free})
            )
        if listed := schema_drift.columns_in(error):
            return _KnownColumns(listed, schema_drift.descriptions_in(error))
        asking = find_schema_reads(self._ctx.toolbox.tools.values(), tool, self.arguments, error)
        for number, inquiry in enumerate(asking, 1):
            said = (await send_call(self._ctx, f"{self._key}:columns{number}", *inquiry, {})).answer
            if listed := () if said.is_error else schema_drift.columns_in(said.content):
                return _KnownColumns(listed, schema_drift.descriptions_in(said.content))
        return _KnownColumns(schema_drift.columns_declared(tool.parameters))

    async def recover(self) -> None:
        """Replaces a failed answer by that of a repeated call or another tool, depending on the kind of failure.

        Where there are rules about tools nothing is replaced or repeated: they say what may be called, and how often.
        """
        kind = classify_failure(self.answer) if self.tool.tool_class is ToolClass.READ else None
        is_ruled = has_tool_rules(self._ctx.policies)
        if kind in _RECOVERY_NOTES:
            self._record_recovery(self.tool, _RECOVERY_NOTES[kind].format(tool=self.tool.name))
        elif kind is ReadFailure.WRONG_TYPE and not is_ruled:
            await self._retry_with_wanted_types()
        elif kind in (ReadFailure.TOOL_GONE, ReadFailure.TOO_MUCH):
            asked, tried = self.tool, list[str]()
            found = None if is_ruled else await self._try_stand_ins(kind, tried)
            if found is None:
                self.answer = self.answer._replace(is_error=True)
                what = f"tried instead: {'; '.join(tried)}" if tried else "nothing could stand in for it"
                found = f"{asked.name} could not be read; {what}."
            self._record_recovery(asked, found)

    async def _retry_with_wanted_types(self) -> None:
        """Repeats the call with values of the types that the server wants; if that fails, the answer stands."""
        given, mended = self.arguments, convert_to_wanted_types(self.arguments, self.answer.content)
        if mended is None:
            return
        again = ServerRead(self._ctx, self._key, self.tool, mended, self.names)
        await again.send(":types")
        if has_failed(again.answer):
            return
        self._adopt_answer_of(again)
        changed = (
            name for name in mended if mended[name] != given[name] or type(mended[name]) is not type(given[name])
        )
        self._record_recovery(self.tool, f"{', '.join(sorted(changed))}: sent in the type that {self.tool.name} takes.")

    async def _try_stand_ins(self, kind: ReadFailure, tried: list[str]) -> str | None:
        """Has other reads of the same server answer in place of the failed one, and returns a note on it; None if all
        failed. ``tried`` gets the failures of those that were tried.
        """
        others, gone, is_gone = tuple(self._ctx.toolbox.tools.values()), self.tool, kind is ReadFailure.TOOL_GONE
        for number, instead in enumerate(find_renamed_reads(gone, self.arguments, others) if is_gone else (), 1):
            if found := await self._try_stand_in(f":instead{number}", instead, tried):
                return found
        if found := await self._read_one_by_one(find_single_reads(gone, self.arguments, others), tried):
            return found
        before = [said.partition(":")[0] for said in tried]
        offered = [tool for tool in others if tool.name not in before and may_be_offered(gone, tool)]
        advised = await self._ask_model_for_stand_in(offered) if is_gone and offered else None
        return await self._try_stand_in(":advised", advised, tried) if advised else None

    async def _try_stand_in(self, step: str, call: ReadCall, tried: list[str]) -> str | None:
        other = ServerRead(self._ctx, f"{self._key}{step}", *call)
        await other.send()
        await other.correct_names()
        if has_failed(other.answer):
            tried.append(_describe_failure(call.tool, other.answer))
            return None
        said = f"{self.tool.name} is gone; {call.tool.name} answered instead."
        self._adopt_answer_of(other)
        return said

    async def _read_one_by_one(self, calls: Sequence[ReadCall], tried: list[str]) -> str | None:
        """Makes single reads, whose results in order become the answer's rows; None if all of them failed."""
        rows: list[Json] = []
        missing: list[str] = []
        for number, call in enumerate(calls, 1):
            one = (await send_call(self._ctx, f"{self._key}:single{number}", *call, {})).answer
            if has_failed(one):
                missing.append(_describe_failure(call.tool, one))
            else:
                rows.append(one.content)
        if not rows:
            tried += missing[:1]
            return None
        (self.tool, self.arguments), self.names, self.answer = calls[0], {}, ToolAnswer(rows)
        note = f"Read one by one with {self.tool.name}: {len(rows)} of {len(calls)}."
        return f"{MISSING_ROWS_NOTE}: {note} Not read: {'; '.join(missing[:3])}" if missing else note

    async def _ask_model_for_stand_in(self, offered: Sequence[Tool]) -> ReadCall | None:
        """The call that a model proposes in place of a tool that is gone; None without a usable answer."""
        ctx, gone, arguments = self._ctx, self.tool, self.arguments
        shown = {tool.name: tool for tool in offered[:_MOST_OFFERED]}
        listed: list[Json] = [
            {"name": one.name, "description": one.description, "input_schema": one.input_schema}
            for one in shown.values()
        ]
        missing: JsonObject = {"tool": gone.name, "arguments": arguments}
        question = ModelQuestion(
            step=f"{self._key}:advice",
            system=(ctx.prompts.role, ctx.prompts.stand_in),
            sections={"task": ctx.task, "read_tools": listed, "missing": missing},
            schema=STAND_IN_SCHEMA,
            max_tokens=512,
        )

        def check_advice(advice: StandInAdvice) -> ReadCall | None:
            return _check_stand_in_advice(advice, gone, arguments, shown.get(advice.tool or ""))

        try:
            return (await ask_checked(ctx, question, StandInAdvice, check_advice))[0]
        except Unanswered as none:
            ctx.journal.add_event("note", tool=gone.name, problem=none.reason)
            return None

    async def read_all_pages(self) -> None:
        """If the answer is the first page of a list, reads the other pages and puts all rows into the answer."""
        ctx, failed = self._ctx, has_failed(self.answer)
        found = None if failed else open_paged_list(self.tool, self.arguments, self.answer.content, ctx.limits.lists)
        if found is None:
            return

        async def ask_for_page(following: JsonObject) -> ToolAnswer:
            return (await send_call(ctx, f"{self._key}:page{found.pages + 1}", self.tool, following, self.names)).answer

        await found.read_to_end(ask_for_page)
        if note := found.summary:
            more = found.why_partial
            ctx.journal.add_event("note", tool=self.tool.name, pages=found.pages, rows=found.total, partial=more)
            self.answer = self.answer._replace(content=found.merge_rows(self.answer.content))
            self._notes.append(note)

    def show_expected_names(self) -> None:
        """Adds renamed fields under the names that were asked for or are expected; notes them in the journal."""
        content = schema_drift.add_old_names(self.answer.content, self.names)
        self.answer, self.echoes = self.answer._replace(content=content), echoes_call(self.tool.name, content)
        if not self.is_source:
            return
        place = {"ref": "", "connection_id": self.tool.connection_id, "tool": self.tool.name, "arguments_json": "{}"}
        shown = with_expected_names(self._ctx, Fact(**place, result_json=dumps(content)))
        if shown is not None:
            self._ctx.journal.add_event("note", tool=self.tool.name, renamed_fields=shown.note)
            self._notes.append(shown.note)
            self.answer = self.answer._replace(content=shown.content)

    def _adopt_answer_of(self, other: "ServerRead") -> None:
        """Takes another read's call and answer in place of its own."""
        self.tool, self.arguments, self.names, self.answer = other.tool, other.arguments, other.names, other.answer

    def _record_recovery(self, tool: Tool, how: str) -> None:
        """Notes how the read of the tool was recovered, or why not."""
        self._ctx.journal.add_event("note", tool=tool.name, recovered=not self.answer.is_error, how=how)
        self._notes.append(how)


class StandInAdvice(Contract):
    tool: str | None
    arguments_json: str
    why: str


def _check_stand_in_advice(
    advice: StandInAdvice, gone: Tool, arguments: JsonObject, tool: Tool | None
) -> ReadCall | None:
    if advice.tool is None:
        return None
    try:
        instead = check_stand_in(gone, arguments, tool, loads_object(advice.arguments_json))
    except ValueError as error:
        raise UnusableAnswer(f"arguments_json is no JSON object: {error}") from error
    if instead is None:
        raise UnusableAnswer(
            "it names no tool of <read_tools>, or arguments that do not fit or are not those of <missing>"
        )
    return instead


def _describe_failure(tool: Tool, answer: ToolAnswer) -> str:
    return f"{tool.name}: {dumps(answer.content)[:_LONGEST_FAILURE]}"


_PLAINLY = frozenset({"describe", "schema", "columns"})
_SCHEMA_WORDS = frozenset("describe schema schemas column columns field fields introspect structure metadata".split())
_MOST_READS_OF_COLUMNS = 4


class _KnownColumns(NamedTuple):
    """The column names that a server has, with its descriptions of them."""

    names: tuple[str, ...] = ()
    described: Mapping[str, str] = schema_drift.NO_DESCRIPTIONS


def find_schema_reads(tools: Iterable[Tool], asked: Tool, arguments: JsonObject, error: Json) -> list[ReadCall]:
    """At most four reads that may show the columns which a failed call should have used, the likeliest first."""
    tables = list(dict.fromkeys(_guess_tables(asked, arguments, error)))
    beside = [tool for tool in tools if tool.connection_id == asked.connection_id and tool.name != asked.name]
    found = [
        ReadCall(tool, given)
        for tool in sorted(beside, key=lambda one: (_PLAINLY.isdisjoint(words_of(one.name)), one.name))
        if tool.tool_class is ToolClass.READ and not _SCHEMA_WORDS.isdisjoint(words_of(tool.name))
        for given in _arguments_by_table(tool, tables)
        if problems_with(given, tool) is None
    ]
    return found[:_MOST_READS_OF_COLUMNS]


def _guess_tables(tool: Tool, arguments: JsonObject, error: Json) -> Iterator[str]:
    """Yields possible names of the table: from the call, from the error, from the tool's name."""
    for named in (schema_drift.table_of(arguments), table_named_in(error)):
        if named:
            yield named
    noun = words_of(tool.name)[1:]
    if noun:
        yield "_".join(noun)
        yield "_".join(noun) + "s"


def _arguments_by_table(tool: Tool, tables: Iterable[str]) -> list[JsonObject]:
    """The arguments to ask the tool about each table: in the parameter for a table, else in the only required one."""
    naming = [name for name in tool.parameters if "_".join(words_of(name)) in TABLE_PARAMETERS]
    parameter = next(iter([*naming, *(tool.required if len(tool.required) == 1 else [])]), None)
    return [{parameter: table} for table in tables] if parameter else [{}]
