"""What the first reply settles: the parts of the task, its process, its strategy, and the form of its answer."""

from dataclasses import replace
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.budget.budget import BudgetSpent
from services.executor.core.conversation.understanding import Understanding
from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.endings import Failed, RunEnds
from services.executor.core.dossier.values import parts_to_do
from services.executor.core.model.model_calls import BoundedModel, UnusableAnswer, ask, parse_reply, user
from services.executor.core.prime.known import learned_sections, recall, with_thresholds
from services.executor.core.prime.prime import with_strategy
from services.executor.core.prompts import schemas
from services.executor.core.prompts.sections import render
from services.executor.core.session.context import TurnContext
from services.executor.core.states.synthesis import (
    ProposedProcess,
    build_template,
    general_with_a_person,
    may_ask_a_person,
    process_name,
    read_kept,
)
from services.executor.core.states.template import GENERAL, READ_ONLY, UNDECIDED, BadTemplate, Template
from services.executor.ports.models import ModelRequest, Tier
from services.executor.ports.orchestrators import Orchestrating
from shared.contracts.base import Contract
from shared.domain.exact_json import Json
from shared.domain.words import Strategy
from shared.ports.store import StoreUnavailable

_STEP = "talk:process"
_EXAMPLE_SHOWN = 800  # characters of the task that a process is designed for


class NamedProcess(NamedTuple):
    """``by``: who knew it. ``problem``: why what was named is not what is followed."""

    template: Template
    by: str
    problem: str = ""
    model_calls: int = 0

    def as_note(self) -> dict[str, JsonValue]:
        """As clients and the outcome see it."""
        return {"by": self.by, **({"problem": self.problem} if self.problem else {})}


class _FoundProcess(Contract):
    """The same as the journal keeps it. A built-in template goes by its name: a replay uses today's."""

    process_type: str
    by: str
    problem: str = ""
    model_calls: int = 0
    template: Template | None = None


class _NotDesigned(Exception):
    """The model was asked for a design, and what came of it cannot be used."""


async def settle_process(ctx: TurnContext, named: str, *, acts: bool) -> NamedProcess:
    """The process for the name. A question takes the short way, and nothing is designed for it."""

    async def find() -> str:
        return (await _find(ctx, process_name(named), acts=acts)).model_dump_json()

    found = _FoundProcess.model_validate_json(await ctx.journal.run_step(_STEP, "note", find))
    template = found.template or ctx.processes.get(found.process_type, GENERAL)
    return NamedProcess(template, found.by, found.problem, found.model_calls)


async def _find(ctx: TurnContext, name: str, *, acts: bool) -> _FoundProcess:
    if name in ctx.processes or name in ("", GENERAL.process_type):
        return _FoundProcess(process_type=name or GENERAL.process_type, by="model")
    if not acts:
        return _FoundProcess(process_type=GENERAL.process_type, by="model", problem=f"a question, said to be of {name}")
    return await _of_a_new_kind(ctx, name)


async def _of_a_new_kind(ctx: TurnContext, kind: str) -> _FoundProcess:
    """The design kept for the kind, or one made now; without either, ``general``, and it is said why.

    Where the kept one may ask for a person and cannot be followed, ``general`` asks one.
    """
    tenant, calls, by = ctx.record.tenant, 0, "synthesized before"
    try:
        text = await ctx.ports.learned.process(tenant, kind)
        if text is None:
            calls, by = 1, "synthesizer"
            fresh = await _design(ctx, kind)
            text = await ctx.ports.learned.keep_process(tenant, kind, fresh.model_dump_json())
    except StoreUnavailable as error:
        return _as_general(kind, error, calls, asks=True)
    except (BadTemplate, _NotDesigned) as error:
        return _as_general(kind, error, calls)
    try:
        return _FoundProcess(process_type=kind, by=by, model_calls=calls, template=read_kept(kind, text))
    except BadTemplate as error:
        return _as_general(kind, error, calls, asks=may_ask_a_person(text))


def _as_general(kind: str, error: Exception, calls: int, *, asks: bool = False) -> _FoundProcess:
    return _FoundProcess(
        process_type=GENERAL.process_type,
        by="model",
        problem=f"there is no process for {kind}: {error}" + ("; a person is asked before anything is written" * asks),
        model_calls=calls,
        template=general_with_a_person(kind) if asks else None,
    )


