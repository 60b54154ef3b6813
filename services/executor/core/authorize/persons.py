"""Whether a plan needs a person's approval and why, whether it is released (I7), and which states follow."""

from services.executor.core.process.rules import describe_unknown_two_person_concern, find_two_person_concern
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Progress, hash_for_approval
from services.executor.core.session.values import is_trusted_place
from services.executor.core.states import machine
from services.executor.core.states.machine import PROCESS_POLICY_PREFIX, Failed, ProcessTemplate
from shared.contracts.approval import Approval, ConfirmationStep, GivenConfirmation
from shared.contracts.plan import WritePlan
from shared.contracts.policy import Verdict
from shared.domain.answer import is_json_list
from shared.domain.words import FsmState, RuleAction, ToolClass, describe_decider


def is_plan_released(progress: Progress) -> bool:
    """Whether this exact plan was released to be carried out: by persons, or because nobody's approval is needed."""
    return progress.dossier.approved_hash == progress.dossier.present_plan.hash


def needs_person(ctx: TurnContext, progress: Progress) -> bool:
    """Whether a rule, the process or the tenant wants a person to approve the plan.

    A tenant may want that for every write to which no rule applies. Also true while there is no verdict.
    """
    verdict, template = progress.dossier.verdict, progress.template
    if verdict is None or template.confirmations or reasons_to_ask_a_person(ctx, progress):
        return True
    return verdict.requires_approval or not (verdict.passed or _may_end_escalated(template, verdict))


def count_persons_needed(ctx: TurnContext, progress: Progress) -> int:
    """How many different people have to approve the plan."""
    verdict = progress.dossier.verdict
    approvers = max(progress.template.approvers, verdict.approvers if verdict else 1)
    return max(approvers, 2) if find_two_person_concern(progress, ctx.toolbox.keys) else approvers


