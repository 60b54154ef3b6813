"""What the first reply settles: the parts of the task, its process, its strategy, and the form of its answer."""

from dataclasses import replace

from services.executor.core.conversation.process_named import settle_process
from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.parts import Understanding, parts_to_do
from services.executor.core.prime.held_to import with_thresholds
from services.executor.core.prime.known import learned_sections
from services.executor.core.prime.prime import with_strategy
from services.executor.core.prime.recall import recall
from services.executor.core.session.context import TurnContext
from services.executor.core.states.chosen import UNDECIDED
from services.executor.core.states.templates import GENERAL, READ_ONLY
from services.executor.ports.orchestrators import Orchestrating
from shared.domain.exact_json import Json
from shared.domain.words import Strategy


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
