"""COMPLETE: the answer, drafted by the model from facts, values and what the ledger says of each write."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.endings import Failed
from services.executor.core.execute.besides import with_besides
from services.executor.core.execute.ledger import entries
from services.executor.core.execute.left_out import left_out
from services.executor.core.execute.model_calls import ask, user
from services.executor.core.execute.process_section import process_section
from services.executor.core.fsm.states import tier_of
from services.executor.core.prompts.sections import render
from services.executor.core.spend.budget import Purse
from services.executor.ports.models import Effort, ModelReply, ModelRequest, Tier
from shared.contracts.ledger import LedgerEntry
from shared.domain.answer import as_list
from shared.domain.exact_json import Json, loads
from shared.domain.words import FsmState

_ATTEMPTS = 2


class Draft(NamedTuple):
    """How an answer is drafted, where it is not done in the state's usual way."""

    tier: Tier
    framing: tuple[str, ...] = ()
    effort: Effort | None = None


async def complete(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with its answer. A list that was asked for passes through untouched, to the byte (I9)."""
    return await drafted(ctx, progress, await material(ctx, progress), Draft(tier_of(FsmState.COMPLETE, ctx.task)))


async def material(ctx: TurnContext, progress: Progress) -> dict[str, Json]:
    """What an answer is drafted from."""
    dossier = progress.dossier
    written = await entries(ctx, dossier.plan) if dossier.plan else {}
    missing = left_out(ctx, dossier.plan)
    sections: dict[str, Json] = {
        **ctx.sections,
        "process": process_section(ctx, progress, FsmState.COMPLETE),
        "facts": [fact.as_json() for fact in dossier.facts],
        "values": [value.as_json() for value in dossier.values],
        "findings": dossier.thought,
        "writes": [*writes_as_json(written.values()), *(one.as_json() for one in missing)],
        "answer_format": _format_wanted(ctx, dossier.answer_format),
    }
    if dossier.plan is not None and dossier.plan.why_none:
        foreseen = str(ctx.sections.get("constraints") or "")
        left = "Left out" if dossier.plan.calls else "Nothing is written"
        sections["constraints"] = f"{foreseen}\n{left}: {dossier.plan.why_none}".strip()
    return sections


async def drafted(ctx: TurnContext, progress: Progress, given: Mapping[str, Json], way: Draft) -> Progress:
    """The progress with a usable answer; an unusable one is asked for once more, with what is wrong with it."""
    sections = dict(given)
    for attempt in range(_ATTEMPTS):
        reply = await ask(ctx, f"{progress.step}:model:{attempt}", request(ctx, sections, way), Purse.WHOLE)
        progress = progress.model_copy(update={"model_calls": progress.model_calls + 1})
        problem = problem_with(reply, progress.dossier.answer_format)
        if not problem:
            return answered(ctx, progress, reply.text)
        sections["correction"] = problem
    raise Failed(f"COMPLETE gave no usable answer in {_ATTEMPTS} attempts: {problem}")


def request(ctx: TurnContext, sections: Mapping[str, Json], way: Draft) -> ModelRequest:
    return ModelRequest(
        tier=way.tier,
        system=(ctx.prompts.role, ctx.prompts.complete, *way.framing),
        messages=(user(render(sections)),),
        max_tokens=4096,
        effort=way.effort,
    )


def answered(ctx: TurnContext, progress: Progress, text: str) -> Progress:
    text = in_form(text, progress.dossier.answer_format)
    return progress.learned(answer=with_besides(ctx, progress.dossier, text))


def in_form(text: str, answer_format: str) -> str:
    """Where a list is asked for, the list of a reply that is one but for its form; elsewhere bullets stay prose."""
    return (as_list(text) if answer_format == "list" else None) or text


def writes_as_json(written: Iterable[LedgerEntry]) -> list[Json]:
    """The ledger's entries for prompts and metadata, in the order of their intents."""
    ordered = sorted(written, key=lambda entry: (entry.sending_at is None, entry.sending_at))
    return [
        {
            "call_id": entry.call.call_id,
            "tool": entry.call.tool,
            "arguments": loads(entry.arguments_json),
            "status": entry.status.value,
            "result": loads(entry.result_json or "null"),
            "note": entry.note,
        }
        for entry in ordered
    ]


def _format_wanted(ctx: TurnContext, found: str) -> str:
    """The form that the solver's caller expects goes before what was read in the task; its answers are parsed later."""
    solver = ctx.record.request.solver
    return found if solver is None else "prose" if solver.expected_format == "single" else "list"


def problem_with(reply: ModelReply, answer_format: str) -> str:
    """Why a reply cannot be the answer; empty if it can."""
    text = reply.text
    if reply.stop_reason == "max_tokens":
        return "the answer was cut off; answer more briefly"
    if not text.strip():
        return "the answer was empty"
    if answer_format == "list" and as_list(text) is None:
        return "the answer must be one JSON list and nothing else"
    return ""
