"""Closes a plan: rules judge it, a model may object to it, and the frozen plan is stored as one journal step.

The model's objection (coverage) can only stop a plan. It is asked for where a wrong write would do harm.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from pydantic import BaseModel

from services.executor.core.authorize.policy import request_verdict, why_blocked
from services.executor.core.figures.calculator import MadeToolResults
from services.executor.core.figures.evaluate import find_wrong_values
from services.executor.core.figures.mentions import find_mentions
from services.executor.core.model.made_tools import compute_with_made_tools
from services.executor.core.model.model_calls import ModelQuestion, Unanswered, UnusableAnswer, ask_until_accepted
from services.executor.core.plan.draft import CLOSING_STEP_SUFFIX, ClosedPlan, Proposal
from services.executor.core.plan.named_reads import find_records_not_found
from services.executor.core.plan.notices import why_notice_needed, with_notice_sentences
from services.executor.core.plan.sources import build_operand_sources, list_user_texts
from services.executor.core.process.figures import find_calls_on_wrong_route, with_process_figures
from services.executor.core.reads.reader import TaskReader
from services.executor.core.records.read_backs import choose_read_back
from services.executor.core.records.references import build_made_id_reference, referenced_calls
from services.executor.core.session.budget import BudgetShare
from services.executor.core.session.context import OUTDATED_PLAN_KEY, TurnContext, get_task_time
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.values import Fact, NamedValue, without_values
from services.executor.core.states.machine import Escalated, Failed, ProcessTemplate, Rejected
from services.executor.core.states.prompts import COVERAGE_SCHEMA
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.toolbox import Toolbox, find_idempotency_argument
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.domain.exact_json import Json, JsonObject, dumps, walk_json
from shared.domain.words import FsmState, PlanAuditScope, ToolClass

UNFIT_PLAN_TEXT = "not made, propose again"


@dataclass(eq=False)
class UnfitPlan(Exception):
    """The plan cannot be carried out as it stands, but the model may correct it."""

    error_for_others: str = UNFIT_PLAN_TEXT  # what every call without an error of its own is answered
    errors_by_call: Mapping[str, str] = field(default_factory=dict)  # {the plan's call id: what is wrong}
    asks_for_notice: bool = False  # the plan lacks a notice that its process wants
    model_calls: int = 0  # how many it took to find out


def build_ordered_plan(calls: Sequence[PlannedCall], task_id: str, number: int) -> WritePlan:
    """A plan of the calls in the order in which they are made: changes before notices.

    ``number``: the plan's, from 1. Raises ``UnfitPlan`` for a call that needs the answer of a later call, or of one
    that is not in the plan.
    """
    ordered = sorted(calls, key=lambda call: call.tool_class is ToolClass.NOTIFY)
    for place, call in enumerate(ordered):
        earlier_ids = {earlier.call_id for earlier in ordered[:place]}
        if any(ref not in earlier_ids for ref in referenced_calls(call.arguments)):
            later_ids = {later.call_id for later in ordered[place:]}.intersection(referenced_calls(call.arguments))
            whose = "a notice, which is sent after every change" if later_ids else "a call that is not of this plan"
            raise UnfitPlan(f"{call.tool} needs the answer of {whose}")
    return WritePlan(task_id=task_id, round=number, calls=tuple(ordered))


def with_read_backs(
    plan: WritePlan, toolbox: Toolbox, facts: Sequence[Fact], find_barring_rule: Callable[[str], str | None]
) -> WritePlan:
    """The plan with a read-back, which is the read to prove it, for each change that a read can prove, and with what
    ``with_notice_sentences`` adds. ``find_barring_rule``: gives the rule that forbids a read tool, or None.
    """

    def add_read_back(call: PlannedCall) -> PlannedCall:
        tool = toolbox.find_tool(call.connection_id, call.tool)
        if tool is None:
            return call
        read_back = choose_read_back(tool, call.arguments, toolbox, facts, call.call_id, find_barring_rule)
        undo = add_read_back(call.compensation) if call.compensation else None
        return call.model_copy(update={"read_back": read_back, "compensation": undo})

    calls = tuple(map(add_read_back, plan.calls))
    return with_notice_sentences(plan.model_copy(update={"calls": calls}), toolbox)


def with_compensations(plan: WritePlan, toolbox: Toolbox) -> WritePlan:
    """The plan in which each change has the call that takes it back, if the catalogue names one.

    If a later change of the same part fails, these calls are made.
    """
    calls: list[PlannedCall] = []
    for call in plan.calls:
        is_change = call.tool_class is ToolClass.CHANGE
        is_compensated = is_change and any(earlier.part == call.part and earlier.compensation for earlier in calls)
        undo = _build_compensation(call, toolbox) if is_change else None
        on_failure = "compensate" if is_compensated else call.on_failure
        calls.append(call.model_copy(update={"compensation": undo, "on_failure": on_failure}))
    return plan.model_copy(update={"calls": tuple(calls)})


def _build_compensation(call: PlannedCall, toolbox: Toolbox) -> PlannedCall | None:
    """The call that takes the change back; None if the catalogue names no tool that the server has and that changes."""
    tool = toolbox.find_tool(call.connection_id, call.tool)
    undo = toolbox.find_tool(call.connection_id, (tool.catalogue.compensated_by if tool else None) or "")
    if undo is None or undo.tool_class is not ToolClass.CHANGE:
        return None
    # What the call was given under the same names; what else is needed is what it answers with.
    arguments = {name: call.arguments[name] for name in undo.parameters if name in call.arguments}
    for name in sorted(undo.required - {find_idempotency_argument(undo)} - arguments.keys()):
        reference: JsonObject = {"$ref": f"{call.call_id}.{name}"}
        arguments[name] = build_made_id_reference(call.call_id, name) if is_identifying_name(name) else reference
    return PlannedCall(
        call_id=f"undo-{call.call_id}",
        connection_id=undo.connection_id,
        tool=undo.name,
        tool_class=undo.tool_class,
        arguments_json=dumps(arguments),
        part=call.part,
        origins=tuple(origin for origin in call.origins if origin.argument in arguments),
        idempotency_field=find_idempotency_argument(undo),
    )


def refuse_unprovable_sequence(template: ProcessTemplate, plan: WritePlan) -> None:
    """Raises ``Escalated`` if each change needs proof before the next is made, and no read can prove one of these."""
    unproved = [call for call in plan.changes[:-1] if call.read_back is None]
    if template.sequence and unproved:
        names = ", ".join(f"{call.call_id} {call.tool}" for call in unproved)
        raise Escalated(
            f"each change is made only after the one before it is proved, and no read can prove {names}; "
            "nothing was written"
        )


_AUDITED_RISKS = ("medium", "high")
_NOTICE_OF_BLOCKED_CHANGE_TEXT = (
    "not made: a change of the plan is blocked by policy. Propose it again if it is still right"
)
_LETTER_WORDS = frozenset("letter mail email sms message".split())


class JudgedPlan(NamedTuple):
    """A plan without the calls that rules block; the whole plan, if they block all of it."""

    plan: WritePlan
    verdicts: tuple[Verdict, ...]  # in order; after each one the calls that it blocks are left out
    barred: Mapping[str, str]  # {call id: why the call was left out}

    @property
    def verdict(self) -> Verdict:
        """The last verdict: the one on the plan as it now is."""
        return self.verdicts[-1]

    @property
    def why_refused(self) -> str:
        """Why the task ends here: the policy is invalid, or it blocks all that is left; else empty.

        If a rule about tools refuses a call, the plan goes back to the model instead.
        """
        ends_here = self.verdict.problems or not self.verdict.refusals
        return why_blocked(self.verdict, self.plan) if ends_here else ""


class PlanClosing:
    """Closes one plan: checks it, asks for the policy's verdict, and freezes it or sends it back to the model.

    This is one journal step, whose name begins with ``key``, as do the names of the steps within it.
    """

    def __init__(self, ctx: TurnContext, reader: TaskReader, key: str, *, asks_for_notice: bool = False) -> None:
        """``asks_for_notice``: whether to send back a plan that lacks a notice which its process wants."""
        self._asks_for_notice = asks_for_notice
        self._ctx = ctx
        self._reader = reader
        self._key = f"{key}{CLOSING_STEP_SUFFIX}"

    async def close(self, progress: Progress, proposals: Sequence[Proposal], number: int) -> ClosedPlan:
        """Closes the proposals as the task's plan ``number``: frozen, or sent back to the model with what is wrong.

        Decided once: a later attempt at the turn takes the result from the journal. Raises ``Rejected`` if the policy
        is invalid or blocks all calls, once the verdict is stored, and ``Failed`` if the plan cannot be judged.
        """

        async def decide() -> str:
            return (await self._freeze_or_send_back(progress, proposals, number)).model_dump_json()

        closed = ClosedPlan.model_validate_json(await self._ctx.journal.run_local_step(self._key, decide))
        self._restore_verdict_freshness(closed)
        if closed.refused:
            update = {"plan": closed.plan, "plans": _earlier_plans(progress, closed.plan), "verdict": closed.verdict}
            judged_progress = progress.update_dossier(**update).move_to(FsmState.POLICY_CHECK)
            self._ctx.journal.save_progress(
                judged_progress, verdicts=closed.events
            )  # a client that asks why is shown them
            raise Rejected(closed.refused)
        return closed

    async def _freeze_or_send_back(self, progress: Progress, proposals: Sequence[Proposal], number: int) -> ClosedPlan:
        use_ids = {proposal.call.call_id: proposal.use_id for proposal in proposals}
        try:
            return await self._check_and_freeze(progress, [proposal.call for proposal in proposals], number, use_ids)
        except UnfitPlan as unfit:
            return ClosedPlan(
                plan=WritePlan(task_id="", round=number),
                errors={
                    use_id: unfit.errors_by_call.get(call_id, unfit.error_for_others)
                    for call_id, use_id in use_ids.items()
                },
                model_calls=unfit.model_calls,
                asks_for_notice=unfit.asks_for_notice,
            )

    async def _check_and_freeze(
        self, progress: Progress, calls: Sequence[PlannedCall], number: int, uses: Mapping[str, str]
    ) -> ClosedPlan:
        """Takes the plan through each check in turn. ``uses``: ``{the plan's call id: the id of the model's call}``.

        Raises ``UnfitPlan`` where the model may correct the plan.
        """
        ctx = self._ctx
        plan = build_ordered_plan(calls, ctx.record.task_id, number)
        progress = with_process_figures(ctx, progress.update_dossier(facts=self._reader.facts))
        self._refuse_wrong_records(progress, plan)
        plan = with_compensations(plan, ctx.toolbox)
        plan = with_read_backs(plan, ctx.toolbox, self._reader.facts, self._reader.find_barring_rule)
        refuse_unprovable_sequence(progress.template, plan)
        self._require_wanted_notice(progress, plan)
        stale = await self._find_stale_values(progress.dossier, plan)
        progress = progress.update_dossier(values=without_values(progress.dossier.values, stale))
        judged = await self._judge_without_blocked(progress, plan)
        if reason := judged.why_refused:
            return ClosedPlan(plan=judged.plan, verdict=judged.verdict, refused=reason, judged=judged.verdicts)
        _refuse_by_tool_rules(judged)
        model_calls = await check_coverage_and_count_requests(ctx, progress, judged.plan, f"{self._key}:coverage")
        return ClosedPlan(
            plan=judged.plan,
            verdict=judged.verdict,
            barred={uses[call_id]: reason for call_id, reason in judged.barred.items()},
            calls={uses[call.call_id]: call.call_id for call in judged.plan.calls},
            model_calls=model_calls,
            stale=stale,
            judged=judged.verdicts,
            judged_at=None if model_calls else ctx.journal.judged_at,  # a model may have taken its time since
        )

    def _refuse_wrong_records(self, progress: Progress, plan: WritePlan) -> None:
        """Raises ``UnfitPlan`` for calls that name a record which a read did not find; if there are none, for those
        that treat a row otherwise than the process's routes say for a row of its age.
        """
        reasons = find_records_not_found(plan, self._ctx.toolbox, self._reader.facts)
        if reasons := reasons or find_calls_on_wrong_route(
            progress, list_user_texts(self._ctx), plan, self._ctx.toolbox.keys
        ):
            raise UnfitPlan(errors_by_call={call_id: f"Not made: {reason}" for call_id, reason in reasons.items()})

    def _require_wanted_notice(self, progress: Progress, plan: WritePlan) -> None:
        if self._asks_for_notice and (wanted_notice := why_notice_needed(self._ctx, progress, plan)):
            raise UnfitPlan(f"{UNFIT_PLAN_TEXT}: {wanted_notice}", asks_for_notice=True)

    async def _judge_without_blocked(self, progress: Progress, plan: WritePlan) -> JudgedPlan:
        """Asks for verdicts, each time without the calls that the last one blocks, until none or all are blocked."""
        judged = JudgedPlan(plan, (await self._request_verdict(progress, plan),), {})
        while blocked := _find_blocked_calls(judged.plan, judged.verdict):
            remaining = tuple(call for call in judged.plan.calls if call.call_id not in blocked)
            if not remaining:
                break
            plan = judged.plan.model_copy(update={"calls": remaining})
            verdicts = (*judged.verdicts, await self._request_verdict(progress, plan))
            judged = JudgedPlan(plan, verdicts, {**judged.barred, **blocked})
        return judged

    def _restore_verdict_freshness(self, closed: ClosedPlan) -> None:
        """Marks the stored verdict as fresh if this attempt at the turn got it; a replay does not ask for it again."""
        if closed.judged_at is not None and closed.judged_at >= self._ctx.journal.began:
            self._ctx.journal.judged_plan = closed.plan.hash
            self._ctx.journal.judged_at = closed.judged_at

    async def _request_verdict(self, progress: Progress, plan: WritePlan) -> Verdict:
        """The verdict on the plan, given the plans that were made before it."""
        dossier = progress.update_dossier(plan=plan, plans=_earlier_plans(progress, plan)).dossier
        return await request_verdict(self._ctx, progress.template, dossier)

    async def _find_stale_values(self, dossier: Dossier, plan: WritePlan) -> tuple[str, ...]:
        """The names of calculated values that are no longer what their operands give and that nothing rests on.

        Such values pass only if an earlier plan of the task was outdated, since the model has then calculated others in
        their place. Raises ``Failed`` for any other value that is no longer what its operands give.
        """
        if not dossier.values:
            return ()
        figures = build_operand_sources(self._ctx, dossier.facts)
        results = MadeToolResults(dossier.made)
        reasons = await compute_with_made_tools(
            self._ctx, self._key, results, lambda: find_wrong_values(dossier.values, figures, results)
        )
        if not reasons:
            return ()
        used_names = {origin.ref for call in plan.every_call for origin in call.origins if origin.source == "value"}
        decisive = (value for value in dossier.values if value.figure or value.made_by or value.kind == "boolean")
        used_names |= {value.name for value in decisive} | _find_values_in_plan_texts(self._ctx, dossier.values, plan)
        was_outdated = any(self._ctx.journal.get(OUTDATED_PLAN_KEY.format(made.round)) for made in dossier.every_plan)
        if problems := [reason for name, reason in reasons.items() if name in used_names or not was_outdated]:
            raise Failed(f"the audit of the plan's figures is not clean, so nothing was written: {'; '.join(problems)}")
        return tuple(reasons)


class CoverageObjection(BaseModel):
    part: int
    why: str


class CoverageAnswer(BaseModel):
    agrees: bool
    problems: tuple[CoverageObjection, ...] = ()


async def check_coverage_and_count_requests(ctx: TurnContext, progress: Progress, plan: WritePlan, key: str) -> int:
    """Asks a model whether the calls do what the task's parts ask, if the plan is to be audited, and returns how many
    model calls that took. ``key``: the name of the journal step.

    Raises ``UnfitPlan`` with the model's objections to parts that have calls in the plan; others are noted, since a
    later plan may carry out those parts. Raises ``Failed`` if no model answers: a risky plan is not carried
    out unchecked.
    """
    audit, is_risky = ctx.limits.audit, progress.template.risk in _AUDITED_RISKS
    if audit is PlanAuditScope.OFF or not (is_risky or audit is PlanAuditScope.ALL):
        return 0
    check = partial(_check_coverage_answer, frozenset(part.number for part in progress.dossier.parts))
    try:
        question = _build_coverage_question(ctx, progress, plan, key)
        answer, model_calls = await ask_until_accepted(ctx, question, CoverageAnswer, check)
    except Unanswered as unusable:
        reason = f"whether the plan does what the task asks was not judged, so nothing was written: {unusable.reason}"
        raise Failed(reason, "model") from unusable
    problems = {problem.part: problem.why for problem in answer.problems}
    if problems:
        ctx.journal.add_event("note", coverage=[f"{part}: {why}" for part, why in problems.items()])
    objections = {
        call.call_id: f"it does not do what part {call.part} asks: {problems[call.part]}"
        for call in plan.calls
        if call.part in problems
    }
    if objections:
        raise UnfitPlan(errors_by_call=objections, model_calls=model_calls)
    return model_calls


def _check_coverage_answer(parts: Container[int], answer: CoverageAnswer) -> CoverageAnswer:
    """The answer, if it either agrees or names problems, each with a part that exists. Raises ``UnusableAnswer``."""
    if answer.agrees is bool(answer.problems):
        raise UnusableAnswer("problems: name one for each part that the calls do not carry out, and none if you agree")
    if unknown_parts := [problem.part for problem in answer.problems if problem.part not in parts]:
        raise UnusableAnswer(f"problems: there is no part {unknown_parts[0]}")
    return answer


def _build_coverage_question(ctx: TurnContext, progress: Progress, plan: WritePlan, key: str) -> ModelQuestion:
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


def _find_values_in_plan_texts(ctx: TurnContext, values: Sequence[NamedValue], plan: WritePlan) -> set[str]:
    """The names of the calculated values whose number occurs in a text among the plan's arguments."""
    leaves = (leaf for call in plan.every_call for _, leaf in walk_json(call.arguments))
    texts = [find_mentions(leaf, get_task_time(ctx)) for leaf in leaves if isinstance(leaf, str)]
    return {value.name for value in values if any(value.number in text.numbers_by_value for text in texts)}


