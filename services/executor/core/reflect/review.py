"""REFLECT's two optional model requests: a better text for a weak answer, and sections of documents that no data fills.

Neither can fail a task: without a usable reply the answer stays as it is, and the metadata says why.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from pydantic import BaseModel, JsonValue

from services.executor.core.figures.identifiers import find_special_identifiers
from services.executor.core.figures.numbers import number_bearing_tokens
from services.executor.core.figures.vocabulary import spaced_words
from services.executor.core.model.model_calls import (
    HelperUnavailable,
    UnusableAnswer,
    ask_if_possible,
    helper_request,
    parse_reply,
)
from services.executor.core.reflect.documents import (
    DocumentMaterial,
    Section,
    asked_documents,
    build_document,
    document_request_phrases,
    documents_of_process,
    mark_unverified,
    unfilled_sections,
)
from services.executor.core.reflect.quality import (
    ReflectedRun,
    answerable_outputs,
    collect_evidence,
    mentions_failure,
    untraced_tokens,
)
from services.executor.core.session.budget import BudgetShare
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ledger import list_writes, writes_as_json
from services.executor.core.session.left_out import remarks_on_run
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import Failed
from services.executor.core.states.prompts import DOCUMENT_SCHEMA
from services.executor.core.tools.shorten import shorten_to_first_rows
from shared.contracts.task import Artifact
from shared.domain.answer import is_json_list
from shared.domain.exact_json import Json, JsonObject, dumps, loads, loads_object
from shared.domain.quality import WEAK, Formula, score_quality
from shared.domain.words import FsmState, TaskState, WriteStatus
from shared.ports.models import ModelReply, ModelRequest


class WantedImprovement(NamedTuple):
    """What a better text must correct: ``outputs`` that are not mentioned, and ``faults`` as sentences."""

    outputs: tuple[str, ...]
    faults: tuple[str, ...]

    @property
    def faults_in_words(self) -> tuple[str, ...]:
        return (*(f"say the {output.replace('_', ' ')}" for output in self.outputs), *self.faults)


def find_improvement(run: ReflectedRun, formula: Formula = Formula.SIGNALS) -> WantedImprovement | None:
    """What a better text must correct; None if the answer is good enough, or must not be changed."""
    if is_json_list(run.answer) or run.dry_run or run.state is not TaskState.COMPLETED or run.progress is None:
        return None
    if score_quality(collect_evidence(run), formula).value >= WEAK:
        return None
    missing = () if run.planned_nothing else answerable_outputs(run.unmentioned_outputs, run.known)
    faults = _find_faults(run)
    return WantedImprovement(missing, faults) if missing or faults else None


def why_not_replace_answer(run: ReflectedRun, text: str) -> str | None:
    """Why a text must not replace the answer; None if it says only what was found, drops nothing, scores better."""
    better = run._replace(answer=text)
    if not text.strip() or is_json_list(text):
        return "it is no prose"
    strange = [token for token in untraced_tokens(text, run.known) if token not in run.answer]
    if strange:
        return "it says what nobody found: " + ", ".join(strange)
    if _claims_unproven_verification(run, text):
        return "it claims a write to be verified that is not"
    if any(address.text not in run.answer for address in find_special_identifiers(text)):
        return "it brings in an address"
    untrue = set(untraced_tokens(run.answer, run.known))
    dropped = [one for one in dict.fromkeys(number_bearing_tokens(run.answer)) if one not in untrue and one not in text]
    if dropped:
        return "it drops " + ", ".join(dropped)
    if mentions_failure(run.answer) and not mentions_failure(text):
        return "it hides what did not work"
    if not set(better.unmentioned_outputs) <= set(run.unmentioned_outputs):
        return "it drops a required output"
    before, after = (
        (len(one.unmentioned_outputs), len(untraced_tokens(one.answer, one.known))) for one in (run, better)
    )
    if after[0] < before[0] or after[1] < before[1]:
        return None
    # By the signals whatever the formula: no text is better for being longer.
    old, new = (score_quality(collect_evidence(one)).value for one in (run, better))
    return None if new > old else "it is no better"


def _find_faults(run: ReflectedRun) -> tuple[str, ...]:
    seen = collect_evidence(run)
    strange = untraced_tokens(run.answer, run.known)
    says_nothing = seen.needs_met and not seen.grounded and not seen.idle
    return tuple(
        said
        for said, holds in (
            ("give an answer: there is none", seen.answer_empty),
            ("these stand neither in the task nor in what was found: " + ", ".join(strange), bool(strange)),
            ("say what was found, with its figures", says_nothing and not strange and not run.are_all_parts_left),
        )
        if holds
    )


def _claims_unproven_verification(run: ReflectedRun, text: str) -> bool:
    """Whether the text claims a proof that some write does not have, and the answer before it did not."""
    unproven = any(entry.status is not WriteStatus.VERIFIED for entry in run.writes)
    speaks, spoke = (" verified " in spaced_words(one) for one in (text, run.answer))
    return unproven and speaks and not spoke


_PATIENCE_SECONDS = 20.0  # neither is worth more of a client's time


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


def with_documents(ctx: TurnContext) -> TurnContext:
    """The context whose prompts name the documents that are written anyway, so that no call is planned for them."""
    words: list[Json] = [*document_request_phrases(ctx.task)]
    return replace(ctx, sections={**ctx.sections, "documents": words}) if words else ctx


async def review_answer(ctx: TurnContext, progress: Progress) -> ReviewedRun:
    """Improves a weak answer and writes the task's documents; a dry run and a solver request stay as they are."""
    if ctx.record.request.is_dry_run or ctx.record.request.solver is not None:
        return ReviewedRun(progress)
    answer, tail = _split_answer(ctx, progress)
    writes, escalated = await list_writes(ctx.store), progress.state is FsmState.ESCALATE
    run = ReflectedRun(TaskState.COMPLETED, answer, progress, writes, ctx.task, escalated)  # as it would end now
    text, notes = await _improve_answer(ctx, run)
    better = progress.update_dossier(answer=run.answer if text is None else text)
    documents, told = await _write_documents(ctx, better, run)
    said = better.update_dossier(answer=f"{better.dossier.answer}{tail}")
    calls = int(bool(notes)) + int(bool(told))
    return ReviewedRun(said.model_copy(update={"model_calls": said.model_calls + calls}), documents, {**notes, **told})


