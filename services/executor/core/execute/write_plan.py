"""The WritePlan: what a model proposes, checked until every call is one that exists and every figure has a source."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal, cast

from pydantic import BaseModel

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Dossier, Progress
from services.executor.core.endings import Escalated, Failed
from services.executor.core.execute.catalogued_proof import as_catalogued
from services.executor.core.execute.idempotency import key_field
from services.executor.core.execute.in_sequence import refuse_unprovable
from services.executor.core.execute.model_calls import UnusableAnswer
from services.executor.core.execute.notices import notice_wanted
from services.executor.core.execute.process_routes import rows_wanted
from services.executor.core.execute.process_section import knowing_figures, plan_section
from services.executor.core.execute.provenance import untraced
from services.executor.core.execute.read_rules import ReadRules, read_rules
from services.executor.core.execute.reading import known_corrections
from services.executor.core.execute.refs import references
from services.executor.core.execute.structured import Question, checked
from services.executor.core.fsm.states import RULES
from services.executor.core.prompts import schemas
from services.executor.core.spend.budget import Purse
from services.executor.core.tooling.corrections import NONE_KNOWN, Corrections
from services.executor.core.tooling.schema_drift import renamed
from services.executor.core.tooling.toolbox import Toolbox
from services.executor.core.tooling.validate import problems_with
from services.executor.ports.models import Tier
from services.executor.ports.tools import Tool
from shared.contracts.plan import Origin, PlannedCall, ReadBack, WritePlan
from shared.contracts.policy import CallRefusal
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import FsmState, ToolClass

_WRITES = (ToolClass.CHANGE, ToolClass.NOTIFY)


class ProposedReadBack(BaseModel):
    tool: str
    arguments_json: str
    expect_json: str = "{}"


class ProposedWrite(BaseModel):
    """What is sent, and how it is proved: a call of the plan, or the one that takes it back."""

    connection: str
    tool: str
    arguments_json: str
    origins: tuple[Origin, ...] = ()
    read_back: ProposedReadBack | None = None


class ProposedCall(ProposedWrite):
    call_id: str
    on_failure: Literal["stop", "continue", "compensate"] = "stop"
    compensation: ProposedWrite | None = None


class Proposal(BaseModel):
    calls: tuple[ProposedCall, ...]
    why_none: str | None = None
    cannot: str | None = None


async def make_plan(ctx: TurnContext, progress: Progress, refused: Sequence[CallRefusal] = ()) -> Progress:
    """The progress with a plan whose calls exist, fit their schemas and carry no figure without a source (I2).

    No read-back calls a tool that a rule bars: the write is then not proved, and said to be so.
    A plan that does not pass after one correction escalates. ``refused``: what rules forbade in the plan before.
    """

    reading = RULES[FsmState.ASSESS].permits
    rules = await read_rules(ctx, f"{len(progress.visited)}.WRITE PLAN", reading)
    progress = knowing_figures(ctx, progress)

    def check(proposal: Proposal) -> WritePlan:
        corrections = known_corrections(ctx, progress)
        known = (progress.dossier, ctx.record.task_id, ctx.task, corrections, ctx.clock)
        plan = checked_plan(proposal, ctx.toolbox, *known)
        plan = as_catalogued(plan, ctx.toolbox, rules.barred)
        refuse_barred(plan, rules)
        refuse_unprovable(progress.template, plan)
        return plan

    dossier = progress.dossier
    question = Question(
        step=f"{len(progress.visited)}.WRITE PLAN{':refused' if refused else ''}",
        tier=Tier.SONNET,
        system=(ctx.prompts.role, ctx.prompts.plan),
        sections={
            **ctx.sections,
            "process": plan_section(ctx, progress),
            "refused": [_refusal(refusal) for refusal in refused],
            "facts": [fact.as_json() for fact in dossier.facts],
            "values": [value.as_json() for value in dossier.values],
            "findings": dossier.thought,
            "write_tools": ctx.toolbox.listing(_WRITES),
            "read_tools": ctx.toolbox.listing(reading),
        },
        schema=schemas.WRITE_PLAN,
        max_tokens=4096,
        purse=Purse.PLAN,
    )

    def wish(plan: WritePlan) -> str:
        return " ".join(filter(None, (notice_wanted(ctx, progress, plan), rows_wanted(progress, ctx.task, plan))))

    done = await checked(ctx, question, Proposal, check, giving_up=Escalated, wish=wish)
    ctx.journal.tell("plan", calls=[call.tool for call in done.value.calls], why_none=done.value.why_none)
    counted = progress.model_copy(update={"model_calls": progress.model_calls + done.model_calls})
    return counted.learned(plan=done.value)


def refuse_barred(plan: WritePlan, rules: ReadRules) -> None:
    """Raises ``UnusableAnswer`` for a read-back that a rule bars."""
    for call in plan.every_call:
        why = rules.barred(call.read_back.tool) if call.read_back else None
        if call.read_back and why:
            raise UnusableAnswer(
                f"{call.call_id}.read_back: {call.read_back.tool} must not be called ({why}); leave it out"
            )


def without_repeats(plan: WritePlan, refused: Collection[str]) -> WritePlan:
    """The plan without those refused calls that are an earlier one over again, argument for argument."""
    kept: list[PlannedCall] = []
    for call in plan.calls:
        same = any(_what(one) == _what(call) for one in kept)
        if not (call.call_id in refused and same):
            kept.append(call)
    return plan.model_copy(update={"calls": tuple(kept)})


def _what(call: PlannedCall) -> tuple[str, str, str]:
    return (call.connection_id, call.tool, call.arguments_json)


def _refusal(refusal: CallRefusal) -> Json:
    said = {"call_id": refusal.call_id, "tool": refusal.tool, "kind": refusal.kind}
    return {**said, "rule": refusal.rule_id, "reason": refusal.reason}


def checked_plan(
    proposal: Proposal,
    tools: Toolbox,
    dossier: Dossier,
    task_id: str,
    task: str,
    corrections: Corrections = NONE_KNOWN,
    now: datetime | None = None,
) -> WritePlan:
    """The proposal as a plan; raises ``UnusableAnswer`` naming the call and what is wrong with it.

    Renamed columns are corrected here, before anybody approves the plan, and never when it is carried out.
    A task of which a part cannot be planned ends as ``Failed``: nothing of it is half done.
    """
    if proposal.cannot:
        raise Failed(f"the task cannot be carried out, so nothing was written: {proposal.cannot}")
    calls: list[PlannedCall] = []
    for proposed in proposal.calls:
        calls.append(checked_call(proposed, calls, tools, corrections))
    plan = WritePlan(task_id=task_id, calls=_as_made(calls), why_none=proposal.why_none)
    strange = untraced(plan, dossier, task, now)
    if strange:
        raise UnusableAnswer("no source for: " + ", ".join(strange))
    return plan


def _as_made(calls: Sequence[PlannedCall]) -> tuple[PlannedCall, ...]:
    """In the order in which they will be made, changes before notices: what rules say of the order is then true."""
    ordered = sorted(calls, key=lambda call: call.tool_class is ToolClass.NOTIFY)
    for place, call in enumerate(ordered):
        before = {one.call_id for one in ordered[:place]}
        if late := [ref for ref in references(call.arguments) if ref not in before]:
            raise UnusableAnswer(f"{call.call_id}: {late[0]!r} is a notice, which is sent after every change")
    return tuple(ordered)


def checked_call(
    proposed: ProposedCall, earlier: Sequence[PlannedCall], tools: Toolbox, corrections: Corrections
) -> PlannedCall:
    """One call as a plan has it, after those that stand before it; raises ``UnusableAnswer``."""
    name, known = proposed.call_id, [call.call_id for call in earlier]
    if name in {*known, *(call.compensation.call_id for call in earlier if call.compensation)}:
        raise UnusableAnswer(f"{name}: this call id is used twice")
    call = _checked_write(name, proposed, known, tools, corrections)
    if call.tool_class is not ToolClass.CHANGE and (proposed.compensation or proposed.on_failure == "compensate"):
        raise UnusableAnswer(f"{name}: {call.tool} only tells somebody; it has no compensation and asks for none")
    return call.model_copy(
        update={
            "on_failure": proposed.on_failure,
            "compensation": _checked_compensation(proposed, known, tools, corrections),
        }
    )


def _checked_compensation(
    proposed: ProposedCall, earlier: Sequence[str], tools: Toolbox, corrections: Corrections
) -> PlannedCall | None:
    """The call that takes another back: a change like it, which may refer to that call's own result."""
    if proposed.compensation is None:
        return None
    name, known = f"undo-{proposed.call_id}", [*earlier, proposed.call_id]
    if name in known:
        raise UnusableAnswer(f"{name}: this call id is used twice")
    call = _checked_write(name, proposed.compensation, known, tools, corrections)
    if call.tool_class is not ToolClass.CHANGE:
        raise UnusableAnswer(f"{name}: {call.tool} only tells somebody; it takes nothing back")
    return call


