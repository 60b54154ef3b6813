"""Changes of a process that makes them one after the other: each only once the one before it is proved."""

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.execute.compensation import took_hold
from services.executor.core.execute.ledger import entries
from services.executor.core.execute.model_calls import UnusableAnswer
from services.executor.core.execute.sending import NotSent
from services.executor.core.fsm.template import Template
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.words import Resolution, ToolClass


class OutOfTurn(NotSent):
    """The change before it is not proved, so the plan stops here, whatever it says of failures."""


def refuse_unprovable(template: Template, plan: WritePlan) -> None:
    """Raises ``UnusableAnswer`` for a plan that would stop halfway, because nothing proves a change before another."""
    changes = _changes(plan)
    unproved = [call for call in changes[:-1] if call.read_back is None]
    if template.sequence and unproved:
        names = ", ".join(f"{call.call_id} {call.tool}" for call in unproved)
        raise UnusableAnswer(f"each change is made only after the one before it is proved: give a read_back to {names}")


async def refuse_out_of_turn(ctx: TurnContext, progress: Progress, call: PlannedCall) -> None:
    """Raises ``OutOfTurn`` if the change before this one is not verified, and no operator said that it may go on."""
    plan = progress.dossier.plan
    changes = _changes(plan) if plan else ()
    if plan is None or not progress.template.sequence or call not in changes[1:]:
        return
    before = changes[changes.index(call) - 1]
    entry = (await entries(ctx, plan)).get(before.call_id)
    if not (took_hold(entry) or _is_left_to_operator(entry)):
        known = f"{entry.status.value.replace('_', ' ')} ({entry.note})" if entry else "not made"
        told = f"{before.call_id} {before.tool} before it is {known}"
        raise OutOfTurn(f"{call.call_id}: {call.tool} was not called: this process goes step by step, and {told}")


def _is_left_to_operator(entry: LedgerEntry | None) -> bool:
    """Whether an operator said that the plan goes on without it."""
    return entry is not None and entry.resolved is not None and entry.resolved.resolution is Resolution.SKIP


def _changes(plan: WritePlan) -> tuple[PlannedCall, ...]:
    return tuple(call for call in plan.calls if call.tool_class is ToolClass.CHANGE)