async def _design(ctx: TurnContext, kind: str) -> Template:
    """One call, with a time of its own; raises ``_NotDesigned`` or ``BadTemplate``, and then nothing is kept."""
    shown: dict[str, Json] = {"task": ctx.task[:_EXAMPLE_SHOWN], "process_type": kind}
    request = ModelRequest(
        tier=Tier.HAIKU,
        system=(ctx.prompts.role, ctx.prompts.new_process),
        messages=(user(render(shown)),),
        schema=schemas.PROCESS,
        max_tokens=1_500,
    )
    model = BoundedModel(ctx.ports.model, ctx.limits.synthesize_seconds)
    patient = replace(ctx, ports=ctx.ports._replace(model=model))
    try:
        reply = await ask(patient, f"{_STEP}:new", request)
        return build_template(kind, parse_reply(reply, ProposedProcess), ctx.task)
    except UnusableAnswer as error:
        raise _NotDesigned(str(error)) from error
    except (Failed, BudgetSpent) as error:
        if not _can_go_on(error):
            raise
        ctx.journal.goes_on()
        raise _NotDesigned(error.reason) from error


def _can_go_on(error: RunEnds) -> bool:
    return isinstance(error, BudgetSpent) or error.part == "model"


async def settle_task(ctx: TurnContext, progress: Progress, said: Understanding) -> tuple[TurnContext, Progress]:
    """The progress with process and strategy, and the context with what is known of tasks of that kind."""
    acts = bool(parts_to_do(said.parts))
    if not ctx.process.settled:
        named = await settle_process(ctx, said.process, acts=acts)
        progress = progress.model_copy(
            update={
                "template": named.template,
                "notes": {**progress.notes, "classification": named.as_note()},
                "model_calls": progress.model_calls + named.model_calls,
            }
        )
    if progress.process_type != ctx.process.process_type:  # else PRIME has recalled it
        experience = await recall(ctx.ports.learned, ctx.record.tenant, progress.process_type, ctx.journal)
        ctx = replace(ctx, experience=experience)
    path = progress.template.states if acts else READ_ONLY
    limits = with_thresholds(with_process(ctx, progress)).thresholds  # those of its process among them
    progress = progress.model_copy(update={"path": path, "read_only": not acts, "thresholds": limits})
    return ctx, _charging_nobody(await with_strategy(ctx, progress))


def _charging_nobody(progress: Progress) -> Progress:
    """A strategy that is not applied takes neither credit nor blame: one reply after another carries the task."""
    if progress.strategy is Strategy.FSM:
        return progress
    if progress.read_only:
        return progress.model_copy(update={"fell_back": "the task only reads"})
    if progress.orchestrator is not Orchestrating.LOCAL:
        return progress.model_copy(update={"fell_back": f"{progress.orchestrator.value} thinks"})
    return progress


def before_process(ctx: TurnContext) -> TurnContext:
    """The context in which the first reply's reads are made, whoever walks the conversation, and when."""
    return ctx if ctx.process.settled else replace(ctx, process=UNDECIDED)


def with_process(ctx: TurnContext, progress: Progress) -> TurnContext:
    """The context with the task's process, for what reads by its names."""
    return ctx if ctx.process.settled else replace(ctx, process=ctx.process._replace(template=progress.template))


def known_of_kind(ctx: TurnContext, progress: Progress) -> dict[str, Json]:
    """What was learned of tasks of this kind, and its limits, where the first message was of tasks of any kind."""
    if ctx.process.settled or progress.process_type == GENERAL.process_type:
        return {}
    limits = with_thresholds(with_process(ctx, progress)).sections["thresholds"]
    told = ctx.sections.get("primer")
    learned = learned_sections(ctx.experience, ctx.task, progress.process_type, ctx.journal, told)
    known: dict[str, Json] = {**learned, "thresholds": limits}
    news = {name: said for name, said in known.items() if said and said != ctx.sections.get(name)}
    return {**({"known": {**news}} if news else {})}


def with_parts(ctx: TurnContext, progress: Progress, said: Understanding) -> Progress:
    """The progress with the parts and the form of the answer; the solver endpoint's caller says the form itself."""
    solver = ctx.record.request.solver
    form = said.answer_form if solver is None else "prose" if solver.expected_format == "single" else "list"
    return progress.update_dossier(parts=said.parts, answer_format=form)
