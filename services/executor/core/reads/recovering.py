"""Makes one read and, if it fails, recovers by the kind of its failure.

A name that the server no longer knows is corrected; a tool that is gone is replaced by a read of the same server that
asks the same, by names and schemas (a write is not made then); a value of the wrong type is sent once more in the right
one. A read that is not permitted or finds nothing is reported, and nothing replaces it.
"""

from collections.abc import Iterable, Mapping, Sequence

from services.executor.core.model.model_calls import ModelQuestion, Unanswered, UnusableAnswer, ask_until_accepted
from services.executor.core.reads.server_call import send_call, with_expected_names
from services.executor.core.session.context import DispatchRefused, TurnContext, require_tool_permitted
from services.executor.core.session.dossier import Progress
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import Failed
from services.executor.core.states.prompts import STAND_IN_SCHEMA
from services.executor.core.tools import schema_drift
from services.executor.core.tools.classes import classify_by_name
from services.executor.core.tools.failures import (
    ReadFailureKind,
    UnknownName,
    classify_failure,
    convert_to_wanted_types,
    echoes_call,
    find_table_name,
    find_unknown_name,
    has_failed,
)
from services.executor.core.tools.listing import open_paged_list
from services.executor.core.tools.name_similarity import may_mean_same, with_last_singular, words_of
from services.executor.core.tools.record_tree import MISSING_ROWS_NOTE
from services.executor.core.tools.schema_drift import (
    PARAMETER_MARK,
    TABLE_PARAMETERS,
    ColumnMatch,
    SchemaRenames,
    match_columns,
    rename_arguments,
)
from services.executor.core.tools.toolbox import find_argument_problems, has_tool_rules
from services.executor.ports.tools import ReadCall, Tool, ToolAnswer
from shared.contracts.base import Contract
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object, walk_json
from shared.domain.words import FsmState, ToolClass

# A word that makes a tool a writing one, and one with a prefix of negation, need no line here.
_ANTONYMS = """allow/block allow/forbid grant/refuse hold/release block/release open/close start/stop start/end
begin/end attach/detach charge/refund charge/credit debit/credit increase/decrease raise/lower hide/show import/export
upload/download encrypt/decrypt incoming/outgoing inbound/outbound sent/received open/closed enabled/disabled
approved/rejected approved/denied approved/pending first/last min/max start/finish old/new before/after first/latest
oldest/newest earliest/latest payable/receivable payables/receivables debits/credits bought/sold customer/vendor
customer/supplier customers/vendors customers/suppliers gross/net asset/liability assets/liabilities public/private
internal/external available/reserved"""
_OPPOSITES = frozenset(frozenset(pair.split("/")) for pair in _ANTONYMS.split())
_NEGATIONS = ("un", "in", "non", "dis", "de", "ir", "im")
MOST_STAND_INS = 3
MOST_SINGLE_READS = 20
# Verbs of one line ask the same question of a server.
_EQUIVALENT_READ_VERBS = tuple(
    frozenset(line.split())
    for line in (
        "get fetch read retrieve lookup look show view describe display load",
        "list find search query browse enumerate filter",
        "check verify validate",
        "compare",
        "count",
        "sum aggregate",
        "preview",
        "inspect examine",
    )
)
_SINGLE_READ_VERBS = _EQUIVALENT_READ_VERBS[0]
_FILLER_WORDS = frozenset("a an the by id ids for of details detail info information record data full up".split())


def has_opposites(words: Iterable[str], other_words: Iterable[str]) -> bool:
    """Whether a word that only ``words`` has is the opposite of one that only ``other_words`` has: open, close."""
    some, others = set(words), set(other_words)
    return any(_are_opposites(word, other_word) for word in some - others for other_word in others - some)


