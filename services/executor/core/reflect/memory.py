"""The conversation before this task, kept within bounds: recent turns whole, older ones as a summary.

There are two rules. The history that a client of the solver endpoint brings along is summarized for that one task (seed
001). What a session remembers is summarized once, where a message begins a turn (seeds 002 and 003): so a session that
never speaks again pays nothing, no answer waits for it, and no call stands between a tool's call and its result.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.model.model_calls import NotAnswered, ask, ask_if_possible, helper_request
from services.executor.core.session.context import TurnContext
from services.executor.core.session.journal import Journal
from services.executor.ports.turns import SessionState
from shared.contracts.task import Turn, TurnKind
from shared.domain.conversation import KEPT, SUMMARY_WORDS, SpokenTurn, concatenate_turns, is_long
from shared.domain.exact_json import Json, dumps, loads_object
from shared.ports.models import ModelReply, ModelRequest

_SOLVER_TURNS = 8
_SESSION_TURNS = 20
_SOLVER_STEP = "memory:summary"
_SESSION_STEP = "memory:session"
_ASKED = "asked"
_LABEL = "[Earlier conversation summary]"


class Split(NamedTuple):
    """The turns of a conversation in two: ``older`` ones to summarize, ``recent`` ones to keep as they were said."""

    older: Sequence[SpokenTurn]
    recent: Sequence[SpokenTurn]


def split(turns: Sequence[SpokenTurn], most: int = _SOLVER_TURNS) -> Split:
    """Split a conversation into older and recent turns; nothing is older unless it is long, by its turns or by its
    text.
    """
    cut = max(0, len(turns) - KEPT) if is_long(turns, most) else 0
    return Split(turns[:cut], turns[cut:])


async def with_history(ctx: TurnContext) -> TurnContext:
    """The context with the earlier conversation: the one that came with the request if there is one, else the
    session's.
    """
    return await (_with_session(ctx) if ctx.record.request.solver is None else _with_request_history(ctx))


def compress_session(session: SessionState, journal: Journal, turn: Turn) -> SessionState:
    """The session with its older turns replaced by the summary that this turn made; unchanged if it made none."""
    made = journal.get(_session_step(turn))
    if made is None:
        return session
    told = loads_object(made)
    return session._replace(summary=str(told["summary"]), turns=session.turns[int(str(told["older"])) :])


async def _with_session(ctx: TurnContext) -> TurnContext:
    session, notes = ctx.session, ctx.notes
    older, _ = split([SpokenTurn(*turn) for turn in session.turns], _SESSION_TURNS)
    if older and ctx.turn.kind is TurnKind.MESSAGE:
        await _compress(ctx, older)
        session = compress_session(session, ctx.journal, ctx.turn)
        told: dict[str, JsonValue] = {"compressed": True, "summary": session.summary}
        notes = {**notes, "memory": told}
    practice = ctx.record.request.practice
    shown = _without_repeats(session, ctx.task) if practice and practice.turn else session
    return replace(ctx, session=session, sections={**ctx.sections, "history": _describe_session(shown)}, notes=notes)


async def _compress(ctx: TurnContext, older: Sequence[SpokenTurn]) -> None:
    """Journal the summary of the older turns and of what was summarized before."""
    step = _session_step(ctx.turn)
    before = (SpokenTurn("summary", ctx.session.summary),) if ctx.session.summary else ()

    async def compress() -> str:
        summary, by = await _summary_or_words(ctx, f"{step}:{_ASKED}", (*before, *older))
        ctx.journal.tell("note", memory="compressed", turns=len(older), summarized_by=by)
        return dumps({"summary": summary, "older": len(older), "by": by})

    await ctx.journal.run_step(step, "note", compress)


async def _summary_or_words(ctx: TurnContext, key: str, turns: Sequence[SpokenTurn]) -> tuple[str, str]:
    """The model's summary of the turns, or their beginnings if it gives none, and which of the two it is: no task fails
    for want of a summary.
    """
    try:
        if summary := _cut_summary(await ask_if_possible(ctx, key, _summary_request(ctx, turns))):
            return summary, "model"
    except NotAnswered as error:
        ctx.journal.tell("note", problem=f"the older conversation was shortened without a model: {error}")
    return concatenate_turns(turns), "words"


async def _with_request_history(ctx: TurnContext) -> TurnContext:
    """The context with the conversation that came with the request; it is all that the run remembers."""
    solver = ctx.record.request.solver
    brought = [SpokenTurn(turn.role, turn.content) for turn in solver.history] if solver else []
    older, recent = split(brought)
    summary = _cut_summary(await ask(ctx, _SOLVER_STEP, _summary_request(ctx, older))) if older else None
    turns = [_describe_turn(turn) for turn in recent]
    if summary is not None:
        turns.insert(0, {"role": "summary", "text": f"[Prior context summary: {summary}]"})
    told: dict[str, JsonValue] = {"compressed": bool(older), "summary": summary}
    return replace(ctx, sections={**ctx.sections, "history": turns}, notes={**ctx.notes, "memory": told})


def _summary_request(ctx: TurnContext, turns: Sequence[SpokenTurn]) -> ModelRequest:
    return helper_request(ctx, ctx.prompts.summarize, {"history": [_describe_turn(turn) for turn in turns]}, 512)


def _cut_summary(reply: ModelReply) -> str:
    return " ".join(reply.text.split()[:SUMMARY_WORDS])


def _session_step(turn: Turn) -> str:
    return f"{_SESSION_STEP}:{turn.turn_id}"


def _without_repeats(session: SessionState, task: str) -> SessionState:
    """The session of one standing task without the task's own words, with each paragraph only where it was said last.
    So turns in which nothing is due add nothing.
    """
    said: set[str] = set()
    kept: list[tuple[str, str]] = []
    for role, text in reversed(session.turns):
        paragraphs = [one for one in text.split("\n\n") if one not in said] if (role, text) != ("user", task) else []
        said.update(paragraphs)
        kept += [(role, "\n\n".join(paragraphs))] if paragraphs else []
    return session._replace(turns=tuple(reversed(kept)))


def _describe_session(session: SessionState) -> list[Json]:
    turns = [_describe_turn(SpokenTurn(*turn)) for turn in session.turns]
    summary = _describe_turn(SpokenTurn("summary", f"{_LABEL} {session.summary}"))
    return [summary, *turns] if session.summary else turns


def _describe_turn(turn: SpokenTurn) -> Json:
    return {"role": turn.role, "text": turn.text}
