"""One call to a server, sent as a step of the journal; and its answer under the field names that are expected."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.core.figures.numbers import read_figure
from services.executor.core.records.seen_records import ParsedFact, SeenRecord, find_records, is_named_in_task
from services.executor.core.session.context import TurnContext
from services.executor.core.session.recorded_answers import record_call_failure
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import Failed, is_figure_name, parse_pattern
from services.executor.core.tools.failures import ReadFailureKind, classify_failure, says_timed_out
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import map_objects
from services.executor.core.tools.schema_drift import COLUMN_ALIASES, ColumnMatch, match_column, rename_arguments
from services.executor.core.tools.toolbox import has_tool_rules
from services.executor.ports.tools import AnswerTooLarge, Tool, ToolAnswer, ToolSilent, ToolUnreachable
from shared.domain import span_names as names
from shared.domain.exact_json import Json, JsonObject, dumps, loads, loads_object
from shared.domain.protected_values import ProtectedKind
from shared.domain.redaction import redact_json
from shared.domain.words import ToolClass
from shared.ports.tracing import SpanKind

_CLAUSE_PATTERN = re.compile(
    r"(?P<name>[A-Za-z_][\w.-]*(?: [\w.-]+){0,3}?)(?: is(?:\s+|$)|:(?:\s+|$)| ?= ?)(?P<value>.*)", re.DOTALL
)
_CLAUSE_SEPARATOR_PATTERN = re.compile(r";(?=\s|$)|\n")
_WORD_AND_SENTENCES_PATTERN = re.compile(
    r"(?P<value>\S*[^\s.])\.\s+(?P<rest>[A-Z].*)", re.DOTALL
)  # one word, then other sentences
_LEADING_REMARK_PATTERN = re.compile(r"(?P<head>[^:;\n=]{3,120}):\s+(?=[A-Za-z_])(?P<rest>.+)", re.DOTALL)
_NUMBER_PATTERN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_FEWEST_CLAUSES = 2
_REMARKS_FIELD = "told"
_MOST_ERROR_CHARACTERS = 200


def parse_field_clauses(content: Json) -> Json:
    """A text that consists only of ``name is value`` clauses as an object with these fields; any other content
    unchanged.

    Plainly written numbers become numbers, a clause without a value an empty text. What stands before the first clause,
    and sentences after a last clause of one word, are kept as the field ``told``.
    """
    if not isinstance(content, str) or ";" not in content:
        return content
    text = content.strip().removesuffix(".")
    head = _LEADING_REMARK_PATTERN.fullmatch(text)
    remarks = [head["head"]] if head else []
    fields = _parse_clauses(head["rest"] if head else text, remarks)
    if head and not fields:
        remarks = []
        fields = _parse_clauses(text, remarks)
    if not fields:
        return content
    return {_REMARKS_FIELD: ". ".join(remarks), **fields} if remarks else {**fields}


async def call_server_once(ctx: TurnContext, tool: Tool, arguments: JsonObject, *, is_read: bool) -> ToolAnswer:
    """The server's answer; raises ``ToolUnreachable`` and ``ToolSilent``, which are recorded for a replay.

    A write's error that only reports a time-out counts as ``ToolSilent``. ``is_read``: the call may be repeated; in its
    answer a text of clauses becomes an object; an answer that is too large becomes an error, since a read can ask for
    less.
    """
    ask = ctx.ports.tools.read if is_read else ctx.ports.tools.call
    connection = ctx.toolbox.connections[tool.connection_id]
    with ctx.ports.tracer.open_span(names.TOOL_OPERATION, SpanKind.CLIENT) as span:
        span.rename(names.TOOL.format(tool=tool.name))
        conventional = {names.OPERATION: names.TOOL_OPERATION, names.TOOL_NAME: tool.name, names.TOOL_TYPE: "function"}
        own = {names.TOOL_CLASS: tool.tool_class.value, names.CONNECTION: tool.connection_id}
        span.annotate({**conventional, **own})
        try:
            session_id = connection.session_id_for(ctx.record.tenant, ctx.record.session_id)
            answer = await ask(connection, tool.name, arguments, ctx.limits.tool_seconds, session_id)
            if not is_read and _may_still_be_carried_out(tool, answer):
                error_text = dumps(answer.content)[:_MOST_ERROR_CHARACTERS]
                raise ToolSilent(f"{tool.name}: the server did not get its own answer in time: {error_text}")
        except (ToolUnreachable, ToolSilent) as error:
            if not (is_read and isinstance(error, AnswerTooLarge)):
                record_call_failure(ctx.journal, connection, tool.name, arguments, error)
                span.annotate({names.TOOL_OUTCOME: "unreachable" if isinstance(error, ToolUnreachable) else "silent"})
                raise
            answer = ToolAnswer(f"{error}: ask for less, by a filter or a page", is_error=True)
        span.annotate({names.TOOL_OUTCOME: "error" if answer.is_error else "ok"})
        if answer.is_error:
            span.record_failure("tool_error")
        return answer._replace(content=parse_field_clauses(answer.content)) if is_read else answer


def _may_still_be_carried_out(tool: Tool, answer: ToolAnswer) -> bool:
    """Whether an error answer only reports a time-out, so that the call may still be carried out."""
    is_final = answer.not_begun or tool.catalogue.errors_change_nothing
    return answer.is_error and not is_final and says_timed_out(answer.content)


def _parse_clauses(text: str, remarks: list[str]) -> dict[str, Json] | None:
    """The fields of a text of clauses; None for any other text. Sentences after the last clause go to ``remarks``."""
    clauses = [
        _CLAUSE_PATTERN.fullmatch(part.strip()) for part in _CLAUSE_SEPARATOR_PATTERN.split(text) if part.strip()
    ]
    fields: dict[str, Json] = {}
    for number, clause in enumerate(clauses, 1):
        if clause is None or clause["name"] in fields:
            return None
        value = clause["value"].strip()
        last_word = _WORD_AND_SENTENCES_PATTERN.fullmatch(value) if number == len(clauses) else None
        if last_word:
            value = last_word["value"]
            remarks.append(last_word["rest"])
        fields[clause["name"]] = loads(value) if _NUMBER_PATTERN.fullmatch(value) else value
    return fields if len(fields) >= _FEWEST_CLAUSES else None


_LONGEST_ARGUMENTS = 200  # characters of the arguments that those who watch are told
_PAUSE_SECONDS = (0.5, 2.0)  # seconds before a read is made again that its server refused for the moment


class AnsweredCall(NamedTuple):
    answer: ToolAnswer
    names: Mapping[str, str]  # names that were sent, by the names that were asked for
    is_silent: bool = False  # no answer came at all


async def send_call(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, names: Mapping[str, str]
) -> AnsweredCall:
    """The server's answer to a call, as the journal step ``key``.

    ``names``: ``{name in the arguments: the server's present name}``.

    A read is repeated a few times if the server could not serve it for the moment, and once if no answer came; never
    where there are rules about tools, which may allow a single call. Raises ``Failed`` if no answer comes at all.
    """
    may_repeat = tool.tool_class is ToolClass.READ and not has_tool_rules(ctx.policies)
    answered_call = await _send_as_step(ctx, key, tool, arguments, names, may_be_silent=may_repeat)
    if answered_call.is_silent:
        answered_call = await _send_as_step(ctx, f"{key}:after_silence", tool, arguments, names)
    seconds_left = ctx.limits.tool_seconds if may_repeat else 0.0
    for number, pause in enumerate(_PAUSE_SECONDS, 1):
        seconds_left -= pause
        if seconds_left <= 0 or classify_failure(answered_call.answer) is not ReadFailureKind.FOR_THE_MOMENT:
            break
        step_key = f"{key}:again{number}"
        if ctx.journal.get(step_key) is None:
            await asyncio.sleep(pause)
        answered_call = await _send_as_step(ctx, step_key, tool, arguments, names)
    return answered_call


def format_arguments(arguments: JsonObject, hidden: Mapping[str, ProtectedKind]) -> str:
    """The arguments as JSON for people, without ``hidden`` values, and only then cut to 200 characters."""
    return dumps(redact_json(arguments, hidden))[:_LONGEST_ARGUMENTS]


async def _send_as_step(
    ctx: TurnContext,
    key: str,
    tool: Tool,
    arguments: JsonObject,
    names: Mapping[str, str],
    *,
    may_be_silent: bool = False,
) -> AnsweredCall:
    """The answer to the call, as a journal step.

    Raises ``Failed`` if the server cannot be reached, or if no answer comes; with ``may_be_silent`` that is a result,
    too, since the call may be repeated.
    """

    async def call() -> str:
        tool_fields = {"tool": tool.name, "tool_class": tool.tool_class.value, "connection": tool.connection_id}
        try:
            sent_arguments = rename_arguments(arguments, names)
            is_read = tool.tool_class is ToolClass.READ
            answer = await call_server_once(ctx, tool, sent_arguments, is_read=is_read)
        except (ToolUnreachable, ToolSilent) as error:
            if not (may_be_silent and isinstance(error, ToolSilent)):
                reason = f"the tool server {tool.connection_id!r} did not answer {tool.name}: {error}"
                raise Failed(reason, "tool_server") from error
            ctx.journal.add_event("note", tool=tool.name, problem="no answer came; it is asked once more")
            return dumps({"content": None, "is_error": True, "renamed": {**names}, "silent": True})
        renamed: dict[str, JsonValue] = {"renamed": {**names}} if names else {}
        arguments_text = format_arguments(arguments, ctx.journal.hidden) if arguments else None
        ctx.journal.add_event("tool", **tool_fields, asked=arguments_text, ok=not answer.is_error, **renamed)
        return dumps({"content": answer.content, "is_error": answer.is_error, "renamed": {**names}})

    stored = loads_object(await ctx.journal.run_step(key, "tool", call))
    names_sent = cast("dict[str, str]", stored.get("renamed", {}))
    answer = ToolAnswer(stored["content"], bool(stored["is_error"]))
    return AnsweredCall(answer, names_sent, stored.get("silent") is True)


_QUOTED_PATTERN = re.compile(r"\"[^\"]*\"|'[^']*'")
_NAME_PATTERN = re.compile(r"(?<![\w.])[a-z_][a-z0-9_]*(?![\w.(])")
_CONDITION_WORDS = frozenset(
    "and or not in is true false null none contains exists matches if else between like".split()
)
_FIELD_PATTERN = re.compile(r"(?<![\w./-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w./(-])")
_FIGURE_FIELD = "amount"  # what stands under this name, or under one of its aliases, is a figure
_NUMBERED_NAME_PATTERN = re.compile(r"\b([A-Za-z]+)-?\d[\w-]*\b")


_RENAME_NOTE = "the server sent no {}: {} is taken for it."
_RENAME_NOTE_PATTERN = re.compile(r"the server sent no (\S+): (\S+) is taken for it\.")


class ExpectedField(NamedTuple):
    """Possible names of one field. ``kinds``: of the records that have it; if empty, those that the task names."""

    fields: tuple[str, ...]
    kinds: tuple[str, ...] = ()


def _list_expected_fields(ctx: TurnContext) -> tuple[ExpectedField, ...]:
    """The fields that the rules, the process's figures and the task's text name."""
    template = ctx.template
    conditions = [rule.condition for policy in ctx.policies for rule in policy.rules]
    about_records = (figure.subject_kinds for figure in template.figures if figure.about)
    kinds = tuple(dict.fromkeys(kind for figure_kinds in about_records for kind in figure_kinds))
    words = (word for condition in conditions for word in _record_fields_of_condition(ctx, condition))
    rule_fields = [ExpectedField((word,), kinds) for word in words if word not in _CONDITION_WORDS]
    task_fields = [ExpectedField((name,)) for name in _FIELD_PATTERN.findall(ctx.task) if name not in ctx.toolbox.names]
    operands = (operand for figure in template.figures for operand in figure.operands)
    patterns = (parse_pattern(operand) for operand in operands if not is_figure_name(operand))
    figure_fields = [ExpectedField(pattern.fields, pattern.kinds) for pattern in patterns if pattern.fields]
    return tuple(dict.fromkeys((*figure_fields, *rule_fields, *task_fields)))


def _record_fields_of_condition(ctx: TurnContext, condition: str) -> Iterator[str]:
    """Yields the field names in a rule's condition, without those that are arguments of all tools that it names."""
    named_tools = [
        tool for text in _QUOTED_PATTERN.findall(condition) for tool in ctx.toolbox.find_tools_named(text[1:-1])
    ]
    for word in _NAME_PATTERN.findall(_QUOTED_PATTERN.sub("''", condition)):
        if not (named_tools and all(word in tool.parameters for tool in named_tools)):
            yield word


def with_expected_names(ctx: TurnContext, fact: Fact) -> tuple[Json, str]:
    """A fact's content with renamed fields also under the expected names, and a note on that, empty if it has none."""
    fields, parsed_fact = _list_expected_fields(ctx), ParsedFact.model_validate(dict(fact))
    added: dict[int, JsonObject] = {}
    renames: dict[str, str] = {}
    for record in find_records((parsed_fact,), ctx.toolbox.keys) if fields else ():
        names = _find_renames(record, fields, ctx.task)
        added[id(record.record)] = {old: record.record[new] for old, new in names.items()}
        renames |= names
    if not renames:
        return parsed_fact.result, ""
    note = " ".join(_RENAME_NOTE.format(old, new) for old, new in sorted(renames.items()))
    return map_objects(parsed_fact.result, lambda record: {**record, **added.get(id(record), {})}), note


def content_as_received(fact: Fact) -> Json:
    """The fact's content as the server sent it, without the names that ``with_expected_names`` added."""
    names = dict(_RENAME_NOTE_PATTERN.findall(fact.note))

    def without_old_names(record: JsonObject) -> JsonObject:
        added_names = {old for old, new in names.items() if new in record and record.get(old) == record[new]}
        return {key: value for key, value in record.items() if key not in added_names}

    return map_objects(fact.result, without_old_names) if names else fact.result


def _find_renames(record: SeenRecord, fields: Sequence[ExpectedField], task: str) -> Mapping[str, str]:
    """``{expected name: the record's}``, without columns that match two expected names or are themselves expected."""
    own_fields = tuple(field for field in fields if _is_record_of_expected_field(field, record, task))
    values = ((name, value) for name, value in record.record.items() if value is not None)
    scalar_names = tuple(name for name, value in values if not isinstance(value, dict | list))
    names = _find_unique_renames(own_fields, tuple(record.record), scalar_names) if own_fields else {}
    figures = COLUMN_ALIASES[_FIGURE_FIELD]
    renames: dict[str, str] = {}
    for old, new in names.items():
        is_figure = new in figures and old in (_FIGURE_FIELD, *figures)
        if not is_figure or read_figure(record.record[new]) is not None:
            renames[old] = new
    return renames


@lru_cache(maxsize=512)  # the rows of a list have the same names
def _find_unique_renames(
    fields: tuple[ExpectedField, ...], names: tuple[str, ...], scalar_names: tuple[str, ...]
) -> Mapping[str, str]:
    renames_by_name: dict[str, set[str]] = {}
    expected = {name for field in fields for name in field.fields}
    free_names = {name: "" for name in scalar_names if name not in expected}
    for field in fields:
        if not any(name in names for name in field.fields):
            columns = ((name, _find_column(field, name, free_names)) for name in field.fields)
            matches = [(name, column.name) for name, column in columns if column]
            if len({column_name for _, column_name in matches}) == 1:
                renames_by_name.setdefault(matches[0][0], set()).add(matches[0][1])
    unique_renames = {old: next(iter(names)) for old, names in renames_by_name.items() if len(names) == 1}
    counts = Counter(unique_renames.values())
    single = ((old, new) for old, new in unique_renames.items() if counts[new] == 1)
    return {old: new for old, new in single if words_of(old)[:-1] != words_of(new)}  # no ``item`` for ``item_price``


def _find_column(field: ExpectedField, name: str, free_names: Mapping[str, str]) -> ColumnMatch | None:
    """The column that the field has now, or None. An alias counts only if the kind is known or both share a word."""
    column = match_column(name, name, free_names)
    if column is None or column.tier != "alias" or field.kinds:
        return column
    return column if {*words_of(name)} & {*words_of(column.name)} else None


def _is_record_of_expected_field(field: ExpectedField, record: SeenRecord, task: str) -> bool:
    if field.kinds:
        return any(record.has_name_ending_in(kind) for kind in field.kinds)
    return _has_ids_of_one_kind(task) and is_named_in_task(record, task)


@lru_cache(maxsize=16)
def _has_ids_of_one_kind(task: str) -> bool:
    return len({prefix.upper() for prefix in _NUMBERED_NAME_PATTERN.findall(task)}) == 1
