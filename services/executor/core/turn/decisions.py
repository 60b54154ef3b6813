"""What a turn means for a task that waits at its gate: an answer, an expiry, or neither."""

from datetime import datetime

from services.executor.core.authorize.approval_gate import NotCounted, decide, escalate_approval, is_expired, refusal
from services.executor.core.dossier.endings import Rejected
from services.executor.core.session.journal import Journal
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.task import Turn, TurnKind


class StillWaiting(Exception):
    """The task goes on waiting; the message says why this turn did not end that. ``approval`` is as it now stands."""

    def __init__(self, approval: Approval, note: str) -> None:
        super().__init__(note)
        self.approval = approval
        self.note = note


async def answer(journal: Journal, turn: Turn, approval: Approval, accepted: datetime) -> Approval:
    """The approval with a yes in it. Raises ``StillWaiting``, or ``Rejected`` for a no and for an expiry.

    A decision counts if it was ``accepted`` before the deadline, however late it is heeded.
    What the turn decided is journaled first, so that a second attempt at the turn finds the same answer.
    """
    decided = await _decide_approval(journal, turn, approval, accepted)
    if decided.status is ApprovalStatus.WAITING:
        raise StillWaiting(decided, _so_far(decided, turn))
    if decided.status is not ApprovalStatus.APPROVED:
        raise Rejected(refusal(decided))
    return decided


def recorded_approval(journal: Journal, turn: Turn) -> Approval | None:
    """The approval as this turn decided it, if it did."""
    stored = journal.get(_key(turn))
    return Approval.model_validate_json(stored) if stored else None


async def _decide_approval(journal: Journal, turn: Turn, approval: Approval, accepted: datetime) -> Approval:
    known = recorded_approval(journal, turn)
    if known is not None:
        return known
    if turn.kind is TurnKind.DEADLINE:
        if not is_expired(approval, journal.now):
            raise StillWaiting(approval, "waiting for a decision")
        higher = escalate_approval(approval, journal.now)
        decided = higher or approval.model_copy(update={"status": ApprovalStatus.EXPIRED})
    elif turn.kind is TurnKind.DECISION:
        try:
            decided = decide(approval, turn, accepted)
        except NotCounted as refused:
            raise StillWaiting(approval, f"the decision does not count: {refused}") from refused
    else:
        raise StillWaiting(approval, "this task waits for a decision: answer with exactly 'approve' or 'reject'")
    status = "escalated" if _goes_on(decided, turn) else decided.status.value
    journal.tell("approval", status=status, by=turn.principal.id, approval_id=decided.approval_id)
    journal.add(_key(turn), "approval", decided.model_dump_json())
    return decided


def _goes_on(decided: Approval, turn: Turn) -> bool:
    return turn.kind is TurnKind.DEADLINE and decided.status is ApprovalStatus.WAITING


def _so_far(decided: Approval, turn: Turn) -> str:
    if _goes_on(decided, turn):
        return f"nobody decided in time, so it is for the next level now: {decided.level}"
    return f"{len(decided.decisions)} of {decided.needed} approvals are given"


def _key(turn: Turn) -> str:
    return f"decision:{turn.turn_id}"
