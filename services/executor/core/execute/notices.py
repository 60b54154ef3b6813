"""Notices, in whichever state they go out: none tells of a change that is not proved; who has to be told is (I4)."""

from collections.abc import Mapping

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.execute.addressees import tells
from services.executor.core.execute.compensation import took_hold
from services.executor.core.execute.ledger import entries
from services.executor.core.execute.left_out import is_left_out, leave_out, left_out
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.answer import is_exact_match
from shared.domain.words import SENDABLE, ToolClass, WriteStatus

_GONE_OUT = (WriteStatus.SENT, WriteStatus.VERIFIED, WriteStatus.UNVERIFIED)


async def hold_back(ctx: TurnContext, progress: Progress) -> None:
    """Leave out the notices of a plan of which a change is not verified; what has gone out already stays."""
    plan = progress.dossier.plan
    known = await entries(ctx, plan) if plan else {}
    unproved = _unproved(plan, known) if plan else ""
    for call in plan.calls if plan and unproved else ():
        unsent = call.call_id not in known or known[call.call_id].status in SENDABLE
        if plan and call.tool_class is ToolClass.NOTIFY and unsent and not is_left_out(ctx, plan, call):
            await leave_out(ctx, plan, call, f"nobody is told of a change that is not verified: {unproved}")


def notice_wanted(ctx: TurnContext, progress: Progress, plan: WritePlan) -> str:
    """What is to be said to a model whose plan changes something, and does not tell whom it could and has to tell."""
    party = progress.template.notice_to
    notifying = sorted({tool.name for tool in ctx.toolbox.tools.values() if tool.tool_class is ToolClass.NOTIFY})
    if not party or not notifying or not _changes_anything(plan) or _notices_to(plan, party, progress):
        return ""
    return (
        f"the {party} has to be told of the change: add a call that goes to the {party}, by {' or '.join(notifying)}; "
        "if none of them can reach the addressee, give the plan as it was"
    )


async def with_untold(ctx: TurnContext, progress: Progress) -> Progress:
    """The answered progress, which says if nobody told whom the process has to tell; a list stays one (I9)."""
    said, answer = await _untold(ctx, progress), progress.dossier.answer or ""
    if not said:
        return progress
    noted = progress.model_copy(update={"notes": {**progress.notes, "not_told": said}})
    return noted if is_exact_match(answer) else noted.learned(answer=f"{answer.rstrip()}\n\n{said}")


async def _untold(ctx: TurnContext, progress: Progress) -> str:
    party, plan = progress.template.notice_to, progress.dossier.plan
    if not party or plan is None or not _changes_anything(plan):
        return ""
    known, notices = await entries(ctx, plan), _notices_to(plan, party, progress)
    if any(call.call_id in known and known[call.call_id].status in _GONE_OUT for call in notices):
        return ""
    return f"The {party} was not told: {_why(ctx, plan, notices, known)}."


def _why(ctx: TurnContext, plan: WritePlan, notices: tuple[PlannedCall, ...], known: Mapping[str, LedgerEntry]) -> str:
    reasons = {one.call.call_id: one.why for one in left_out(ctx, plan)}
    reasons |= {call_id: f"{entry.call.tool}: {entry.note}" for call_id, entry in known.items()}
    said = [reasons[call.call_id] for call in notices if call.call_id in reasons]
    if said:
        return said[0]
    offered = any(tool.tool_class is ToolClass.NOTIFY for tool in ctx.toolbox.tools.values())
    return "the plan has no notice to them" if offered else "no tool is offered that tells anybody"


def _unproved(plan: WritePlan, known: Mapping[str, LedgerEntry]) -> str:
    changes = [call for call in plan.calls if call.tool_class is ToolClass.CHANGE]
    open_ones = [call for call in changes if not took_hold(known.get(call.call_id))]
    return ", ".join(f"{call.call_id} {call.tool} is {_status(known.get(call.call_id))}" for call in open_ones)


def _status(entry: LedgerEntry | None) -> str:
    return entry.status.value.replace("_", " ") if entry else "not made"


def _changes_anything(plan: WritePlan) -> bool:
    return any(call.tool_class is ToolClass.CHANGE for call in plan.calls)


def _notices_to(plan: WritePlan, party: str, progress: Progress) -> tuple[PlannedCall, ...]:
    notices = (call for call in plan.calls if call.tool_class is ToolClass.NOTIFY)
    return tuple(call for call in notices if tells(call, party, plan, progress.dossier.facts))
