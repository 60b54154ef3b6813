"""Closes a plan: asks the rules, and whether it does what the parts ask; the frozen plan is a journal step.

The look at coverage can only object: what rules or sources refuse it cannot let pass. It is made where a wrong write
would be bad.
"""

from collections.abc import Container, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pydantic import BaseModel

from services.executor.core.authorize.policy import refuse_if_blocked, verdict_on
from services.executor.core.figures.calculator import MadeToolResults
from services.executor.core.figures.evaluate import recheck_figures
from services.executor.core.figures.mentions import find_mentions
from services.executor.core.model.made_tools import compute_with_tools
from services.executor.core.model.model_calls import ModelQuestion, Unanswered, UnusableAnswer, ask_checked
from services.executor.core.model.talk import local_now
from services.executor.core.plan.draft import CLOSING, ClosedPlan
from services.executor.core.plan.notices import notice_wanted, with_sentences
from services.executor.core.plan.proposals import NotProposed, Proposal
from services.executor.core.plan.sources import known_figures, user_texts
from services.executor.core.process.figures import calls_off_route, with_process_figures
from services.executor.core.reads.reader import TaskReader
from services.executor.core.records.read_backs import choose_read_back
from services.executor.core.records.references import reference_to_made, references
from services.executor.core.records.wanted_reads import unfound_records
from services.executor.core.session.budget import BudgetShare
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.values import NamedValue, without_values
from services.executor.core.states.machine import Escalated, Failed, ProcessTemplate, Rejected
from services.executor.core.states.prompts import COVERAGE_SCHEMA
from services.executor.core.tools.classes import identifies
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.toolbox import Toolbox, key_field
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.domain.exact_json import Json, JsonObject, dumps, walk_json
from shared.domain.words import FsmState, PlanAudit, ToolClass

_RISKS = ("medium", "high")
OUTDATED = "plan:{}:outdated"  # the journal key of why a plan was not made after a person's yes


class Objection(BaseModel):
    part: int
    why: str


class Coverage(BaseModel):
    agrees: bool
    problems: tuple[Objection, ...] = ()


class Objections(NamedTuple):
    """What a model objects to, by call id, and how many model calls it took to ask."""

    by_call: Mapping[str, str] = {}
    model_calls: int = 0


async def ask_objections(ctx: TurnContext, progress: Progress, plan: WritePlan, key: str) -> Objections:
    """Asks a model whether the calls do what the parts ask, of a plan that is to be audited; empty if it agrees, or for
    another one.

    Raises ``Failed`` if the model cannot be had: a risky plan is not made unchecked. ``key``: the journal step.
    """
    wanted, is_risky = ctx.limits.audit, progress.template.risk in _RISKS
    if wanted is PlanAudit.OFF or not (is_risky or wanted is PlanAudit.ALL):
        return Objections()
    try:
        known = frozenset(part.number for part in progress.dossier.parts)
        question = _build_question(ctx, progress, plan, key)
        answer, asked = await ask_checked(ctx, question, Coverage, partial(_check_answer, known))
    except Unanswered as unusable:
        reason = f"whether the plan does what the task asks was not judged, so nothing was written: {unusable.reason}"
        raise Failed(reason, "model") from unusable
    wrong = {one.part: one.why for one in answer.problems}
    if wrong:
        ctx.journal.tell("note", coverage=[f"{part}: {why}" for part, why in wrong.items()])
    by_call = {
        call.call_id: f"it does not do what part {call.part} asks: {wrong[call.part]}"
        for call in plan.calls
        if call.part in wrong
    }
    return Objections(by_call, asked)


def _check_answer(parts: Container[int], said: Coverage) -> Coverage:
    """The answer, if it agrees or names problems, each with a part that exists. Raises ``UnusableAnswer``."""
    if said.agrees is bool(said.problems):
        raise UnusableAnswer("problems: name one for each part that the calls do not carry out, and none if you agree")
    if strange := [one.part for one in said.problems if one.part not in parts]:
        raise UnusableAnswer(f"problems: there is no part {strange[0]}")
    return said


def _build_question(ctx: TurnContext, progress: Progress, plan: WritePlan, key: str) -> ModelQuestion:
    parts: list[Json] = [part.as_json() for part in progress.dossier.parts]
    calls: list[Json] = [{"part": call.part, "tool": call.tool, "arguments": call.arguments} for call in plan.calls]
    values: list[Json] = [
        {"name": value.name, "operation": value.operation, "value": value.value} for value in progress.dossier.values
    ]
    return ModelQuestion(
        step=key,
        system=(ctx.prompts.coverage,),
        sections={"task": ctx.task, "now": ctx.sections.get("now"), "parts": parts, "values": values, "calls": calls},
        schema=COVERAGE_SCHEMA,
        max_tokens=512,
        share=BudgetShare.WHOLE,
    )