def _checked_write(
    name: str, proposed: ProposedWrite, known: Sequence[str], tools: Toolbox, corrections: Corrections
) -> PlannedCall:
    """A write that exists and fits; ``known`` names the calls to whose results it may refer."""
    tool = _writing_tool(name, proposed, tools)
    given = _object(proposed.arguments_json, f"{name}.arguments_json")
    arguments = _in_present_names(given, tool, corrections.for_call(tool, given))
    unknown = [ref for ref in references(arguments) if ref not in known]
    if unknown:
        raise UnusableAnswer(f"{name}: {{$ref}} to {unknown[0]!r}, which is no earlier call")
    if (field := key_field(tool)) in arguments:
        raise UnusableAnswer(f"{name}: {field} is not for you to fill: leave it out")
    if not any(references(arguments)):
        _fits(arguments, tool, name)
    return PlannedCall(
        call_id=name,
        connection_id=tool.connection_id,
        tool=tool.name,
        tool_class=tool.tool_class,
        arguments_json=dumps(arguments),
        read_back=_checked_read_back(name, proposed, tool, tools, corrections),
        origins=proposed.origins,
        idempotency_field=field,
    )


def _writing_tool(name: str, proposed: ProposedWrite, tools: Toolbox) -> Tool:
    tool = tools.find(proposed.connection, proposed.tool)
    if tool is None:
        raise UnusableAnswer(f"{name}: connection {proposed.connection!r} has no tool {proposed.tool!r}")
    if tool.tool_class not in _WRITES:
        raise UnusableAnswer(f"{name}: {tool.name} does not write; a plan holds writes only")
    return tool


