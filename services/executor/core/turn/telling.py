"""What a turn's end has to tell of approvals, to whoever a tenant wants told."""

from collections.abc import Iterator

from services.executor.ports.turns import Notice
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.notice import NoticeEvent


def notices(before: Approval | None, after: Approval | None, settled: Approval | None) -> tuple[Notice, ...]:
    """From the task's approval before the turn and after it; ``settled``: one that was ended beside them."""
    return tuple(_notices(before, after, settled))


def _notices(before: Approval | None, after: Approval | None, settled: Approval | None) -> Iterator[Notice]:
    if settled is not None and settled.notices:
        yield _notice(NoticeEvent.DECIDED, settled)
    if after is None or not after.notices:
        return
    if before is None or before.approval_id != after.approval_id:
        if after.status is ApprovalStatus.WAITING:
            yield _notice(NoticeEvent.WAITING, after)
    elif after.status is not before.status:
        expired = after.status is ApprovalStatus.EXPIRED
        yield _notice(NoticeEvent.EXPIRED if expired else NoticeEvent.DECIDED, after)
    elif len(after.escalations) > len(before.escalations):
        yield _notice(NoticeEvent.ESCALATED, after)


def _notice(event: NoticeEvent, approval: Approval) -> Notice:
    return Notice(event, approval.approval_id, len(approval.escalations))
