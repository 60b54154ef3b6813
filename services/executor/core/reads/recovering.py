"""What is done about a read that failed, by the kind of its failure.

A tool that is gone is replaced by one that does the same, by single reads, or as a model advises. A value of the wrong
type is sent once more in the type that the server names. What is not permitted or not found is said, and nothing is
asked in its place.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.executor.core.model.model_calls import ModelQuestion, Unanswered, UnusableAnswer, ask_checked
from services.executor.core.reads.one_call import AnsweredCall, ShownContent, as_expected, correct_names, send_call
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ledger import has_tool_rules
from services.executor.core.session.values import Fact
from services.executor.core.states.prompts import STAND_IN_SCHEMA
from services.executor.core.tools import schema_drift
from services.executor.core.tools.failures import Failure, failure_of, has_failed, is_echo, with_wanted_types
from services.executor.core.tools.paginate import PARTIAL
from services.executor.core.tools.paginate_walk import listing, read_to_end, report
from services.executor.core.tools.recover import Instead, check_proposal, may_be_proposed, singles, synonyms
from services.executor.core.tools.schema_drift import Corrections
from services.executor.ports.tools import Tool, ToolAnswer
from shared.contracts.base import Contract
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import ToolClass
from shared.ports.models import Tier


class ReadOutcome(NamedTuple):
    """The answer to a read, and the new column names by old ones that it taught."""

    answer: ToolAnswer
    learned: Mapping[str, str]
    echoes: bool = False
    note: str = ""  # of a list that came in parts: how many, and whether all rows are there

    @property
    def tells(self) -> bool:
        """Whether the answer is a source: a refusal is none, nor is an answer that only repeats the call."""
        return not (self.answer.is_error or self.echoes)


def known_corrections(ctx: TurnContext, progress: Progress) -> Corrections:
    """The renamed columns that the session knew when the turn began, and those that this task has learned since."""
    return Corrections({**ctx.session.corrections, **progress.corrections})


async def read(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, known: Corrections | None = None
) -> ReadOutcome:
    """Makes one journaled read. Raises ``Failed`` if the server does not answer: what it would have said is not
    guessed.

    Where the server knows a column by another name, the call is corrected and made once more for that column. The
    result then shows the column under the name that was asked for, too; so it does with a field that only changed its
    name. A read whose tool is gone is put to one that asks the same, if there is one.
    """
    names = known.for_call(tool, arguments) if known else {}
    first = await send_call(ctx, key, tool, arguments, names)
    made, learned = await correct_names(ctx, key, tool, arguments, first)
    made, asked, given, instead = await recover_read(ctx, key, tool, arguments, made)
    made, note = await _read_all_pages(ctx, key, asked, given, made)
    content, renamed = schema_drift.under_both_names(made.answer.content, made.names), ""
    echoes = is_echo(asked.name, content)
    if not (made.answer.is_error or echoes):
        content, renamed = _as_expected(ctx, asked, content)
    # What is missing from a list is said first: who reads a note looks there.
    notes = sorted(filter(None, (note, instead, renamed)), key=lambda text: not text.startswith(PARTIAL))
    return ReadOutcome(made.answer._replace(content=content), learned, echoes, " ".join(notes))


def _as_expected(ctx: TurnContext, tool: Tool, content: Json) -> ShownContent:
    """The content with fields that only changed their name under the expected name too; renames are noted in the
    journal.
    """
    fact = Fact(
        ref="", connection_id=tool.connection_id, tool=tool.name, arguments_json="{}", result_json=dumps(content)
    )
    shown = as_expected(ctx, fact)
    if shown.note:
        ctx.journal.tell("note", tool=tool.name, renamed_fields=shown.note)
    return shown


async def _read_all_pages(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, made: AnsweredCall
) -> tuple[AnsweredCall, str]:
    """The answer with all rows of the list that it is the first part of, and what is to be said of it.

    Every part is a step of the journal.
    """
    found = None if has_failed(made.answer) else listing(tool, arguments, made.answer.content, ctx.limits.lists)
    if found is None:
        return made, ""

    async def ask(following: JsonObject) -> ToolAnswer:
        return (await send_call(ctx, f"{key}:page{found.pages + 1}", tool, following, made.names)).answer

    await read_to_end(found, tool, ask)
    note = report(found)
    if note:
        ctx.journal.tell("note", tool=tool.name, pages=found.pages, rows=found.total, partial=found.why_partial)
        made = made._replace(answer=made.answer._replace(content=found.merge_rows(made.answer.content)))
    return made, note


MOST_OFFERED = 30
_SHOWN = 120  # characters of each failure that are told
# What is said of a failure that is final; whoever reads it knows that asking again changes nothing.
_SAID = {
    Failure.NOT_PERMITTED: "{tool} is not permitted here; nothing was asked in its place.",
    Failure.NOT_FOUND: "{tool} works, and has no such record.",
}


class Advice(Contract):
    tool: str | None
    arguments_json: str
    why: str


class RecoveredCall(NamedTuple):
    """The last answer, with the ``tool`` and ``arguments`` that gave it, and a ``note`` on how it was recovered."""

    sent: AnsweredCall
    tool: Tool
    arguments: JsonObject
    note: str = ""


async def ask_for_stand_in(
    ctx: TurnContext, key: str, gone: Tool, arguments: JsonObject, offered: Sequence[Tool]
) -> Instead | None:
    """The call that a model proposes in place of a tool that is gone; None if it knows none, or gives no usable
    answer.
    """
    shown = {tool.name: tool for tool in offered[:MOST_OFFERED]}
    listed: list[Json] = [
        {"name": one.name, "description": one.description, "input_schema": one.input_schema} for one in shown.values()
    ]
    question = ModelQuestion(
        step=f"{key}:advice",
        tier=Tier.HAIKU,
        system=(ctx.prompts.role, ctx.prompts.stand_in),
        sections={
            "task": ctx.task,
            "read_tools": listed,
            "missing": {"tool": gone.name, "arguments": arguments},
        },
        schema=STAND_IN_SCHEMA,
        max_tokens=512,
    )

    def call(advice: Advice) -> Instead | None:
        return _call(advice, gone, arguments, shown.get(advice.tool or ""))

    try:
        return (await ask_checked(ctx, question, Advice, call)).value
    except Unanswered as none:
        ctx.journal.tell("note", tool=gone.name, problem=none.reason)
        return None


async def recover_read(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, made: AnsweredCall
) -> RecoveredCall:
    """The answer as it came, or the one that a retry or another tool gave, by the kind of failure.

    Every call is a journal step. Where there are rules about tools nothing is replaced or repeated: they name what may
    be called, and how often.
    """
    kind = failure_of(made.answer) if tool.tool_class is ToolClass.READ else None
    unchanged = RecoveredCall(made, tool, arguments)
    if kind in _SAID:
        return _report_recovery(ctx, tool, unchanged._replace(note=_SAID[kind].format(tool=tool.name)))
    if kind is Failure.WRONG_TYPE:
        return await _retry_with_wanted_types(ctx, key, unchanged)
    return (
        await _ask_stand_ins(ctx, key, kind, unchanged) if kind in (Failure.TOOL_GONE, Failure.TOO_MUCH) else unchanged
    )


def _call(advice: Advice, gone: Tool, arguments: JsonObject, tool: Tool | None) -> Instead | None:
    if advice.tool is None:
        return None
    try:
        instead = check_proposal(gone, arguments, tool, loads_object(advice.arguments_json))
    except ValueError as error:
        raise UnusableAnswer(f"arguments_json is no JSON object: {error}") from error
    if instead is None:
        raise UnusableAnswer(
            "it names no tool of <read_tools>, or arguments that do not fit or are not those of <missing>"
        )
    return instead


async def _retry_with_wanted_types(ctx: TurnContext, key: str, refused: RecoveredCall) -> RecoveredCall:
    """Makes the call once more with the values in the types that the server named; the refusal as it came if that fails
    too.
    """
    tool, arguments, made = refused.tool, refused.arguments, refused.sent
    mended = None if has_tool_rules(ctx.policies) else with_wanted_types(arguments, made.answer.content)
    if mended is None:
        return refused
    again = await send_call(ctx, f"{key}:types", tool, mended, made.names)
    if has_failed(again.answer):
        return refused
    changed = sorted(
        name for name in mended if mended[name] != arguments[name] or type(mended[name]) is not type(arguments[name])
    )
    note = f"{', '.join(changed)}: sent in the type that {tool.name} takes."
    return _report_recovery(ctx, tool, RecoveredCall(again, tool, mended, note))


async def _ask_stand_ins(ctx: TurnContext, key: str, kind: Failure, unchanged: RecoveredCall) -> RecoveredCall:
    """The answer of other reads of the same server in place of the failed one; else the failure, with what was
    tried.
    """
    made, tool, arguments, _ = unchanged
    tried: list[str] = []
    if not has_tool_rules(ctx.policies):
        others = tuple(ctx.toolbox.tools.values())
        gone = kind is Failure.TOOL_GONE
        found = await _by_synonym(ctx, key, tool, arguments, others, tried) if gone else None
        found = found or await _read_one_by_one(ctx, key, singles(tool, arguments, others), tried)
        found = found or (await _ask_advised(ctx, key, tool, arguments, others, tried) if gone else None)
        if found is not None:
            return _report_recovery(ctx, tool, found)
    what = f"tried instead: {'; '.join(tried)}" if tried else "nothing could stand in for it"
    failed = made._replace(answer=made.answer._replace(is_error=True))
    return _report_recovery(ctx, tool, unchanged._replace(sent=failed, note=f"{tool.name} could not be read; {what}."))


async def _by_synonym(
    ctx: TurnContext, key: str, gone: Tool, arguments: JsonObject, others: Sequence[Tool], tried: list[str]
) -> RecoveredCall | None:
    for number, instead in enumerate(synonyms(gone, arguments, others), 1):
        found = await _try_stand_in(ctx, f"{key}:instead{number}", gone, instead, tried)
        if found is not None:
            return found
    return None


async def _ask_advised(
    ctx: TurnContext, key: str, gone: Tool, arguments: JsonObject, others: Sequence[Tool], tried: list[str]
) -> RecoveredCall | None:
    """The answer of the tool that a model proposes among untried reads about the same kind of record; None if there is
    none.
    """
    before = [said.partition(":")[0] for said in tried]
    open_to_advice = [tool for tool in others if tool.name not in before and may_be_proposed(gone, tool)]
    instead = await ask_for_stand_in(ctx, key, gone, arguments, open_to_advice) if open_to_advice else None
    return await _try_stand_in(ctx, f"{key}:advised", gone, instead, tried) if instead else None


async def _try_stand_in(
    ctx: TurnContext, step: str, gone: Tool, call: Instead, tried: list[str]
) -> RecoveredCall | None:
    tool, given = call
    made, _ = await correct_names(ctx, step, tool, given, await send_call(ctx, step, tool, given, {}))
    if not has_failed(made.answer):
        return RecoveredCall(made, tool, given, f"{gone.name} is gone; {tool.name} answered instead.")
    tried.append(_failure(tool, made.answer))
    return None


async def _read_one_by_one(
    ctx: TurnContext, key: str, calls: Sequence[Instead], tried: list[str]
) -> RecoveredCall | None:
    """Makes single reads, and returns their rows in the order of the calls; None if not one could be made."""
    rows: list[Json] = []
    missing: list[str] = []
    made: AnsweredCall | None = None
    for number, (tool, given) in enumerate(calls, 1):
        one = await send_call(ctx, f"{key}:single{number}", tool, given, {})
        if has_failed(one.answer):
            missing.append(_failure(tool, one.answer))
        else:
            made = one
            rows.append(one.answer.content)
    if made is None:
        tried += missing[:1]
        return None
    tool, arguments = calls[0]
    note = f"Read one by one with {tool.name}: {len(rows)} of {len(calls)}."
    if missing:
        note = f"{PARTIAL}: {note} Not read: {'; '.join(missing[:3])}"
    return RecoveredCall(made._replace(answer=ToolAnswer(rows)), tool, arguments, note)


def _report_recovery(ctx: TurnContext, asked: Tool, found: RecoveredCall) -> RecoveredCall:
    ctx.journal.tell("note", tool=asked.name, recovered=not found.sent.answer.is_error, how=found.note)
    return found


def _failure(tool: Tool, answer: ToolAnswer) -> str:
    return f"{tool.name}: {dumps(answer.content)[:_SHOWN]}"