def order_calls(calls: Sequence[PlannedCall], task_id: str, number: int) -> WritePlan:
    """A plan of the calls in the order in which they are made: changes before notices.

    Raises ``NotProposed`` for a change that needs a notice's answer.
    """
    ordered = sorted(calls, key=lambda call: call.tool_class is ToolClass.NOTIFY)
    for place, call in enumerate(ordered):
        made = {one.call_id for one in ordered[:place]}
        if any(ref not in made for ref in references(call.arguments)):
            raise NotProposed(f"{call.tool} needs the answer of a notice, which is sent after every change")
    return WritePlan(task_id=task_id, round=number, calls=tuple(ordered))


def with_proofs(plan: WritePlan, toolbox: Toolbox, reader: TaskReader) -> WritePlan:
    """The plan with a read-back for each change that some read can show, and the sentence that a notice may get."""
    proved = plan.model_copy(update={"calls": tuple(_add_read_back(call, toolbox, reader) for call in plan.calls)})
    return with_sentences(proved, {(tool.connection_id, tool.name): tool for tool in toolbox.tools.values()})


def _add_read_back(call: PlannedCall, toolbox: Toolbox, reader: TaskReader) -> PlannedCall:
    tool = toolbox.find(call.connection_id, call.tool)
    if tool is None:
        return call
    chosen = choose_read_back(tool, call.arguments, toolbox, reader.facts, call.call_id, reader.rules.barring_rule)
    undo = _add_read_back(call.compensation, toolbox, reader) if call.compensation else None
    return call.model_copy(update={"read_back": chosen, "compensation": undo})


def with_compensations(plan: WritePlan, toolbox: Toolbox) -> WritePlan:
    """The plan with the call that takes each change back; a later change of its part asks for it on failure."""
    calls: list[PlannedCall] = []
    for call in plan.calls:
        is_change = call.tool_class is ToolClass.CHANGE
        asks = is_change and any(one.part == call.part and one.compensation for one in calls)
        undo = _build_compensation(call, toolbox) if is_change else None
        on_failure = "compensate" if asks else call.on_failure
        calls.append(call.model_copy(update={"compensation": undo, "on_failure": on_failure}))
    return plan.model_copy(update={"calls": tuple(calls)})


def _build_compensation(call: PlannedCall, toolbox: Toolbox) -> PlannedCall | None:
    """The call that takes the change back; None if the catalogue names none that the server has and that changes."""
    tool = toolbox.find(call.connection_id, call.tool)
    undo = toolbox.find(call.connection_id, (tool.catalogue.compensated_by if tool else None) or "")
    if undo is None or undo.tool_class is not ToolClass.CHANGE:
        return None
    # What the call was given under the same names; what else is needed is what it answers with.
    arguments = {name: call.arguments[name] for name in undo.parameters if name in call.arguments}
    for name in sorted(undo.required - {key_field(undo)} - arguments.keys()):
        of_answer: JsonObject = {"$ref": f"{call.call_id}.{name}"}
        arguments[name] = reference_to_made(call.call_id, name) if identifies(name) else of_answer
    return PlannedCall(
        call_id=f"undo-{call.call_id}",
        connection_id=undo.connection_id,
        tool=undo.name,
        tool_class=undo.tool_class,
        arguments_json=dumps(arguments),
        part=call.part,
        origins=tuple(origin for origin in call.origins if origin.argument in arguments),
        idempotency_field=key_field(undo),
    )


_TELLS_OF_BLOCKED = "not made: a change of the plan is blocked by policy. Propose it again if it is still right"
_AGAIN = "not made, propose again"
_LETTERS = frozenset("letter mail email sms message".split())