def _may_replace(missing: Tool, other: Tool) -> bool:
    """Whether a tool may replace another: both are reads of one server, and their names have no opposite words."""
    tools = (missing, other)
    if not all(tool.tool_class is classify_by_name(tool.name).tool_class is ToolClass.READ for tool in tools):
        return False
    is_another = other.connection_id == missing.connection_id and other.name != missing.name
    return is_another and not has_opposites(words_of(missing.name), words_of(other.name))


def find_renamed_reads(missing: Tool, arguments: JsonObject, tools: Iterable[Tool]) -> list[ReadCall]:
    """At most three calls of reads that ask the same under another name, the most similar first."""
    ranked = [
        (_find_noun(tool) != _find_noun(missing), tool.name, ReadCall(tool, renamed))
        for tool in tools
        if _may_replace(missing, tool)
        and _are_equivalent_reads(missing, tool)
        and (renamed := _fit_arguments(tool, arguments)) is not None
    ]
    return [call for *_, call in sorted(ranked, key=lambda candidate: candidate[:2])][:MOST_STAND_INS]


def find_single_reads(bulk: Tool, arguments: JsonObject, tools: Iterable[Tool]) -> list[ReadCall]:
    """A read of one record for each id in ``arguments``, which together replace ``bulk``, a read of several.

    Empty if no tool fits, or if the arguments do not have just one list, of 1 to 20 ids.
    """
    lists = {key: value for key, value in arguments.items() if isinstance(value, list)}
    ids = next(iter(lists.values()), [])
    has_scalars = not any(isinstance(value, dict | list) or value is None for value in ids)
    if len(lists) != 1 or not has_scalars or not 0 < len(ids) <= MOST_SINGLE_READS:
        return []
    other_arguments = {key: value for key, value in arguments.items() if key not in lists}
    noun = with_last_singular(_find_noun(bulk))
    for tool in sorted(tools, key=lambda candidate: candidate.name):
        if _may_replace(bulk, tool) and _find_verb(tool) in _SINGLE_READ_VERBS and _find_noun(tool) == noun:
            calls = [_build_single_read(tool, next(iter(lists)), value, other_arguments) for value in ids]
            fitting = [call for call in calls if call is not None]
            if len(fitting) == len(calls):
                return fitting
    return []


def accept_stand_in(missing: Tool, arguments: JsonObject, tool: Tool | None, proposed: JsonObject) -> ReadCall | None:
    """The call of ``tool`` with the ``proposed`` arguments, if it may replace that of ``missing`` with ``arguments``:
    the tool takes them, and each value in them is also in ``arguments``. Else None.
    """
    if tool is None or not may_be_offered_as_replacement(missing, tool) or find_argument_problems(proposed, tool):
        return None
    values = _list_values(arguments)
    declares = _list_declared_parameters(tool)
    fits = declares is None or declares.issuperset(proposed)
    return ReadCall(tool, proposed) if fits and values >= _list_values(proposed) else None


def may_be_offered_as_replacement(missing: Tool, other: Tool) -> bool:
    """Whether a tool may be offered to a model in place of a missing one: a read of its server about the same kind."""
    kinds = [with_last_singular(_find_noun(tool))[-1:] for tool in (missing, other)]
    return _may_replace(missing, other) and bool(kinds[0]) and kinds[0] == kinds[1]


def _are_opposites(word: str, other_word: str) -> bool:
    short, long = sorted((word, other_word), key=len)
    negated = len(short) > 2 and any(long == prefix + short for prefix in _NEGATIONS)
    return negated or frozenset((word, other_word)) in _OPPOSITES


def _are_equivalent_reads(missing: Tool, other: Tool) -> bool:
    verbs = {_find_verb(missing), _find_verb(other)}
    noun = _find_noun(missing)
    other_noun = _find_noun(other)
    if not any(verbs <= line for line in _EQUIVALENT_READ_VERBS) or not len(noun) == len(other_noun) > 0:
        return False
    are_of_one_number = (noun == with_last_singular(noun)) == (other_noun == with_last_singular(other_noun))
    return are_of_one_number and (noun == other_noun or may_mean_same("_".join(noun), "_".join(other_noun)))