def _checked_read_back(
    name: str, proposed: ProposedWrite, tool: Tool, tools: Toolbox, corrections: Corrections
) -> ReadBack | None:
    """The proposed proof if its tool reads; a notice needs none."""
    asked = proposed.read_back
    if asked is None or tool.tool_class is ToolClass.NOTIFY:
        return None
    reader = tools.find(tool.connection_id, asked.tool)
    if reader is None or reader.tool_class is not ToolClass.READ:
        raise UnusableAnswer(f"{name}.read_back: {asked.tool!r} is no read tool of {tool.connection_id}")
    given = _object(asked.arguments_json, f"{name}.read_back.arguments_json")
    names = corrections.for_call(reader, given)
    arguments = _in_present_names(given, reader, names)
    if not any(references(arguments)):
        _fits(arguments, reader, f"{name}.read_back")
    expect = _object(asked.expect_json, f"{name}.read_back.expect_json")
    return ReadBack(tool=reader.name, arguments_json=dumps(arguments), expect_json=dumps(renamed(expect, names)))


def _in_present_names(given: JsonObject, tool: Tool, names: Mapping[str, str]) -> JsonObject:
    """Arguments with the names that the server's columns have now, where its schema takes them."""
    corrected = renamed(given, names)
    return given if problems_with(corrected, tool) else corrected


def _fits(arguments: JsonObject, tool: Tool, where: str) -> None:
    problems = problems_with(arguments, tool)
    if problems:
        raise UnusableAnswer(f"{where}: the arguments of {tool.name} do not fit: {problems}")


def _object(text: str, where: str) -> JsonObject:
    try:
        return loads_object(text)
    except ValueError as error:
        raise UnusableAnswer(f"{where}: {error}") from error


def calls_as_json(plan: WritePlan) -> list[Json]:
    """The plan's calls for people and prompts: tool, arguments and where they come from."""
    return [_call_as_json(call) for call in plan.calls]


def _call_as_json(call: PlannedCall) -> JsonObject:
    return {
        "call_id": call.call_id,
        "connection": call.connection_id,
        "tool": call.tool,
        "arguments": cast(Json, call.arguments),
        "origins": [{"argument": o.argument, "source": o.source, "ref": o.ref} for o in call.origins],
        **({"on_failure": call.on_failure} if call.on_failure != "stop" else {}),
        **({"compensation": _call_as_json(call.compensation)} if call.compensation else {}),
        **({"idempotency_field": call.idempotency_field} if call.idempotency_field else {}),
    }
