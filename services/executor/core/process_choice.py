"""Which process a task is carried out as: by its words, by a model where these leave room, by a synthesized one."""

from dataclasses import replace

from services.executor.core.bounded_model import BoundedModel
from services.executor.core.context import TurnContext
from services.executor.core.endings import Failed, RunEnds
from services.executor.core.execute.model_calls import UnusableAnswer, ask, structured, user
from services.executor.core.fsm.chosen import Chosen, FoundBy
from services.executor.core.fsm.synthesis import (
    Proposed,
    general_with_a_person,
    may_ask_a_person,
    read_kept,
    synthesized,
)
from services.executor.core.fsm.template import Template
from services.executor.core.fsm.templates import GENERAL
from services.executor.core.fsm.validity import BadTemplate
from services.executor.core.prime.classifier import Answer, Label, NoLabel, label
from services.executor.core.prime.classifier import sections as about
from services.executor.core.prime.known import learned_sections
from services.executor.core.prime.recall import recall
from services.executor.core.prompts import schemas
from services.executor.core.prompts.sections import render
from services.executor.core.spend.budget import BudgetSpent
from services.executor.ports.models import ModelReply, ModelRequest, Tier
from shared.contracts.base import Contract
from shared.domain.exact_json import Json
from shared.ports.store import StoreUnavailable

_STEP = "prime:process"
_BEFORE: FoundBy = "synthesized before"
_NOW: FoundBy = "synthesizer"
_EXAMPLE_SHOWN = 800  # characters of the task that a synthesized process is made for


class _Found(Contract):
    """The choice as the journal keeps it. A built-in template goes by its name: a replay uses today's."""

    process_type: str
    why: str
    by: FoundBy
    confidence: float | None = None
    problem: str = ""
    model_calls: int = 0
    template: Template | None = None  # of a synthesized process, or of one that stands in for it


class _Unhelpful(Exception):
    """The model was asked, and what came of it cannot be used."""


async def with_process(ctx: TurnContext) -> TurnContext:
    """The context with its process settled, and with the experience of that process."""
    if ctx.process.settled:
        return ctx

    async def find() -> str:
        return (await _found(ctx)).model_dump_json()

    found = _Found.model_validate_json(await ctx.journal.once(_STEP, "note", find))
    chosen = _chosen(ctx, found)
    experience = await recall(ctx.ports.learned, ctx.record.tenant, chosen.process_type, ctx.journal)
    shown = learned_sections(experience, ctx.task, chosen.process_type, ctx.journal)
    return replace(ctx, process=chosen, experience=experience, sections={**ctx.sections, **shown})


def _chosen(ctx: TurnContext, found: _Found) -> Chosen:
    template = found.template or ctx.processes.get(found.process_type, GENERAL)
    return Chosen(
        template, ctx.process.read_only, found.why, found.by, found.confidence, found.problem, found.model_calls
    )


async def _found(ctx: TurnContext) -> _Found:
    """What the words say unless a model says otherwise; ``general`` for a new kind that cannot be synthesized."""
    try:
        named = await _named(ctx)
    except _Unhelpful as error:
        by_words = ctx.process
        return _Found(
            process_type=by_words.process_type, why=by_words.why, by="words", problem=str(error), model_calls=1
        )
    if named.process_type in ctx.processes or named.process_type == GENERAL.process_type:
        said = named._asdict()
        return _Found(by="model", model_calls=1, **said)
    return await _of_a_new_kind(ctx, named)


async def _named(ctx: TurnContext) -> Label:
    """One call, waited for ``CLASSIFY_SECONDS``; raises ``_Unhelpful``."""
    shown = about(ctx.task, ctx.processes, await _kept(ctx), ctx.sections.get("history"))
    request = ModelRequest(
        tier=Tier.HAIKU,
        system=(ctx.prompts.role, ctx.prompts.classify),
        messages=(user(render(shown)),),
        schema=schemas.CLASSIFICATION,
        max_tokens=200,
    )
    reply = await _asked(ctx, f"{_STEP}:asked", request, ctx.limits.classify_seconds)
    try:
        return label(structured(reply, Answer), ctx.processes)
    except (UnusableAnswer, NoLabel) as error:
        raise _Unhelpful(str(error)) from error


async def _kept(ctx: TurnContext) -> tuple[str, ...]:
    try:
        return await ctx.ports.learned.process_types(ctx.record.tenant)
    except StoreUnavailable as error:
        ctx.journal.tell("note", problem=f"the kinds designed before are not known: {error}")
        return ()


async def _of_a_new_kind(ctx: TurnContext, named: Label) -> _Found:
    """The process kept for the kind, or one synthesized now; without either, ``general``, and it is said why.

    Where the kept one may ask for a person and cannot be followed, ``general`` asks one.
    """
    tenant, kind = ctx.record.tenant, named.process_type
    calls, by = 1, _BEFORE
    try:
        text = await ctx.ports.learned.process(tenant, kind)
        if text is None:
            calls, by = 2, _NOW
            fresh = await _synthesize(ctx, kind)
            text = await ctx.ports.learned.keep_process(tenant, kind, fresh.model_dump_json())
    except StoreUnavailable as error:
        return _as_general(named, error, calls, asks=True)
    except (BadTemplate, _Unhelpful) as error:
        return _as_general(named, error, calls)
    try:
        return _synthesized(named, read_kept(kind, text), by, calls)
    except BadTemplate as error:
        return _as_general(named, error, calls, asks=may_ask_a_person(text))


def _as_general(named: Label, error: Exception, calls: int, *, asks: bool = False) -> _Found:
    kind = named.process_type
    return _Found(
        process_type=GENERAL.process_type,
        why=named.why or "a kind of task that no process covers",
        by="model",
        confidence=named.confidence,
        problem=f"there is no process for {kind}: {error}" + ("; a person is asked before anything is written" * asks),
        model_calls=calls,
        template=general_with_a_person(kind) if asks else None,
    )


def _synthesized(named: Label, template: Template, by: FoundBy, calls: int) -> _Found:
    return _Found(by=by, model_calls=calls, template=template, **named._asdict())


async def _synthesize(ctx: TurnContext, kind: str) -> Template:
    """One call; raises ``_Unhelpful`` or ``BadTemplate``, and then nothing is kept."""
    shown: dict[str, Json] = {"task": ctx.task[:_EXAMPLE_SHOWN], "process_type": kind}
    request = ModelRequest(
        tier=Tier.HAIKU,
        system=(ctx.prompts.role, ctx.prompts.new_process),
        messages=(user(render(shown)),),
        schema=schemas.PROCESS,
        max_tokens=1_500,
    )
    reply = await _asked(ctx, f"{_STEP}:new", request, ctx.limits.synthesize_seconds)
    try:
        return synthesized(kind, structured(reply, Proposed), ctx.task)
    except UnusableAnswer as error:
        raise _Unhelpful(str(error)) from error


async def _asked(ctx: TurnContext, step: str, request: ModelRequest, seconds: float) -> ModelReply:
    """The reply; ``_Unhelpful`` if the model is late, down or not affordable: the run goes on without it."""
    patient = replace(ctx, ports=ctx.ports._replace(model=BoundedModel(ctx.ports.model, seconds)))
    try:
        return await ask(patient, step, request)
    except (Failed, BudgetSpent) as error:
        if not _can_go_on(error):
            raise
        ctx.journal.goes_on()
        raise _Unhelpful(error.reason) from error


def _can_go_on(error: RunEnds) -> bool:
    return isinstance(error, BudgetSpent) or error.part == "model"
