"""When the world of an assessment is to come back, or whether everything is done: asked once a turn, and never trusted
with an end that the writes do not bear out.
"""

from collections.abc import Sequence
from datetime import timedelta

from pydantic import BaseModel, JsonValue

from services.executor.core.assessed.reply import NOTE
from services.executor.core.budget.budget import BudgetShare
from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.endings import RunEnds
from services.executor.core.model.model_calls import ModelQuestion, ask_structured
from services.executor.core.plan.outcomes import writes_as_json
from services.executor.core.prompts import schemas
from services.executor.core.reflect.review import Reviewed
from services.executor.core.session.context import TurnContext
from services.executor.ports.models import Tier
from shared.contracts.ledger import LedgerEntry
from shared.domain.exact_json import JsonObject, dumps, loads_object
from shared.domain.iso_duration import parse_duration, written_duration
from shared.domain.words import WriteStatus

SHORTEST, USUAL, LONGEST = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class ProposedTurn(BaseModel):
    finished: bool
    time_step: str = ""
    reason: str = ""


async def with_next(ctx: TurnContext, told: Reviewed) -> Reviewed:
    """The run of an assessment's turn with what comes next in its notes; that of any other task as it is.

    One step of the journal. Without a usable answer the world goes on for an hour.
    """
    if ctx.record.request.assessment is None:
        return told
    progress = told.progress
    key, writes = f"{progress.step}:next", tuple((await ctx.store.ledger()).values())
    stored = ctx.journal.get(key)
    if stored is None:
        stored = dumps(await _ask_model(ctx, progress, writes))
        ctx.journal.add(key, "note", stored)
    said = loads_object(stored)
    proposed = ProposedTurn.model_validate({name: value for name, value in said.items() if value is not None})
    note = limit_proposal(proposed, writes)
    calls = progress.model_calls + int("problem" not in said)
    noted = progress.model_copy(update={"notes": {**progress.notes, NOTE: note}, "model_calls": calls})
    return told._replace(progress=noted)


def limit_proposal(proposed: ProposedTurn, writes: Sequence[LedgerEntry]) -> dict[str, JsonValue]:
    """A step within bounds; an end only where every write of the turn was verified."""
    finished = proposed.finished and all(entry.status is WriteStatus.VERIFIED for entry in writes)
    said: dict[str, JsonValue] = {"finished": finished, "time_step": written_duration(_step(proposed.time_step))}
    return {**said, "reason": " ".join(proposed.reason.split())[:500]}


def _step(text: str) -> timedelta:
    try:
        wanted = parse_duration(text)
    except ValueError:
        return USUAL
    return min(max(wanted, SHORTEST), LONGEST) if wanted else USUAL


async def _ask_model(ctx: TurnContext, progress: Progress, writes: Sequence[LedgerEntry]) -> JsonObject:
    dossier = progress.dossier
    question = ModelQuestion(
        step=f"{progress.step}:next:model",
        tier=Tier.HAIKU,
        system=(ctx.prompts.role, ctx.prompts.next_turn),
        sections={
            "task": ctx.task,
            "now": ctx.sections.get("now"),
            "history": ctx.sections.get("history"),
            "unmet": [f"{part.quote}: {part.unmet}" for part in dossier.parts if part.unmet],
            "writes": [*writes_as_json(writes)],
            "answer": dossier.answer,
        },
        schema=schemas.NEXT_TURN,
        max_tokens=400,
        purse=BudgetShare.WHOLE,
    )
    try:
        done = await ask_structured(ctx, question, ProposedTurn)
    except RunEnds as error:
        ctx.journal.stopped_at = None  # the turn ends without it
        return {"finished": False, "problem": error.reason}
    return {**done.value.model_dump()}