def _earlier_plans(progress: Progress, plan: WritePlan) -> tuple[WritePlan, ...]:
    return tuple(earlier for earlier in progress.dossier.every_plan if earlier.round < plan.round)


def _refuse_by_tool_rules(judged: JudgedPlan) -> None:
    """Raises ``UnfitPlan`` for the calls that a rule about tools refuses."""
    if judged.verdict.refusals:
        refused = {refusal.call_id: f"{refusal.rule_id}: {refusal.reason}" for refusal in judged.verdict.refusals}
        raise UnfitPlan(errors_by_call={**judged.barred, **refused})


def _find_blocked_calls(plan: WritePlan, verdict: Verdict) -> dict[str, str]:
    """By call id, why a call is left out: a rule blocks it or a call of its part, it needs the answer of a blocked
    call, or it may tell of a blocked change.

    Empty if the policy is invalid, or a rule about tools refuses a call: then the plan is not carried out at all.
    """
    reasons: dict[str, str] = {}
    if verdict.problems or verdict.refusals:
        return reasons
    for rule in verdict.triggered_rules:
        if rule.action == "block" and rule.call_id:
            reasons.setdefault(rule.call_id, f"blocked by policy: {rule.rule_id}: {rule.reason}")
    if verdict.blocked and not reasons:  # a rule about the whole
        reasons = {call.call_id: "blocked by policy" for call in plan.calls}
    parts = {call.part for call in plan.calls if call.call_id in reasons}
    for call in plan.calls:
        if call.part in parts or any(ref in reasons for ref in referenced_calls(call.arguments)):
            reasons.setdefault(call.call_id, "not made: another call of its part is blocked by policy")
    if any(call.call_id in reasons for call in plan.changes):
        letters = [call for call in plan.calls if _may_announce_blocked_changes(call, plan, reasons)]
        reasons |= {call.call_id: _NOTICE_OF_BLOCKED_CHANGE_TEXT for call in letters}
    return reasons


def _may_announce_blocked_changes(notice: PlannedCall, plan: WritePlan, barred: Mapping[str, str]) -> bool:
    """Whether a call is a notice or letter that may tell of blocked changes: no change of its own part remains."""
    if notice.call_id in barred or not (notice.tool_class is ToolClass.NOTIFY or _is_letter_by_name(notice)):
        return False
    own_changes = (call for call in plan.changes if call.part == notice.part and call.call_id != notice.call_id)
    return all(call.call_id in barred for call in own_changes)


def _is_letter_by_name(call: PlannedCall) -> bool:
    """Whether the tool's name says that it writes to somebody, ``write_to_holder``, though it is no notice."""
    tool_words = words_of(call.tool)
    return "to" in tool_words[1:2] or not _LETTER_WORDS.isdisjoint(tool_words)
