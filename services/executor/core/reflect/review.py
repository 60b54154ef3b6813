"""REFLECT's two optional model requests: a better text for a weak answer, and sections of documents that no data fills.

Neither can fail a task: without a usable reply the answer stays as it is, and the metadata says why.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from pydantic import BaseModel, JsonValue

from services.executor.core.figures.identifiers import find_special_identifiers
from services.executor.core.figures.numbers import find_tokens_with_digits
from services.executor.core.figures.vocabulary import spaced_words
from services.executor.core.model.model_calls import (
    HelperUnavailable,
    UnusableAnswer,
    ask_if_possible,
    build_helper_request,
    parse_reply,
)
from services.executor.core.process.rules import drop_unrealized_remainders
from services.executor.core.reflect.documents import (
    DocumentMaterial,
    build_document,
    find_document_requests,
    list_documents_of_process,
    list_unfilled_sections,
    mark_unverified,
)
from services.executor.core.reflect.quality import (
    EndedRun,
    collect_evidence,
    find_untraced_tokens,
    mentions_failure,
    select_answerable_outputs,
)
from services.executor.core.session.budget import BudgetShare
from services.executor.core.session.context import TurnContext, write_remarks_on_run
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ledger import list_writes, writes_as_json
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import Failed
from services.executor.core.states.prompts import DOCUMENT_SCHEMA
from services.executor.core.tools.shorten import shorten_to_first_rows
from shared.contracts.task import Artifact
from shared.domain.answer import is_json_list
from shared.domain.exact_json import Json, JsonObject, dumps, loads, loads_object
from shared.domain.quality import WEAK_SCORE, QualityFormula, compute_quality
from shared.domain.words import FsmState, TaskState, WriteStatus
from shared.ports.models import ModelReply, ModelRequest


class WantedImprovement(NamedTuple):
    """What a better text must correct: missing required ``outputs``, and all ``faults``, as sentences."""

    outputs: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def find_wanted_improvement(run: EndedRun, formula: QualityFormula = QualityFormula.SIGNALS) -> WantedImprovement:
    """What a better text must correct; empty if the answer is good enough, or must not be changed."""
    evidence, may_change = collect_evidence(run), not (is_json_list(run.answer) or run.is_dry_run)
    is_done = run.state is TaskState.COMPLETED and run.progress is not None
    if not (may_change and is_done) or compute_quality(evidence, formula).value >= WEAK_SCORE:
        return WantedImprovement()
    outputs = () if run.is_wrongly_idle else select_answerable_outputs(run.unmentioned_outputs, run.sources)
    faults = [f"say the {output.replace('_', ' ')}" for output in outputs]
    untraced = find_untraced_tokens(run.answer, run.sources)
    if evidence.is_answer_empty:
        faults.append("give an answer: there is none")
    if untraced:
        faults.append("these stand neither in the task nor in what was found: " + ", ".join(untraced))
    elif evidence.needs_met and not (evidence.is_grounded or evidence.is_idle or run.are_all_parts_left_undone):
        faults.append("say what was found, with its figures")
    return WantedImprovement(outputs, tuple(faults))


def why_not_replace_answer(run: EndedRun, text: str) -> str | None:
    """Why a text must not replace the answer; None if it invents, drops and hides nothing, and has more of the required
    outputs, fewer untraced figures or a better score.
    """
    better = run._replace(answer=text)
    if not text.strip() or is_json_list(text):
        return "it is no prose"
    untraced = find_untraced_tokens(text, run.sources)
    untraced_before = find_untraced_tokens(run.answer, run.sources)
    invented_identifiers = [token for token in untraced if token not in run.answer]
    tokens_before = dict.fromkeys(find_tokens_with_digits(run.answer))
    dropped = [token for token in tokens_before if token not in text and token not in untraced_before]
    objections = {
        "it says what nobody found: " + ", ".join(invented_identifiers): bool(invented_identifiers),
        "it claims a write to be verified that is not": _claims_unproven_verification(run, text),
        "it brings in an address": any(
            identifier.text not in run.answer for identifier in find_special_identifiers(text)
        ),
        "it drops " + ", ".join(dropped): bool(dropped),
        "it hides what did not work": mentions_failure(run.answer) and not mentions_failure(text),
        "it drops a required output": not set(better.unmentioned_outputs) <= set(run.unmentioned_outputs),
    }
    if objection := next((sentence for sentence, applies in objections.items() if applies), None):
        return objection
    if len(better.unmentioned_outputs) < len(run.unmentioned_outputs) or len(untraced) < len(untraced_before):
        return None
    # By the signals whatever the formula: no text is better for being longer.
    is_better = compute_quality(collect_evidence(better)).value > compute_quality(collect_evidence(run)).value
    return None if is_better else "it is no better"


def _claims_unproven_verification(run: EndedRun, text: str) -> bool:
    """Whether the text says "verified" though some write is not, and the answer to be replaced does not say so."""
    unproven = any(entry.status is not WriteStatus.VERIFIED for entry in run.writes)
    return unproven and " verified " in spaced_words(text) and " verified " not in spaced_words(run.answer)


_MODEL_SECONDS = 20.0  # neither is worth more of a client's time


class ReviewedRun(NamedTuple):
    """The progress with its final answer, the documents, and the metadata on both."""

    progress: Progress
    documents: tuple[Artifact, ...] = ()
    notes: Mapping[str, JsonValue] = {}


class DraftedText(BaseModel):
    name: str
    text: str


class DraftedTexts(BaseModel):
    sections: tuple[DraftedText, ...]


def with_announced_documents(ctx: TurnContext) -> TurnContext:
    """The context whose prompts name the documents that are written anyway, so that no call is planned for them."""
    phrases: list[Json] = [*dict.fromkeys(chain.from_iterable(find_document_requests(ctx.task).values()))]
    return replace(ctx, sections={**ctx.sections, "documents": phrases}) if phrases else ctx


async def review_answer(ctx: TurnContext, progress: Progress) -> ReviewedRun:
    """Improves a weak answer and writes the task's documents; a dry run and a solver request stay as they are."""
    if ctx.record.request.is_dry_run or ctx.record.request.solver is not None:
        return ReviewedRun(progress)
    answer, tail = _split_answer(ctx, progress)
    writes, escalated = await list_writes(ctx.store), progress.state is FsmState.ESCALATE
    run = EndedRun(TaskState.COMPLETED, answer, progress, writes, ctx.task, escalated)  # as it would end now
    text, notes = await _improve_answer(ctx, run)
    progress = progress.update_dossier(answer=run.answer if text is None else text)
    documents, drafting_note = await _write_documents(ctx, progress, run)
    progress = progress.update_dossier(answer=f"{progress.dossier.answer}{tail}")
    model_calls = progress.model_calls + bool(notes) + bool(drafting_note)
    progress = progress.model_copy(update={"model_calls": model_calls})
    return ReviewedRun(progress, documents, {**notes, **drafting_note})