def _fit_arguments(tool: Tool, arguments: JsonObject) -> JsonObject | None:
    """The arguments with their keys renamed to the tool's own; None if they do not fit."""
    declared = _list_declared_parameters(tool)
    if declared is None:
        return arguments if find_argument_problems(arguments, tool) is None else None
    unused = [name for name in sorted(declared) if name not in arguments]
    undeclared = [key for key in arguments if key not in declared]
    matches = match_columns(undeclared, unused)
    if len(matches) < len(undeclared):
        return None
    fitted: JsonObject = {matches[key].name if key in matches else key: value for key, value in arguments.items()}
    return fitted if find_argument_problems(fitted, tool) is None else None


def _build_single_read(tool: Tool, plural: str, value: Json, other_arguments: JsonObject) -> ReadCall | None:
    """The read of one record, with the id under the list's name in the singular or as ``id``; None if neither fits."""
    noun, declared = "_".join(_find_noun(tool)), set(tool.parameters)
    names = dict.fromkeys(["_".join(with_last_singular(words_of(plural))), f"{noun}_id", "id"])
    name = next((name for name in names if name in declared), None)
    arguments = {**other_arguments, name: value} if name is not None else None
    if arguments is None or not declared.issuperset(arguments) or find_argument_problems(arguments, tool):
        return None
    return ReadCall(tool, arguments)


def _list_declared_parameters(tool: Tool) -> set[str] | None:
    """The parameters that a tool's schema declares; None if it declares none."""
    properties = tool.input_schema.get("properties")
    return set(properties) if isinstance(properties, dict) else None


def _find_verb(tool: Tool) -> str:
    return next(iter(words_of(tool.name)), "")


def _find_noun(tool: Tool) -> list[str]:
    """The words of a tool's name for what it is about: order, line for ``get_order_line_by_id``."""
    return [word for word in words_of(tool.name)[1:] if word not in _FILLER_WORDS]


def _list_values(value: Json) -> set[str]:
    return {repr(inner) for _, inner in walk_json(value) if not isinstance(inner, dict | list)}


_MOST_RENAMES = 3  # how many renamed columns one call may meet; each is corrected once
_MOST_TOOLS_OFFERED = 30
_LONGEST_FAILURE_TEXT = 120  # characters of each failure that are told
# The texts of failures that are final, where asking again changes nothing.
_RECOVERY_NOTES = {
    ReadFailureKind.NOT_PERMITTED: "{tool} is not permitted here; nothing was asked in its place.",
    ReadFailureKind.NOT_FOUND: "{tool} works, and has no such record.",
}


def list_known_renames(ctx: TurnContext, progress: Progress) -> SchemaRenames:
    """The new names of columns and parameters that the session knew when the turn began, and those learned since."""
    return SchemaRenames({**ctx.session.corrections, **progress.corrections})


async def read_with_recovery(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, corrections: SchemaRenames
) -> "ServerRead":
    """Makes one journaled read, its first step under ``key``. Raises ``Failed`` if the server does not answer.

    A column that the server calls by another name is corrected, and the call repeated. The result has it under both
    names, like other renamed fields that are expected. A read whose tool is gone is made with a tool that asks the
    same, if there is one.
    """
    reading = ServerRead(ctx, key, tool, arguments, corrections.names_for_call(tool, arguments))
    await reading.send()
    await reading.correct_names()
    await reading.recover()
    await reading.read_all_pages()
    reading.add_expected_names()
    return reading


