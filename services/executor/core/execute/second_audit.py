"""The second audit of COMPUTE: a model looks for what the exact one cannot see, such as a figure of the wrong record.

It can only object. What the exact audit refuses it cannot let pass, and nothing is written over its objection.
"""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Dossier, NamedValue, Operand, Progress
from services.executor.core.endings import Escalated
from services.executor.core.execute.model_calls import UnusableAnswer
from services.executor.core.execute.paths import NoSuchPath, select
from services.executor.core.execute.structured import Question, checked
from services.executor.core.execute.write_plan import calls_as_json
from services.executor.core.prompts import schemas
from services.executor.core.spend.budget import Purse
from services.executor.core.tooling.shortened import shortened
from services.executor.ports.models import Tier
from shared.domain.exact_json import Json, JsonObject, loads
from shared.domain.words import FsmState

_MOST_FOUND = 400  # characters that are shown of what an operand selects


class Issue(BaseModel):
    value: str
    why: str


class Audit(BaseModel):
    clean: bool
    issues: tuple[Issue, ...]


async def second_audit(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with what a model objects to in the figures that it stated, once a plan is to write something.

    A second objection escalates, as does an audit that cannot be used; one that cannot be had fails the run. The
    figures that the executor computes itself need no such audit.
    """
    stated = [value for value in progress.dossier.values if not value.figure]
    if not ctx.limits.audits_values or not stated:
        return progress.learned(audit_issues=())
    done = await checked(ctx, _question(ctx, progress, stated), Audit, lambda given: _usable(given, stated), Escalated)
    issues = tuple(f"{issue.value}: {issue.why}" for issue in done.value.issues)
    if issues:
        ctx.journal.tell("note", audit_objects_to=list(issues))
    if issues and progress.dossier.audit_issues:
        raise Escalated(f"two audits objected to the figures, so nothing was written: {'; '.join(issues)}")
    counted = progress.model_copy(update={"model_calls": progress.model_calls + done.model_calls})
    return counted.learned(audit_clean=not issues, audit_issues=issues)


def concluded_anew(progress: Progress) -> Progress:
    """Back where the figures were concluded, without them and the plan that was built on them."""
    back = FsmState.COMPUTE if FsmState.COMPUTE in progress.path else progress.state
    return progress.learned(values=(), plan=None, findings="", findings_about="").moved(back)


def heeding(ctx: TurnContext, progress: Progress) -> TurnContext:
    """The context of a state that concludes anew: its prompts say what the audit objected to."""
    issues = progress.dossier.audit_issues
    return replace(ctx, sections={**ctx.sections, "refused": list[Json](issues)}) if issues else ctx


def _question(ctx: TurnContext, progress: Progress, stated: Sequence[NamedValue]) -> Question:
    plan = progress.dossier.plan
    return Question(
        step=f"{len(progress.visited)}.AUDIT",
        tier=Tier.HAIKU,
        system=(ctx.prompts.role, ctx.prompts.audit),
        sections={
            "task": ctx.task,
            "values": [_shown(value, progress.dossier) for value in stated],
            "writes": calls_as_json(plan) if plan else [],
        },
        schema=schemas.AUDIT,
        max_tokens=512,
        purse=Purse.WHOLE,
    )


def _usable(given: Audit, stated: Sequence[NamedValue]) -> Audit:
    names = {value.name for value in stated}
    if unknown := [issue.value for issue in given.issues if issue.value not in names]:
        raise UnusableAnswer(f"no value is named {unknown[0]!r}; the values are {', '.join(sorted(names))}")
    if given.clean is bool(given.issues):
        raise UnusableAnswer("clean is true exactly where there are no issues")
    return given


def _shown(value: NamedValue, dossier: Dossier) -> JsonObject:
    operands: list[Json] = [_operand(operand, dossier) for operand in value.operands]
    return {"name": value.name, "operation": value.operation, "operands": operands, "value": value.value}


def _operand(operand: Operand, dossier: Dossier) -> JsonObject:
    """An operand with what it selects, and the call that gave it."""
    if operand.source == "task":
        return {"source": "task", "found": operand.literal}
    if operand.source == "value":
        found = next((value.value for value in dossier.values if value.name == operand.ref), None)
        return {"source": "value", "ref": operand.ref, "found": found}
    fact = next((fact for fact in dossier.facts if fact.ref == operand.ref), None)
    if fact is None:
        return {"source": "result", "ref": operand.ref, "path": operand.path, "found": None}
    seen, cut = shortened(_selected(fact.result, operand.path), _MOST_FOUND)
    said: JsonObject = {"source": "result", "tool": fact.tool, "arguments": loads(fact.arguments_json)}
    return {**said, "path": operand.path, "found": seen, **({"note": cut} if cut else {})}


def _selected(result: Json, path: str) -> list[Json]:
    try:
        return select(result, path)
    except NoSuchPath:
        return []