def _split_answer(ctx: TurnContext, progress: Progress) -> tuple[str, str]:
    """The drafted answer and the remarks below it; only the former is improved."""
    answer, remarks = progress.dossier.answer or "", write_remarks_on_run(ctx, progress.dossier)
    appended = [part for part in (remarks, f"\n\n{progress.notes.get('not_told', '')}".rstrip()) if part]
    end = min((start for part in appended if (start := answer.find(part)) >= 0), default=len(answer))
    return answer[:end], answer[end:]


async def _improve_answer(ctx: TurnContext, run: EndedRun) -> tuple[str | None, dict[str, JsonValue]]:
    """A better text, or None if the answer stays, and a note for the metadata (empty if no model was asked).

    No model is asked for weak wording alone if the run has made a helper request already.
    """
    outputs, faults = find_wanted_improvement(run, ctx.limits.answers.formula)
    if not faults or run.progress is None or (not outputs and run.progress.helper_calls):
        return None, {}
    sections: dict[str, Json] = {**_build_run_sections(ctx, run), "missing": [*faults]}
    request = build_helper_request(ctx, ctx.prompts.improve, sections, 2048)
    key = f"{run.progress.visit_key}:improve"
    text, problem = await _try_request(ctx, key, request, lambda reply: "" if reply.is_cut else reply.text.strip())
    reason = problem or why_not_replace_answer(run, text)
    ctx.journal.add_event("note", improved=reason is None, missing_outputs=[*outputs])
    note: dict[str, JsonValue] = {"wanted": [*faults], "accepted": reason is None, "why": reason}
    return (None if reason else text), {"improvement": note}