async def read_again(ctx: TurnContext, key: str, fact: Fact, progress: Progress) -> Fact:
    """The fact read again, as the journal step ``key``.

    Raises ``Failed`` if that is not possible; what the server refuses is a fact that is not ``ok``.
    """
    tool = ctx.toolbox.find_tool(fact.connection_id, fact.tool)
    if tool is None:
        raise Failed(f"the tool {fact.tool} is gone, so the inputs cannot be read again; nothing was written")
    try:
        require_tool_permitted(FsmState.APPROVAL_GATE, tool)  # MUTATE would let it pass, whatever it has become
    except DispatchRefused as error:
        raise Failed(f"the inputs cannot be read again, so nothing was written: {error}") from error
    arguments, corrections = loads_object(fact.arguments_json), list_known_renames(ctx, progress)
    reading = await read_with_recovery(ctx, key, tool, arguments, corrections)
    update = {"result_json": dumps(reading.answer.content), "ok": reading.is_source_of_facts, "note": reading.note}
    return fact.model_copy(update={**update, "again": True})


class ServerRead:
    """One read in progress: the ``tool`` and ``arguments`` that were called last, and the ``answer``. Every call is a
    step of the journal.

    ``names``: ``{name asked for: the server's present name}``, as the call was sent; ``learned``: those of them that
    this read found out.
    """

    def __init__(
        self, ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, names: Mapping[str, str] = {}
    ) -> None:
        self._ctx, self._key = ctx, key
        self.tool = tool
        self.arguments = arguments
        self.names = names
        self.answer = ToolAnswer(None)
        self.learned: dict[str, str] = {}
        self._notes: list[str] = []

    @property
    def is_source_of_facts(self) -> bool:
        """Whether the answer is a source of facts: no error, and not just a repetition of the call."""
        return not (self.answer.is_error or echoes_call(self.tool.name, self.answer.content))

    @property
    def note(self) -> str:
        """The notes on the answer. What is missing from a list comes first, since readers of notes look there."""
        return " ".join(sorted(self._notes, key=lambda text: not text.startswith(MISSING_ROWS_NOTE)))

    async def send(self, step: str = "") -> None:
        """Makes the call. ``step``: the suffix of its journal step's name."""
        answered_call = await send_call(self._ctx, f"{self._key}{step}", self.tool, self.arguments, self.names)
        self.answer, self.names = answered_call.answer, answered_call.names

    async def correct_names(self) -> None:
        """Repeats a failed call under the server's present names, if these are clear; else the answer stands."""
        for number in range(1, _MOST_RENAMES + 1):
            new_name = await self._find_new_name()
            if new_name is None:
                return
            old, column = new_name
            self.learned[old] = column.name
            kind = "renamed_parameter" if schema_drift.is_parameter_name(old) else "renamed_column"
            note_fields = {kind: old.removeprefix(PARAMETER_MARK), "now_called": column.name, "found_by": column.tier}
            self._ctx.journal.add_event("note", tool=self.tool.name, **note_fields)
            self.names = {**self.names, old: column.name}
            await self.send(f":renamed{number}")

    async def _find_new_name(self) -> tuple[str, ColumnMatch] | None:
        """The name that the server does not know, and its column now; None if the call cannot be corrected."""
        unknown = find_unknown_name(self.answer.content) if has_failed(self.answer) else None
        if unknown is None:
            return None
        prefix = PARAMETER_MARK if unknown.is_parameter else ""
        old = unknown.name.rpartition(".")[2]
        requested_names = (name for name, used_name in self.names.items() if used_name == old)
        requested_name = next((name for name in requested_names if name.startswith(prefix)), prefix + old)
        requested = requested_name.removeprefix(PARAMETER_MARK)
        if rename_arguments(self.arguments, {requested_name: ""}) == self.arguments:
            return None
        columns = await self._list_known_columns(unknown)
        column = schema_drift.match_column(requested, old, columns)
        if column is None:
            return None
        used_names = {*schema_drift.list_names_in_arguments(rename_arguments(self.arguments, self.names))} - {old}
        if column.name != requested and column.name in used_names:
            return None  # the call asks for that column already, under its own name or in the place of another
        renamed_arguments = rename_arguments(self.arguments, {**self.names, requested_name: column.name})
        return None if find_argument_problems(renamed_arguments, self.tool) else (requested_name, column)

    async def _list_known_columns(self, unknown: UnknownName) -> Mapping[str, str]:
        """The columns that the server has, each with its description, from the error itself, from a describing tool or
        from the tool's own schema; for an unknown parameter, the parameters that it may be.
        """
        tool, error = self.tool, self.answer.content
        if unknown.is_parameter:
            unused = tool.parameters.keys() - self.arguments.keys()
            free: JsonObject = {name: schema for name, schema in tool.parameters.items() if name in unused}
            described = schema_drift.find_columns({"properties": free})
            return {name: described.get(name, "") for name in unknown.missing_parameters or free}
        if columns := schema_drift.find_columns(error):
            return columns
        schema_reads = find_schema_reads(self._ctx.toolbox.tools.values(), tool, self.arguments, error)
        for number, inquiry in enumerate(schema_reads, 1):
            answer = (await send_call(self._ctx, f"{self._key}:columns{number}", *inquiry, {})).answer
            if columns := {} if answer.is_error else schema_drift.find_columns(answer.content):
                return columns
        return schema_drift.find_column_names_in_enums(tool.parameters)

    async def recover(self) -> None:
        """Replaces a failed answer by that of a repeated call or another tool, depending on the kind of failure.

        Where there are rules about tools nothing is replaced or repeated: they say what may be called, and how often.
        """
        kind = classify_failure(self.answer) if self.tool.tool_class is ToolClass.READ else None
        is_ruled = has_tool_rules(self._ctx.policies)
        if kind in _RECOVERY_NOTES:
            self._record_recovery(self.tool, _RECOVERY_NOTES[kind].format(tool=self.tool.name))
        elif kind is ReadFailureKind.WRONG_TYPE and not is_ruled:
            await self._retry_with_wanted_types()
        elif kind in (ReadFailureKind.TOOL_GONE, ReadFailureKind.TOO_MUCH):
            failed_tool, failures = self.tool, list[str]()
            note = None if is_ruled else await self._try_stand_ins(kind, failures)
            if note is None:
                self.answer = self.answer._replace(is_error=True)
                tried_calls = f"tried instead: {'; '.join(failures)}" if failures else "nothing could stand in for it"
                note = f"{failed_tool.name} could not be read; {tried_calls}."
            self._record_recovery(failed_tool, note)

    async def _retry_with_wanted_types(self) -> None:
        """Repeats the call with values of the types that the server wants; if that fails, the answer stands."""
        arguments = self.arguments
        converted_arguments = convert_to_wanted_types(self.arguments, self.answer.content)
        if converted_arguments is None:
            return
        repeated_read = ServerRead(self._ctx, self._key, self.tool, converted_arguments, self.names)
        await repeated_read.send(":types")
        if has_failed(repeated_read.answer):
            return
        self._adopt_answer_of(repeated_read)
        changed = [
            name
            for name, value in converted_arguments.items()
            if value != arguments[name] or type(value) is not type(arguments[name])
        ]
        note = f"{', '.join(sorted(changed))}: sent in the type that {self.tool.name} takes."
        self._record_recovery(self.tool, note)

    async def _try_stand_ins(self, kind: ReadFailureKind, failures: list[str]) -> str | None:
        """Has other reads of the same server answer in place of the failed one, and returns a note on it; None if all
        failed. ``failures`` gets a text on each that was tried and failed.
        """
        others, missing_tool = tuple(self._ctx.toolbox.tools.values()), self.tool
        is_gone = kind is ReadFailureKind.TOOL_GONE
        stand_ins = find_renamed_reads(missing_tool, self.arguments, others) if is_gone else ()
        for number, stand_in in enumerate(stand_ins, 1):
            if note := await self._try_stand_in(f":instead{number}", stand_in, failures):
                return note
        if note := await self._read_one_by_one(find_single_reads(missing_tool, self.arguments, others), failures):
            return note
        tried_names = [failure.partition(":")[0] for failure in failures]
        offered = [
            tool
            for tool in others
            if tool.name not in tried_names and may_be_offered_as_replacement(missing_tool, tool)
        ]
        advised_call = await self._ask_model_for_stand_in(offered) if is_gone and offered else None
        return await self._try_stand_in(":advised", advised_call, failures) if advised_call else None

    async def _try_stand_in(self, step: str, call: ReadCall, failures: list[str]) -> str | None:
        other = ServerRead(self._ctx, f"{self._key}{step}", *call)
        await other.send()
        await other.correct_names()
        if has_failed(other.answer):
            failures.append(_describe_failure(call.tool, other.answer))
            return None
        note = f"{self.tool.name} is gone; {call.tool.name} answered instead."
        self._adopt_answer_of(other)
        return note

    async def _read_one_by_one(self, calls: Sequence[ReadCall], failures: list[str]) -> str | None:
        """Makes the single reads and takes their results as this read's rows.

        Returns a note on how many succeeded; None if all failed: then the first failure is added to ``failures``.
        """
        rows: list[Json] = []
        failed_reads: list[str] = []
        for number, call in enumerate(calls, 1):
            answer = (await send_call(self._ctx, f"{self._key}:single{number}", *call, {})).answer
            if has_failed(answer):
                failed_reads.append(_describe_failure(call.tool, answer))
            else:
                rows.append(answer.content)
        if not rows:
            failures += failed_reads[:1]
            return None
        (self.tool, self.arguments), self.names, self.answer = calls[0], {}, ToolAnswer(rows)
        note = f"Read one by one with {self.tool.name}: {len(rows)} of {len(calls)}."
        return f"{MISSING_ROWS_NOTE}: {note} Not read: {'; '.join(failed_reads[:3])}" if failed_reads else note

    async def _ask_model_for_stand_in(self, offered: Sequence[Tool]) -> ReadCall | None:
        """The call that a model proposes in place of a tool that is gone; None without a usable answer."""
        ctx = self._ctx
        missing_tool = self.tool
        arguments = self.arguments
        tools_by_name = {tool.name: tool for tool in offered[:_MOST_TOOLS_OFFERED]}
        tool_descriptions: list[Json] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in tools_by_name.values()
        ]
        missing_call: JsonObject = {"tool": missing_tool.name, "arguments": arguments}
        question = ModelQuestion(
            step=f"{self._key}:advice",
            system=(ctx.prompts.role, ctx.prompts.stand_in),
            sections={"task": ctx.task, "read_tools": tool_descriptions, "missing": missing_call},
            schema=STAND_IN_SCHEMA,
            max_tokens=512,
        )

        def check_advice(advice: StandInAdvice) -> ReadCall | None:
            if advice.tool is None:
                return None
            tool = tools_by_name.get(advice.tool)
            try:
                stand_in = accept_stand_in(missing_tool, arguments, tool, loads_object(advice.arguments_json))
            except ValueError as error:
                raise UnusableAnswer(f"arguments_json is no JSON object: {error}") from error
            if stand_in is None:
                raise UnusableAnswer(
                    "it names no tool of <read_tools>, or arguments that do not fit or are not those of <missing>"
                )
            return stand_in

        try:
            return (await ask_until_accepted(ctx, question, StandInAdvice, check_advice))[0]
        except Unanswered as unanswered:
            ctx.journal.add_event("note", tool=missing_tool.name, problem=unanswered.reason)
            return None

    async def read_all_pages(self) -> None:
        """If the answer is the first page of a list, reads the other pages and puts all rows into the answer."""
        ctx = self._ctx
        if has_failed(self.answer):
            return
        paged_list = open_paged_list(self.tool, self.arguments, self.answer.content, ctx.limits.lists)
        if paged_list is None:
            return

        async def ask_for_page(page_arguments: JsonObject) -> ToolAnswer:
            key = f"{self._key}:page{paged_list.pages + 1}"
            return (await send_call(ctx, key, self.tool, page_arguments, self.names)).answer

        await paged_list.read_to_end(ask_for_page)
        if note := paged_list.summary:
            sizes = {"pages": paged_list.pages, "rows": paged_list.row_count}
            ctx.journal.add_event("note", tool=self.tool.name, **sizes, partial=paged_list.why_partial)
            self.answer = self.answer._replace(content=paged_list.merge_rows(self.answer.content))
            self._notes.append(note)

    def add_expected_names(self) -> None:
        """Adds renamed fields under the names that were asked for or are expected; notes them in the journal."""
        content = schema_drift.add_old_names(self.answer.content, self.names)
        self.answer = self.answer._replace(content=content)
        if not self.is_source_of_facts:
            return
        call = {"connection_id": self.tool.connection_id, "tool": self.tool.name, "arguments_json": "{}"}
        content, note = with_expected_names(self._ctx, Fact(ref="", **call, result_json=dumps(content)))
        if note:
            self._ctx.journal.add_event("note", tool=self.tool.name, renamed_fields=note)
            self._notes.append(note)
            self.answer = self.answer._replace(content=content)

    def _adopt_answer_of(self, other: "ServerRead") -> None:
        self.tool = other.tool
        self.arguments = other.arguments
        self.names = other.names
        self.answer = other.answer

    def _record_recovery(self, tool: Tool, how: str) -> None:
        """Notes how the read of the tool was recovered, or why not."""
        self._ctx.journal.add_event("note", tool=tool.name, recovered=not self.answer.is_error, how=how)
        self._notes.append(how)