class Closing:
    """Closes one plan, as one journal step that is named after ``key``, as are the steps within it."""

    def __init__(self, ctx: TurnContext, reader: TaskReader, key: str, *, asks_for_notice: bool = False) -> None:
        """``asks_for_notice``: whether a plan goes back that does not tell whom its process has to tell."""
        self._asks_for_notice = asks_for_notice
        self._ctx = ctx
        self._reader = reader
        self._key = f"{key}{CLOSING}"

    async def close(self, progress: Progress, proposals: Sequence[Proposal], number: int) -> ClosedPlan:
        """The frozen plan, or what is wrong with it; decided once for all attempts. Raises ``Rejected``."""

        async def decide() -> str:
            return (await self._decide_plan(progress, proposals, number)).model_dump_json()

        closed = ClosedPlan.model_validate_json(await self._ctx.journal.note_step(self._key, decide))
        self._note_verdict(closed)
        if closed.refused:
            update = {"plan": closed.plan, "plans": _earlier_plans(progress, closed.plan), "verdict": closed.verdict}
            judged = progress.update_dossier(**update).move_to(FsmState.POLICY_CHECK)
            self._ctx.checkpoints.save(judged, verdicts=closed.events)  # whoever asks why is shown the verdict
            raise Rejected(closed.refused)
        return closed

    async def _decide_plan(self, progress: Progress, proposals: Sequence[Proposal], number: int) -> ClosedPlan:
        """Takes the proposals through each check in turn; one that fails sends the plan back, or ends the task."""
        uses = {one.call.call_id: one.use_id for one in proposals}
        send_back = partial(_send_back, number, uses)
        try:
            plan = order_calls([one.call for one in proposals], self._ctx.record.task_id, number)
        except NotProposed as why:
            return send_back(otherwise=str(why))
        progress = with_process_figures(self._ctx, progress.update_dossier(facts=self._reader.facts))
        wrong = unfound_records(plan, self._ctx.toolbox, self._reader.facts)
        if wrong := wrong or calls_off_route(progress, user_texts(self._ctx), plan):
            return send_back({call_id: f"Not made: {why}" for call_id, why in wrong.items()})
        plan = with_proofs(with_compensations(plan, self._ctx.toolbox), self._ctx.toolbox, self._reader)
        refuse_unprovable(progress.template, plan)
        if self._asks_for_notice and (wanted := notice_wanted(self._ctx, progress, plan)):
            return send_back(otherwise=f"{_AGAIN}: {wanted}", asks_for_notice=True)
        stale = await self._find_stale_values(progress.dossier, plan)
        progress = progress.update_dossier(values=without_values(progress.dossier.values, stale))
        plan, verdicts, barred = await self._leave_out_blocked(progress, plan)
        verdict = verdicts[-1]
        if verdict.problems or _find_blocked(plan, verdict):
            return _refuse_plan(plan, verdicts)
        if verdict.refusals:
            return send_back(barred | {one.call_id: f"{one.rule_id}: {one.reason}" for one in verdict.refusals})
        objections = await ask_objections(self._ctx, progress, plan, f"{self._key}:coverage")
        asked = objections.model_calls
        if objections.by_call:
            return send_back(objections.by_call, model_calls=asked)
        return ClosedPlan(
            plan=plan,
            verdict=verdict,
            barred={uses[call_id]: why for call_id, why in barred.items()},
            calls={uses[call.call_id]: call.call_id for call in plan.calls},
            model_calls=asked,
            stale=stale,
            judged=tuple(verdicts),
            judged_at=None if asked else self._ctx.journal.judged_at,  # a model may have taken its time since
        )

    async def _leave_out_blocked(
        self, progress: Progress, plan: WritePlan
    ) -> tuple[WritePlan, list[Verdict], dict[str, str]]:
        """The plan without what rules block (whole if nothing is left), its verdicts, and why calls are left out."""
        verdicts, barred = [await self._judge(progress, plan)], dict[str, str]()
        while blocked := _find_blocked(plan, verdicts[-1]):
            left = tuple(call for call in plan.calls if call.call_id not in blocked)
            if not left:
                break
            barred, plan = {**barred, **blocked}, plan.model_copy(update={"calls": left})
            verdicts.append(await self._judge(progress, plan))
        return plan, verdicts, barred

    def _note_verdict(self, closed: ClosedPlan) -> None:
        """Remembers the verdict as fresh if it came in this attempt, so that a replay of it does too."""
        if closed.judged_at is not None and closed.judged_at >= self._ctx.journal.began:
            self._ctx.journal.judged_plan, self._ctx.journal.judged_at = closed.plan.hash, closed.judged_at

    async def _judge(self, progress: Progress, plan: WritePlan) -> Verdict:
        """The rules' verdict on the plan, together with those that were made before it."""
        dossier = progress.update_dossier(plan=plan, plans=_earlier_plans(progress, plan)).dossier
        return await verdict_on(self._ctx, progress.template, dossier)

    async def _find_stale_values(self, dossier: Dossier, plan: WritePlan) -> tuple[str, ...]:
        """The names of values that do not come out again and that nothing rests on, once a plan was outdated: their
        inputs were read anew, and the model calculated others. Raises ``Failed`` for any other such value.
        """
        if not dossier.values:
            return ()
        known, made = known_figures(self._ctx, dossier.facts), MadeToolResults(dossier.made)
        wrong = await compute_with_tools(
            self._ctx, self._key, made, lambda: recheck_figures(dossier.values, known, made)
        )
        if not wrong:
            return ()
        used = {one.ref for call in plan.every_call for one in call.origins if one.source == "value"}
        used |= {value.name for value in dossier.values if value.figure or value.made_by or value.kind == "boolean"}
        used |= _names_in_texts(self._ctx, dossier.values, plan)
        was_outdated = any(self._ctx.journal.get(OUTDATED.format(one.round)) for one in dossier.every_plan)
        if problems := [why for name, why in wrong.items() if name in used or not was_outdated]:
            raise Failed(f"the audit of the plan's figures is not clean, so nothing was written: {'; '.join(problems)}")
        return tuple(wrong)


