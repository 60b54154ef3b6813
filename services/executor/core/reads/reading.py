"""One read, journaled; and the same with the names that the server's columns have now (seed 002, schema_adapter.py)."""

from collections.abc import Mapping
from typing import NamedTuple

from services.executor.core.dossier.dossier import Fact, Progress
from services.executor.core.reads.one_call import AnsweredCall, send_call
from services.executor.core.reads.recovering import recover_read
from services.executor.core.reads.renamed_fields import ShownContent, as_expected
from services.executor.core.reads.renaming import correct_names
from services.executor.core.session.context import TurnContext
from services.executor.core.tools import schema_drift
from services.executor.core.tools.corrections import Corrections
from services.executor.core.tools.echo import is_echo
from services.executor.core.tools.failures import has_failed
from services.executor.core.tools.paginate_walk import PARTIAL, listing, report
from services.executor.core.tools.validate import problems_with
from services.executor.ports.tools import Tool, ToolAnswer
from shared.domain.exact_json import Json, JsonObject, dumps


class ReadOutcome(NamedTuple):
    """What a read gave, and what it taught of renamed columns: new names by old ones."""

    answer: ToolAnswer
    learned: Mapping[str, str]
    echoes: bool = False
    note: str = ""  # of a list that came in parts: how many, and whether all rows are there

    @property
    def tells(self) -> bool:
        """Whether it is a source: a refusal is none, nor is an answer that only repeats the call."""
        return not (self.answer.is_error or self.echoes)


def known_corrections(ctx: TurnContext, progress: Progress) -> Corrections:
    """What the session knew when the turn began, and what this task has learned since."""
    return Corrections({**ctx.session.corrections, **progress.corrections})


async def read(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, known: Corrections | None = None
) -> ReadOutcome:
    """One journaled read. A server that does not answer ends the run: what it would have said is not guessed.

    Where the server knows a column by another name, the call is corrected and made once more for that column. The
    result then shows the column under the name that was asked for, too; so it does with a field that only changed its
    name. A read whose tool is gone is put to one that asks the same, if there is one.
    """
    names = known.for_call(tool, arguments) if known else {}
    first = await send_call(ctx, key, tool, arguments, names)
    made, learned = await correct_names(ctx, key, tool, arguments, first)
    made, asked, given, instead = await recover_read(ctx, key, tool, arguments, made)
    made, note = await _whole(ctx, key, asked, given, made)
    content, renamed = schema_drift.under_both_names(made.answer.content, made.names), ""
    echoes = is_echo(asked.name, content)
    if not (made.answer.is_error or echoes):
        content, renamed = _as_expected(ctx, asked, content)
    return ReadOutcome(made.answer._replace(content=content), learned, echoes, _join_notes(note, instead, renamed))


def _as_expected(ctx: TurnContext, tool: Tool, content: Json) -> ShownContent:
    """With fields that only changed their name under the expected one too; told where there are any."""
    fact = Fact(
        ref="", connection_id=tool.connection_id, tool=tool.name, arguments_json="{}", result_json=dumps(content)
    )
    shown = as_expected(ctx, fact)
    if shown.note:
        ctx.journal.tell("note", tool=tool.name, renamed_fields=shown.note)
    return shown


def _join_notes(*notes: str) -> str:
    """What is missing from a list is said first: who reads a note looks there."""
    said = [note for note in notes if note]
    return " ".join(sorted(said, key=lambda note: not note.startswith(PARTIAL)))


async def _whole(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, made: AnsweredCall
) -> tuple[AnsweredCall, str]:
    """The answer with all rows of the list that it is the first part of, and what is to be said of it.

    Every part is a step of the journal, and what is asked next follows from the answers alone.
    """
    found = None if has_failed(made.answer) else listing(tool, arguments, made.answer.content, ctx.limits.lists)
    if found is None:
        return made, ""
    while (following := found.following) is not None:
        problems = problems_with(following, tool)
        if problems:
            found.note_refusal(problems)
            break
        part = await send_call(ctx, f"{key}:page{found.pages + 1}", tool, following, made.names)
        if has_failed(part.answer):
            found.note_refusal(dumps(part.answer.content))
        else:
            found.add(part.answer.content)
    note = report(found)
    if note:
        ctx.journal.tell("note", tool=tool.name, pages=found.pages, rows=found.total, partial=found.why_partial)
        made = made._replace(answer=made.answer._replace(content=found.merge_rows(made.answer.content)))
    return made, note