class StandInAdvice(Contract):
    tool: str | None
    arguments_json: str
    why: str


def _describe_failure(tool: Tool, answer: ToolAnswer) -> str:
    return f"{tool.name}: {dumps(answer.content)[:_LONGEST_FAILURE_TEXT]}"


_CLEAREST_SCHEMA_WORDS = frozenset({"describe", "schema", "columns"})
_SCHEMA_WORDS = frozenset("describe schema schemas column columns field fields introspect structure metadata".split())
_MOST_READS_OF_COLUMNS = 4


def find_schema_reads(tools: Iterable[Tool], failed_tool: Tool, arguments: JsonObject, error: Json) -> list[ReadCall]:
    """At most four reads that may show the columns which a failed call should have used, the likeliest first."""
    tables = _guess_tables(failed_tool, arguments, error)
    describing_tools = [
        tool
        for tool in tools
        if (tool.connection_id, tool.tool_class) == (failed_tool.connection_id, ToolClass.READ)
        and tool.name != failed_tool.name
        and not _SCHEMA_WORDS.isdisjoint(words_of(tool.name))
    ]
    describing_tools.sort(key=lambda tool: (_CLEAREST_SCHEMA_WORDS.isdisjoint(words_of(tool.name)), tool.name))
    arguments_by_tool = ((tool, _arguments_by_table(tool, tables)) for tool in describing_tools)
    reads = (ReadCall(tool, arguments) for tool, by_table in arguments_by_tool for arguments in by_table)
    return [read for read in reads if find_argument_problems(read.arguments, read.tool) is None][
        :_MOST_READS_OF_COLUMNS
    ]


def _guess_tables(tool: Tool, arguments: JsonObject, error: Json) -> list[str]:
    """Possible names of the table: from the call, from the error, from the tool's name."""
    noun = "_".join(words_of(tool.name)[1:])
    names = (schema_drift.find_table_argument(arguments), find_table_name(error), noun, noun and f"{noun}s")
    return [name for name in dict.fromkeys(names) if name]


def _arguments_by_table(tool: Tool, tables: Iterable[str]) -> list[JsonObject]:
    """The arguments to ask the tool about each table: in the parameter for a table, else in the only required one."""
    table_parameters = [name for name in tool.parameters if "_".join(words_of(name)) in TABLE_PARAMETERS]
    parameter = next(iter([*table_parameters, *(tool.required if len(tool.required) == 1 else [])]), None)
    return [{parameter: table} for table in tables] if parameter else [{}]