def _split_answer(ctx: TurnContext, progress: Progress) -> tuple[str, str]:
    """The drafted answer and the remarks below it; only the former is improved."""
    answer, said = progress.dossier.answer or "", remarks_on_run(ctx, progress.dossier)
    under = [part for part in (said, f"\n\n{progress.notes.get('not_told', '')}".rstrip()) if part]
    at = min((place for part in under if (place := answer.find(part)) >= 0), default=len(answer))
    return answer[:at], answer[at:]


async def _improve_answer(ctx: TurnContext, run: ReflectedRun) -> tuple[str | None, dict[str, JsonValue]]:
    """A better text or None, and a note for the metadata. If only the wording is weak, no second helper request is
    made.
    """
    wish = find_improvement(run, ctx.limits.answers.formula)
    if wish is None or run.progress is None or (not wish.outputs and run.progress.helper_calls):
        return None, {}
    sections: dict[str, Json] = {**_known_material(ctx, run), "answer": run.answer, "missing": [*wish.faults_in_words]}
    request = helper_request(ctx, ctx.prompts.improve, sections, 2048)
    key = f"{run.progress.visit_key}:improve"
    text, problem = await _try_request(ctx, key, request, lambda reply: "" if reply.is_cut else reply.text.strip())
    why = problem or why_not_replace_answer(run, text)
    asked: list[JsonValue] = [*wish.faults_in_words]
    ctx.journal.add_event("note", improved=why is None, missing_outputs=[*wish.outputs])
    return (None if why else text), {"improvement": {"wanted": asked, "accepted": why is None, "why": why}}


