"""SYNTHESIZE: named values and findings in one answer, from the facts alone; the values are audited like COMPUTE's."""

from collections.abc import Sequence
from typing import NamedTuple

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.endings import Escalated, RunEnds
from services.executor.core.execute.aggregates import AGGREGATES
from services.executor.core.execute.compute import Calculator, Computation, calculate_tool
from services.executor.core.execute.compute_audit import audit
from services.executor.core.execute.model_calls import UnusableAnswer
from services.executor.core.execute.process_figures import figured, with_figures
from services.executor.core.execute.process_section import process_section
from services.executor.core.execute.structured import Answered, Question, checked
from services.executor.core.making.made import NOTHING, Made
from services.executor.core.making.make import section, stamped
from services.executor.core.making.running import Bench, worked_out
from services.executor.core.prompts import schemas
from services.executor.ports.models import Effort, Tier
from shared.domain.exact_json import Json
from shared.domain.words import FsmState


class Synthesis(Computation):
    findings: str

    def as_json(self) -> Json:
        return {"values": [value.as_json() for value in self.values], "findings": self.findings}


class Framing(NamedTuple):
    """How one synthesis is asked for: its name in the journal, and what the model is told besides."""

    name: str = ""
    text: str = ""
    tier: Tier = Tier.SONNET
    effort: Effort | None = None


SYNTHESIZE = Framing()


def framed(
    ctx: TurnContext,
    progress: Progress,
    framing: Framing = SYNTHESIZE,
    drafts: Sequence[Json] = (),
    made: Made = NOTHING,
) -> Question:
    """``drafts``: what other answers to the same question say, where they differ. ``made``: the task's made tools."""
    dossier = progress.dossier
    named = f":{framing.name}" if framing.name else ""
    return Question(
        step=f"{progress.step}:synthesis{named}",
        tier=framing.tier,
        effort=framing.effort,
        system=(ctx.prompts.role, ctx.prompts.conclude, *((framing.text,) if framing.text else ())),
        sections={
            **ctx.sections,
            "process": process_section(ctx, progress, FsmState.COMPUTE),
            "needs": list[Json](dossier.needs),
            "unmet": list[Json](dossier.unmet),
            "made_tools": section(made),
            "facts": [fact.as_json() for fact in dossier.facts],
            "drafts": list(drafts),
        },
        schema=schemas.synthesis(*made.tools),
        tools=(calculate_tool(made), *AGGREGATES),
        dispatch=Calculator(dossier.facts, ctx.task, Bench(ctx, made)),
    )


async def synthesized(
    ctx: TurnContext,
    progress: Progress,
    asked: Question,
    giving_up: type[RunEnds] = Escalated,
    made: Made = NOTHING,
) -> Answered[Synthesis]:
    """The synthesis with clean figures; after two failed audits the run ends with ``giving_up``."""

    facts = progress.dossier.facts
    own, audited = figured(progress.template, facts, ctx.task), made.fresh()

    async def rerun(key: str, given: Synthesis) -> None:
        values = with_figures(given.values, own)
        await worked_out(ctx, f"{key}:audit", audited, lambda: audit(values, facts, ctx.task, audited))

    def check(given: Synthesis) -> Synthesis:
        values = with_figures(given.values, own)
        problems = audit(values, facts, ctx.task, audited)
        if problems:
            raise UnusableAnswer("the audit found: " + "; ".join(problems))
        return given

    return await checked(ctx, asked, Synthesis, check, giving_up, before=rerun)


def learned(progress: Progress, found: Synthesis, model_calls: int, made: Made = NOTHING) -> Progress:
    """The progress with the values and the findings, which hold for the facts that they are about."""
    values, used = stamped(found.values, made)
    counted = progress.model_copy(update={"model_calls": progress.model_calls + model_calls})
    about = progress.dossier.facts_digest
    return counted.learned(values=values, made=used, audit_clean=True, findings=found.findings, findings_about=about)


def comes_later(progress: Progress) -> bool:
    """Whether a state of its own comes for this; where a template has none, it is done when the facts are there."""
    return FsmState.COMPUTE in progress.path