async def _write_documents(
    ctx: TurnContext, progress: Progress, run: EndedRun
) -> tuple[tuple[Artifact, ...], dict[str, JsonValue]]:
    """Writes the documents that the task asks for or its process always produces; also returns the metadata on them."""
    answer = progress.dossier.answer or ""
    always = () if progress.read_only or is_json_list(answer) else list_documents_of_process(progress.process_type)
    kinds = tuple(dict.fromkeys((*find_document_requests(ctx.task), *always)))
    told = progress.update_dossier(values=tuple(drop_unrealized_remainders(progress, run.writes)))
    material = DocumentMaterial(ctx.task, told, run.writes, answer)
    instructions = {
        f"{kind}.{part.name}": part.write for kind in kinds for part in list_unfilled_sections(kind, material)
    }
    texts, note = await _draft_sections(ctx, progress, run._replace(answer=answer), instructions)
    task_id, now = ctx.record.task_id, ctx.journal.now
    return tuple(build_document(kind, material, task_id, now, texts) for kind in kinds), note


async def _draft_sections(
    ctx: TurnContext, progress: Progress, run: EndedRun, instructions: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, JsonValue]]:
    """Has a model write all sections, by ``type of document.section name``, in one request.

    Returns the texts by the same names, with untraced figures marked, and the request's metadata
    ``{"drafting": {"sections": number, "problem": why there is no text, or None}}``; both empty if none is wanted.
    """
    if not instructions:
        return {}, {}
    requested: list[Json] = [{"name": name, "write": instruction} for name, instruction in instructions.items()]
    sections: dict[str, Json] = {**_build_run_sections(ctx, run), "document": requested}
    request = build_helper_request(ctx, ctx.prompts.document, sections, 4096, schema=DOCUMENT_SCHEMA)
    key = f"{progress.visit_key}:document"

    def read_drafts(reply: ModelReply) -> str:
        return dumps({draft.name: draft.text for draft in parse_reply(reply, DraftedTexts).sections})

    stored, problem = await _try_request(ctx, key, request, read_drafts)
    drafts = {name: str(text).strip() for name, text in loads_object(stored or "{}").items() if name in instructions}
    texts = {
        name: mark_unverified(text, find_untraced_tokens(text, run.sources)) for name, text in drafts.items() if text
    }
    return texts, {"drafting": {"sections": len(requested), "problem": problem}}


def _build_run_sections(ctx: TurnContext, run: EndedRun) -> dict[str, Json]:
    return {
        "task": ctx.task,
        "facts": [_describe_fact(fact) for fact in run.dossier.facts],
        "values": [value.as_json() for value in run.dossier.values],
        "writes": [*writes_as_json(run.writes)],
        "answer": run.answer,
    }


async def _try_request(
    ctx: TurnContext, key: str, request: ModelRequest, parse: Callable[[ModelReply], str]
) -> tuple[str, str | None]:
    """One model request as a journal step: the text that ``parse`` makes of it and None, or "" and why not."""
    stored = ctx.journal.get(key)
    if stored is None:
        try:
            step, seconds = f"{key}:model", _MODEL_SECONDS
            reply = await ask_if_possible(ctx, step, request, BudgetShare.WHOLE, seconds=seconds)
            outcome: Json = {"text": parse(reply)}
        except (HelperUnavailable, UnusableAnswer) as error:
            outcome = {"problem": str(error)}
        except Failed as error:  # the time is up: the run goes on without it
            ctx.journal.clear_early_end()
            outcome = {"problem": error.reason}
        stored = dumps(outcome)
        ctx.journal.add_entry(key, "note", stored)
    parsed = loads_object(stored)
    problem = parsed.get("problem")
    return str(parsed.get("text", "")), None if problem is None else str(problem)


def _describe_fact(fact: Fact) -> Json:
    """A result for the model; of a long list only the beginning, with a note."""
    rows, shortening = shorten_to_first_rows(fact.result)
    note: JsonObject = {"note": " ".join(filter(None, (fact.note, shortening)))} if fact.note or shortening else {}
    return {"ref": fact.ref, "tool": fact.tool, "arguments": loads(fact.arguments_json), "result": rows, **note}
