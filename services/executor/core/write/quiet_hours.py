"""Quiet hours: notices of a process that heeds them wait, with no job and no lease, until the tenant's are over."""

from datetime import datetime
from zoneinfo import ZoneInfo

from services.executor.core.dossier.dossier import Progress, Rest
from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import entries
from services.executor.core.write.left_out import is_left_out
from shared.contracts.plan import PlannedCall
from shared.domain.words import SENDABLE, FsmState, ToolClass


async def rest(ctx: TurnContext, progress: Progress) -> Rest | None:
    """The wait that is due before the notices of the plan; None where they may go out.

    Judged by the store's clock once in each attempt at a turn, and journaled, so that a replay judges the same.
    """
    hours = ctx.tenant.quiet_hours
    if hours is None or not progress.template.quiet_hours or progress.state is not FsmState.SCHEDULE_NOTIFY:
        return None
    until = await _quiet_end(ctx, progress) if _notices(progress) else None
    held = await _unsent(ctx, progress) if until else ()
    if until is None or not held:
        return None
    local = until.astimezone(ZoneInfo(ctx.tenant.time_zone))
    names = ", ".join(dict.fromkeys(call.tool for call in held))
    why = (
        f"waiting until {local:%Y-%m-%d %H:%M} ({ctx.tenant.time_zone}), when the quiet hours are over, to call {names}"
    )
    return Rest(until, why)


async def _unsent(ctx: TurnContext, progress: Progress) -> tuple[PlannedCall, ...]:
    """The notices that are still to go out."""
    plan = progress.dossier.plan
    if plan is None:
        return ()
    known = await entries(ctx.store, plan)
    left = (call for call in _notices(progress) if not is_left_out(ctx, plan, call))
    return tuple(call for call in left if call.call_id not in known or known[call.call_id].status in SENDABLE)


def _notices(progress: Progress) -> tuple[PlannedCall, ...]:
    plan = progress.dossier.plan
    return tuple(call for call in plan.calls if call.tool_class is ToolClass.NOTIFY) if plan else ()


async def _quiet_end(ctx: TurnContext, progress: Progress) -> datetime | None:
    key = f"{progress.step}:quiet:{ctx.journal.began:%Y%m%dT%H%M%S.%f}"
    known = ctx.journal.get(key)
    if known is None:
        hours = ctx.tenant.quiet_hours
        end = hours.end_of(ctx.journal.now, ZoneInfo(ctx.tenant.time_zone)) if hours else None
        known = end.isoformat() if end else ""
        ctx.journal.add(key, "note", known)
    return datetime.fromisoformat(known) if known else None