def _names_in_texts(ctx: TurnContext, values: Sequence[NamedValue], plan: WritePlan) -> set[str]:
    """The names of the values of which a text among the plan's arguments has the figure."""
    leaves = (one for call in plan.every_call for _, one in walk_json(call.arguments))
    texts = [find_mentions(one, local_now(ctx)) for one in leaves if isinstance(one, str)]
    return {value.name for value in values if any(value.number in text.numbers_by_value for text in texts)}


def _earlier_plans(progress: Progress, plan: WritePlan) -> tuple[WritePlan, ...]:
    return tuple(one for one in progress.dossier.every_plan if one.round < plan.round)


def _refuse_plan(plan: WritePlan, verdicts: Sequence[Verdict]) -> ClosedPlan:
    """What ends the task: the policy itself is broken, or it blocks all that was left to do."""
    why = "blocked by policy"
    try:
        refuse_if_blocked(verdicts[-1], plan)
    except Rejected as rejected:
        why = rejected.reason
    return ClosedPlan(plan=plan, verdict=verdicts[-1], refused=why, judged=tuple(verdicts))


def _send_back(
    number: int,
    uses: Mapping[str, str],
    by_call: Mapping[str, str] = {},  # read only
    otherwise: str = _AGAIN,
    *,
    model_calls: int = 0,
    asks_for_notice: bool = False,
) -> ClosedPlan:
    """No plan: the model is told what is wrong ``by_call``, and ``otherwise`` of every other call of the plan."""
    errors = {use_id: by_call.get(call_id, otherwise) for call_id, use_id in uses.items()}
    plan = WritePlan(task_id="", round=number)
    return ClosedPlan(plan=plan, errors=errors, model_calls=model_calls, asks_for_notice=asks_for_notice)


def _find_blocked(plan: WritePlan, verdict: Verdict) -> dict[str, str]:
    """By call id, why it is not made: a rule blocks it or a call of its part, or it needs the answer of a blocked
    one. Empty where the policy or a rule about tools is broken: then the plan is not made at all.
    """
    why: dict[str, str] = {}
    if verdict.problems or verdict.refusals:
        return why
    for rule in verdict.triggered_rules:
        if rule.action == "block" and rule.call_id:
            why.setdefault(rule.call_id, f"blocked by policy: {rule.rule_id}: {rule.reason}")
    if verdict.blocked and not why:  # a rule about the whole
        why = {call.call_id: "blocked by policy" for call in plan.calls}
    parts = {call.part for call in plan.calls if call.call_id in why}
    for call in plan.calls:
        if call.call_id not in why and (call.part in parts or any(ref in why for ref in references(call.arguments))):
            why[call.call_id] = "not made: another call of its part is blocked by policy"
    if any(call.call_id in why for call in plan.changes):
        why |= {call.call_id: _TELLS_OF_BLOCKED for call in plan.calls if _may_tell_of(call, plan, why)}
    return why


def _may_tell_of(notice: PlannedCall, plan: WritePlan, barred: Mapping[str, str]) -> bool:
    """Whether a call is a notice or letter that may tell of blocked changes: no change of its own part is made."""
    if notice.call_id in barred or not (notice.tool_class is ToolClass.NOTIFY or _writes_to_somebody(notice)):
        return False
    own = (call for call in plan.changes if call.part == notice.part and call.call_id != notice.call_id)
    return all(call.call_id in barred for call in own)


def _writes_to_somebody(call: PlannedCall) -> bool:
    """Whether the call writes to somebody by its name, ``write_to_holder``, though it is not classed as a notice."""
    named = words_of(call.tool)
    return "to" in named[1:2] or not _LETTERS.isdisjoint(named)


def refuse_unprovable(template: ProcessTemplate, plan: WritePlan) -> None:
    """Raises ``Escalated`` for a plan that would stop halfway, because no read can prove a change before another."""
    unproved = [call for call in plan.changes[:-1] if call.read_back is None]
    if template.sequence and unproved:
        names = ", ".join(f"{call.call_id} {call.tool}" for call in unproved)
        raise Escalated(
            f"each change is made only after the one before it is proved, and no read can prove {names}; "
            "nothing was written"
        )