def reasons_to_ask_a_person(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    """The reasons to ask a person that come from no rule, but from arguments, the process, or writes without a rule."""
    reasons = (*_reasons_of_arguments(ctx, progress), *_reasons_of_process(ctx, progress))
    return (*reasons, *_reasons_of_tenant(ctx, progress))


def _reasons_of_arguments(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    """Sentences on arguments that a person has to look at: values that stand only in free text that the tenant does not
    trust, records that the task does not mention, and values that contradict the task's words.
    """
    calls = progress.dossier.present_plan.calls
    origins_with_tool = [(call.tool, origin) for call in calls for origin in call.origins]
    untrusted = (
        f"{tool}: {origin.argument} stands only in free text ({origin.ref})"
        for tool, origin in origins_with_tool
        if origin.free_text and not is_trusted_place(origin.ref, ctx.tenant.trusted_texts)
    )
    unmentioned = (
        f"{tool}: no word of the task tells of the record in {origin.argument} ({origin.ref})"
        for tool, origin in origins_with_tool
        if origin.untold
    )
    contradictions = (f"{tool}: {origin.against}" for tool, origin in origins_with_tool if origin.against)
    return (*untrusted, *unmentioned, *contradictions)


def _reasons_of_process(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    """A sentence if the process asks for two people, or, for a strict tenant, if that cannot be known; else empty."""
    if concern := find_two_person_concern(progress, ctx.toolbox.keys):
        return (f"the process asks for two different people, because of {concern}",)
    open_concern = (
        describe_unknown_two_person_concern(progress, ctx.toolbox.keys) if ctx.tenant.strict_processes else None
    )
    return (open_concern,) if open_concern else ()


def _reasons_of_tenant(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    """A sentence if the tenant wants a person to approve writes without a rule, and the plan has some; else empty."""
    verdict, wants_person = progress.dossier.verdict, ctx.tenant.unruled_writes == "approve"
    tools = tools_without_rule(verdict, progress.dossier.plan) if verdict and wants_person else ()
    names = ", ".join(dict.fromkeys(tools))
    return (f"no rule applies to {names}: unruled writes need a person here",) if tools else ()


def tools_without_rule(verdict: Verdict, plan: WritePlan | None) -> tuple[str, ...]:
    """The tools of the plan's changes (of its notices, if it has no change) to which no rule of the tenant or the
    request applies; rules of the process do not count. A rule about the task's text counts for all calls.
    """
    calls = plan.every_call if plan else ()
    changes = [call for call in calls if call.tool_class is ToolClass.CHANGE] or calls
    triggered_ids = {
        rule.call_id for rule in verdict.triggered_rules if not rule.policy_id.startswith(PROCESS_POLICY_PREFIX)
    }
    if None in triggered_ids:
        return ()
    policy_ids = [(call_id, policy_id) for call_id, ids in verdict.ruled_calls.items() for policy_id in ids]
    ruled_ids = {call_id for call_id, policy_id in policy_ids if not policy_id.startswith(PROCESS_POLICY_PREFIX)}
    return tuple(call.tool for call in changes if call.call_id not in ruled_ids | triggered_ids)


def _may_end_escalated(template: ProcessTemplate, verdict: Verdict) -> bool:
    """Whether the verdict's escalating rules let the process go on to its end state ESCALATE without asking a person.

    This needs a template that allows it, and no rule may lack a field (I2).
    """
    if not template.escalates or not verdict.escalate or verdict.blocked or verdict.problems:
        return False
    return not any(rule.indeterminate for rule in verdict.triggered_rules)


def release_still_holds(ctx: TurnContext, progress: Progress, fresh: Progress, verdict: Verdict) -> bool:
    """Whether a plan that was released may still be carried out under the renewed ``verdict``: yes, if the verdict is
    the same and needs no person who was not needed before; or if the plan on its ``fresh`` inputs needs no person.
    """
    verdict_before, was_asked = progress.dossier.verdict, needs_person(ctx, progress)
    asks_now = needs_person(ctx, progress.update_dossier(verdict=verdict)) and not was_asked
    if verdict_before is not None and hash_for_approval(verdict) == hash_for_approval(verdict_before) and not asks_now:
        return True  # it is the same verdict, and asks nobody whom it did not ask before
    if progress.dossier.approved_hash is None:
        return False
    return not needs_person(ctx, fresh.update_dossier(verdict=verdict))  # it was let through, and nobody is asked now


def release_plan(progress: Progress, note: str, *, by_person: bool = False, level: str | None = None) -> Progress:
    """The progress with its present plan released: it may be carried out while its hash stays the same.

    ``note``: why; ``level``: the escalation level at which a person approved it, if one did.
    """
    release = {"approved_hash": progress.dossier.present_plan.hash, "approval_note": note}
    return progress.update_dossier(**release, by_person=by_person, approved_level=level)


def is_approval_awaited(approval: Approval, progress: Progress) -> bool:
    """Whether the progress waits for exactly this approval: same plan, same verdict, same confirmation step (I7)."""
    plan, verdict = progress.dossier.plan, progress.dossier.verdict
    if progress.state is not FsmState.APPROVAL_GATE or progress.dossier.approved_hash is not None:
        return False
    if plan is None or verdict is None or approval.confirmation != next_confirmation(progress):
        return False
    return (approval.plan_hash, approval.verdict_hash) == (plan.hash, hash_for_approval(verdict))


def apply_approval(progress: Progress, approval: Approval) -> Progress:
    """The progress after an approval: the plan is released, or waits for the template's next confirmation."""
    approvers = ", ".join(decision.by.id for decision in approval.decisions)
    if approval.confirmation is None:
        return release_plan(progress, f"approved by {approvers}", by_person=True, level=approval.level)
    confirmation = GivenConfirmation(
        about=approval.confirmation.about,
        by=tuple(decision.by.id for decision in approval.decisions),
        at=approval.decisions[-1].at,
        approval_id=approval.approval_id,
        plan_hash=approval.plan_hash,
        verdict_hash=approval.verdict_hash,
    )
    confirmed = progress.model_copy(
        update={"confirmed": (*_list_confirmations_of_present_plan(progress), confirmation)}
    )
    if next_confirmation(confirmed) is not None:
        return _reopen_approval_gate(confirmed)
    note = "; ".join(
        f"{confirmation_given.about}: confirmed by {', '.join(confirmation_given.by)}"
        for confirmation_given in confirmed.confirmed
    )
    return release_plan(confirmed, note, by_person=True, level=approval.level)


def next_confirmation(progress: Progress) -> ConfirmationStep | None:
    """The next of the template's confirmations that the present plan still needs; None if it needs none."""
    steps = progress.template.confirmations
    confirmations = _list_confirmations_of_present_plan(progress)
    count = len(confirmations)
    if count >= len(steps):
        return None
    return ConfirmationStep(about=steps[count], number=count + 1, of=len(steps), given=confirmations)


def _list_confirmations_of_present_plan(progress: Progress) -> tuple[GivenConfirmation, ...]:
    """The confirmations that persons gave on the present plan and verdict."""
    plan, verdict = progress.dossier.plan, progress.dossier.verdict
    if plan is None or verdict is None:
        return ()
    on_plan = (confirmation for confirmation in progress.confirmed if confirmation.plan_hash == plan.hash)
    return tuple(confirmation for confirmation in on_plan if confirmation.verdict_hash == hash_for_approval(verdict))


def _reopen_approval_gate(progress: Progress) -> Progress:
    """The progress back in APPROVAL_GATE, its plan no longer released. Confirmations on the plan still count."""
    gated_progress = progress.model_copy(update={"path": machine.with_approval_gate(progress.path)})
    cleared: dict[str, object] = dict.fromkeys(("approved_hash", "approval_note", "approved_level"))
    return gated_progress.move_to(FsmState.APPROVAL_GATE).update_dossier(**cleared, by_person=False)


def list_remaining_states(ctx: TurnContext, progress: Progress) -> tuple[FsmState, ...]:
    """The states that the plan has yet to pass, up to the end state that its verdict leads to."""
    verdict = progress.dossier.verdict
    path = machine.with_approval_gate(progress.path) if needs_person(ctx, progress) else progress.path
    return machine.with_end_state(path, verdict is not None and _may_end_escalated(progress.template, verdict))


def describe_needed_approval(ctx: TurnContext, progress: Progress) -> str | None:
    """Who has to approve the plan, and why; None if nobody has to. Raises ``Failed`` if there is no verdict."""
    verdict = progress.dossier.verdict
    if verdict is None:
        raise Failed("there is no policy verdict on the plan")
    if not needs_person(ctx, progress):
        return None
    level = verdict.escalation_level
    count = count_persons_needed(ctx, progress)
    steps = progress.template.confirmations
    deciders = describe_decider(level)
    sequence = (f"{len(steps)} confirmations in sequence ({', '.join(steps)})",) if steps else ()
    reasons = (*verdict.reasons, *reasons_to_ask_a_person(ctx, progress), *sequence)
    return f"{deciders}{f' ({count} different people)' if count > 1 else ''}: {'; '.join(reasons)}"


def build_answer_with_escalation(progress: Progress) -> str:
    """The task's answer; if it ended in ESCALATE, followed by whom it was escalated to and why.

    An answer that has to match exactly, such as a list, stays unchanged (I9).
    """
    answer, verdict = progress.dossier.answer or "", progress.dossier.verdict
    if progress.state is not FsmState.ESCALATE or verdict is None or is_json_list(answer):
        return answer
    reasons = dict.fromkeys(rule.sentence for rule in verdict.triggered_rules if rule.action is RuleAction.ESCALATE)
    return f"{answer.rstrip()}\n\nEscalated to {verdict.escalation_level or 'a person'}: {'; '.join(reasons)}"
