"""PLAN: the reads that a task needs, named before any of them is made, with the tools and their schemas at hand."""

from collections.abc import Iterator, Sequence
from typing import Literal, cast

from pydantic import BaseModel

from services.executor.core.context import TurnContext
from services.executor.core.dossier import PlannedRead, Progress
from services.executor.core.execute import gate
from services.executor.core.execute.model_calls import UnusableAnswer
from services.executor.core.execute.process_section import process_section
from services.executor.core.execute.refs import references
from services.executor.core.execute.structured import Answered, Question, Unanswered, checked
from services.executor.core.fsm.states import RULES
from services.executor.core.prompts import schemas
from services.executor.core.tooling.toolbox import Toolbox
from services.executor.core.tooling.validate import problems_with
from services.executor.ports.models import Tier
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import FsmState

MOST_READS = 8


class ReadPlan(BaseModel):
    """``look_again``: what these reads give may name something more that has to be read."""

    reads: tuple[PlannedRead, ...]
    look_again: bool
    answer_format: Literal["prose", "list"]


class NoReadPlan(Unanswered):
    """The model could not name reads that can be made."""


async def plan_reads(ctx: TurnContext, progress: Progress, number: int = 0) -> Answered[ReadPlan]:
    """A plan whose reads exist, only read, and fit their schemas; raises ``NoReadPlan`` after one correction.

    ``number`` counts the plans of one state; later ones are made over the facts of those before.
    """

    def check(plan: ReadPlan) -> ReadPlan:
        if wrong := [*_wrong(plan.reads, ctx.toolbox)]:
            raise UnusableAnswer("; ".join(wrong))
        return plan

    return await checked(ctx, question(ctx, progress, number), ReadPlan, check, giving_up=NoReadPlan)


def question(ctx: TurnContext, progress: Progress, number: int = 0) -> Question:
    return Question(
        step=f"{progress.step}:reads{number or ''}",
        tier=Tier.HAIKU,
        system=(ctx.prompts.role, ctx.prompts.plan_reads),
        sections={
            **ctx.sections,
            "process": process_section(ctx, progress, FsmState.ASSESS),
            "facts": [fact.as_json() for fact in progress.dossier.facts],
            "unmet": list[Json](progress.dossier.unmet),
            "read_tools": _listing(ctx.toolbox),
        },
        schema=schemas.READ_PLAN,
    )


def _listing(tools: Toolbox) -> list[Json]:
    """The tools that read, each under the one name by which it is called here."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": cast(Json, dict(tool.input_schema))}
        for tool in tools.of_classes(RULES[FsmState.ASSESS].permits)
    ]


def _wrong(reads: Sequence[PlannedRead], tools: Toolbox) -> Iterator[str]:
    """What is wrong with a plan, a sentence each. A read refers only to those that stand before it."""
    if len(reads) > MOST_READS:
        yield f"{len(reads)} reads are too many: at most {MOST_READS}"
    known: set[str] = set()
    for read in reads:
        if read.id in known:
            yield f"{read.id}: this id is used twice"
        try:
            yield from (f"{read.id}: {problem}" for problem in _problems(read, known, tools))
        except ValueError as error:
            yield f"{read.id}.arguments_json: {error}"
        known.add(read.id)


def _problems(read: PlannedRead, known: set[str], tools: Toolbox) -> Iterator[str]:
    tool = tools.tools.get(read.tool)
    if tool is None:
        yield f"there is no tool named {read.tool!r}"
        return
    try:
        gate.check(FsmState.ASSESS, tool)
    except gate.Refused as refusal:
        yield str(refusal)
        return
    arguments: JsonObject = loads_object(read.arguments_json)
    named = [*references(arguments)]
    if unknown := [ref for ref in named if ref not in known]:
        yield f"{{$ref}} to {unknown[0]!r}, which is no read before it"
    elif not named and (problems := problems_with(arguments, tool)):
        yield f"the arguments of {read.tool} do not fit: {problems}"
