"""How far a plan has been let through: by the gate itself, by a person, or by one confirmation after the other."""

from collections.abc import Container

from services.executor.core.authorize.verdicts import binding_hash
from services.executor.core.dossier.dossier import Progress
from services.executor.core.states import machine
from shared.contracts.approval import Approval, ApprovalStatus, ConfirmationStep, Confirmed
from shared.contracts.plan import WritePlan
from shared.domain.words import FsmState


def is_let_through(progress: Progress) -> bool:
    """Whether the plan, exactly as it stands, may be carried out."""
    return progress.dossier.approved_hash == _plan(progress).hash


def let_through(progress: Progress, note: str, *, by_person: bool = False, level: str | None = None) -> Progress:
    """The progress whose plan, exactly as it stands, may be carried out."""
    approved = _plan(progress).hash
    return progress.update_dossier(
        approved_hash=approved, approval_note=note, by_person=by_person, approved_level=level
    )


def confirmation_wanted(progress: Progress) -> ConfirmationStep | None:
    """The next of the template's confirmations on the plan as it stands; None if it has none, or all are given."""
    wanted, given = progress.template.confirmations, _given_confirmations(progress)
    if len(given) >= len(wanted):
        return None
    return ConfirmationStep(about=wanted[len(given)], number=len(given) + 1, of=len(wanted), given=given)


def waits_for(approval: Approval, progress: Progress) -> bool:
    """Whether an approval is the one that is waited for: for exactly this plan on exactly these inputs and rules (I7).

    One that was asked for an earlier confirmation is not, although the plan is the same.
    """
    plan, verdict = progress.dossier.plan, progress.dossier.verdict
    if progress.state is not FsmState.APPROVAL_GATE or progress.dossier.approved_hash is not None:
        return False
    if plan is None or verdict is None or approval.confirmation != confirmation_wanted(progress):
        return False
    return (approval.plan_hash, approval.verdict_hash) == (plan.hash, binding_hash(verdict))


def apply_approval(progress: Progress, approval: Approval) -> Progress:
    """The progress after an approval was given: let through, or at the gate again for the next confirmation."""
    by = ", ".join(decision.by.id for decision in approval.decisions)
    if approval.confirmation is None:
        return let_through(progress, f"approved by {by}", by_person=True, level=approval.level)
    given = (*_given_confirmations(progress), _confirmation_given(approval, approval.confirmation))
    confirmed = progress.model_copy(update={"confirmed": given})
    if confirmation_wanted(confirmed) is not None:
        return reopen_approval_gate(confirmed)
    note = "; ".join(f"{one.about}: confirmed by {', '.join(one.by)}" for one in confirmed.confirmed)
    return let_through(confirmed, note, by_person=True, level=approval.level)


def ended_approval(
    asked: Approval | None, decided: Approval | None, now: Approval | None, carried_out: Container[str] = ()
) -> Approval | None:
    """How the approval ended that was ``asked``, where the turn leaves another one, or none; None if it still waits.

    ``carried_out``: hashes of plans of which something was written: a yes to one of them was used.
    """
    if asked is None or asked.status is not ApprovalStatus.WAITING or (now and now.approval_id == asked.approval_id):
        return None
    ended = decided if decided and decided.approval_id == asked.approval_id else asked
    same = now is None or (now.plan_hash, now.verdict_hash) == (asked.plan_hash, asked.verdict_hash)
    if ended.status is ApprovalStatus.APPROVED and (same or ended.plan_hash in carried_out):
        return ended
    return ended.model_copy(update={"status": ApprovalStatus.SUPERSEDED})


def reopen_approval_gate(progress: Progress) -> Progress:
    """Back to APPROVAL_GATE, another visit of it: what was let through no longer counts, confirmations do."""
    gated = progress.model_copy(update={"path": machine.with_gate(progress.path)})
    shut: dict[str, object] = {"approved_hash": None, "approval_note": None, "by_person": False, "approved_level": None}
    return gated.move_to(FsmState.APPROVAL_GATE).update_dossier(**shut)


def _given_confirmations(progress: Progress) -> tuple[Confirmed, ...]:
    """The confirmations of the plan as it stands."""
    plan, verdict = progress.dossier.plan, progress.dossier.verdict
    if plan is None or verdict is None:
        return ()
    held = (plan.hash, binding_hash(verdict))
    return tuple(one for one in progress.confirmed if (one.plan_hash, one.verdict_hash) == held)


def _confirmation_given(approval: Approval, asked: ConfirmationStep) -> Confirmed:
    return Confirmed(
        about=asked.about,
        by=tuple(decision.by.id for decision in approval.decisions),
        at=approval.decisions[-1].at,
        approval_id=approval.approval_id,
        plan_hash=approval.plan_hash,
        verdict_hash=approval.verdict_hash,
    )


def _plan(progress: Progress) -> WritePlan:
    return progress.dossier.plan or WritePlan(task_id="")