async def _write_documents(
    ctx: TurnContext, progress: Progress, run: ReflectedRun
) -> tuple[tuple[Artifact, ...], dict[str, JsonValue]]:
    """Writes the documents that the task asks for or its process always produces; also returns the metadata on them."""
    answer = progress.dossier.answer or ""
    own = () if progress.read_only or is_json_list(answer) else documents_of_process(progress.process_type)
    kinds = tuple(dict.fromkeys((*asked_documents(ctx.task), *own)))
    if not kinds:
        return (), {}
    material = DocumentMaterial(ctx.task, progress, run.writes, answer)
    wanted_sections = {kind: unfilled_sections(kind, material) for kind in kinds}
    texts, told = await _draft_sections(ctx, progress, run._replace(answer=answer), wanted_sections)
    about = (ctx.record.task_id, ctx.journal.now)
    return tuple(build_document(kind, material, *about, texts.get(kind, {})) for kind in kinds), told


async def _draft_sections(
    ctx: TurnContext, progress: Progress, run: ReflectedRun, wanted_sections: Mapping[str, tuple[Section, ...]]
) -> tuple[dict[str, dict[str, str]], dict[str, JsonValue]]:
    """The texts of all sections that no data fills, from one model request, and the metadata on it."""
    asked: list[Json] = [
        {"name": f"{kind}.{section.name}", "write": section.write}
        for kind, sections in wanted_sections.items()
        for section in sections
    ]
    if not asked:
        return {}, {}
    sections: dict[str, Json] = {**_known_material(ctx, run), "answer": run.answer, "document": asked}
    request = helper_request(ctx, ctx.prompts.document, sections, 4096, schema=DOCUMENT_SCHEMA)
    key = f"{progress.visit_key}:document"

    def read_drafts(reply: ModelReply) -> str:
        return dumps({draft.name: draft.text for draft in parse_reply(reply, DraftedTexts).sections})

    stored, problem = await _try_request(ctx, key, request, read_drafts)
    given = {str(name): str(text) for name, text in loads_object(stored or "{}").items()}
    return _mark_untraced(given, wanted_sections, run), {"drafting": {"sections": len(asked), "problem": problem}}


def _mark_untraced(
    given: Mapping[str, str], wanted_sections: Mapping[str, tuple[Section, ...]], run: ReflectedRun
) -> dict[str, dict[str, str]]:
    """The drafted texts of the wanted sections, with figures marked that come from nothing known."""
    known = run.known
    return {
        kind: {
            section.name: mark_unverified(text, untraced_tokens(text, known))
            for section in sections
            if (text := given.get(f"{kind}.{section.name}", "").strip())
        }
        for kind, sections in wanted_sections.items()
    }


def _known_material(ctx: TurnContext, run: ReflectedRun) -> dict[str, Json]:
    return {
        "task": ctx.task,
        "facts": [_describe_fact(fact) for fact in run.dossier.facts],
        "values": [value.as_json() for value in run.dossier.values],
        "writes": [*writes_as_json(run.writes)],
    }


async def _try_request(
    ctx: TurnContext, key: str, request: ModelRequest, read: Callable[[ModelReply], str]
) -> tuple[str, str | None]:
    """Makes a model request as one journal step; returns what ``read`` makes of the reply, or why there is none."""
    stored = ctx.journal.get(key)
    if stored is None:
        try:
            step, seconds = f"{key}:model", _PATIENCE_SECONDS
            found: Json = {"text": read(await ask_if_possible(ctx, step, request, BudgetShare.WHOLE, seconds=seconds))}
        except (HelperUnavailable, UnusableAnswer) as error:
            found = {"problem": str(error)}
        except Failed as error:  # the time is up: the run goes on without it
            ctx.journal.clear_early_end()
            found = {"problem": error.reason}
        stored = dumps(found)
        ctx.journal.add_entry(key, "note", stored)
    known = loads_object(stored)
    problem = known.get("problem")
    return str(known.get("text", "")), None if problem is None else str(problem)


def _describe_fact(fact: Fact) -> Json:
    """A result for the model; of a long list only the beginning, with a note."""
    seen, cut = shorten_to_first_rows(fact.result)
    said: JsonObject = {"note": " ".join(filter(None, (fact.note, cut)))} if fact.note or cut else {}
    return {"ref": fact.ref, "tool": fact.tool, "arguments": loads(fact.arguments_json), "result": seen, **said}
