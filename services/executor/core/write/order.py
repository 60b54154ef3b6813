"""What has to come before a call of a plan: the call that a rule names, and each change of a step-by-step process."""

from collections.abc import Sequence
from typing import NamedTuple

from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.endings import NotSent
from services.executor.core.dossier.past_calls import outcome_of
from services.executor.core.records.tool_words import identifies
from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import entries, took_hold
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import CallOutcome
from shared.domain.words import Resolution, ToolClass, WriteStatus


async def refuse_too_early(ctx: TurnContext, progress: Progress, call: PlannedCall) -> None:
    """Raises ``NotSent`` naming the rule, if the call that has to come first did not succeed."""
    plan, verdict = progress.dossier.plan, progress.dossier.verdict
    needs = [need for need in verdict.needs if need.call_id == call.call_id] if verdict else []
    if plan is None or not needs:
        return
    known = await entries(ctx.store, plan)
    done = {call_id for call_id, entry in known.items() if outcome_of(entry) is CallOutcome.SUCCEEDED}
    for need in needs:
        if done.isdisjoint(need.any_of):
            raise NotSent(f"{call.call_id}: {call.tool} was not called: {need.rule_id}: {need.reason}")


class OutOfTurn(NotSent):
    """The change before it is not proved, so this one is not made."""


class _Change(NamedTuple):
    """A change of any plan of the task, with what the ledger holds of it."""

    call: PlannedCall
    entry: LedgerEntry | None

    @property
    def lets_go_on(self) -> bool:
        """Whether it is proved, or an operator said that it is left undone."""
        return took_hold(self.entry) or _is_left_to_operator(self.entry)

    @property
    def did_nothing(self) -> bool:
        return self.entry is None or self.entry.status in (WriteStatus.REFUSED, WriteStatus.UNSENT)


async def refuse_out_of_turn(ctx: TurnContext, progress: Progress, call: PlannedCall) -> None:
    """Raises ``OutOfTurn`` if a change before this one is not verified, and no operator said that it may go on.

    The change before may stand in an earlier plan. What did nothing there may be made good: the same change, proposed
    again, takes its place.
    """
    if not progress.template.sequence or call.tool_class is not ToolClass.CHANGE:
        return
    before = await _changes_before(ctx, progress, call)
    place = next((at for at, one in enumerate(before) if one.did_nothing and _makes_good(call, one.call)), len(before))
    open_one = next((one for at, one in enumerate(before[:place]) if not _is_done(one, before[at + 1 :])), None)
    if open_one is not None:
        entry, failed = open_one.entry, open_one.call
        known = f"{entry.status.value.replace('_', ' ')} ({entry.note})" if entry else "not made"
        told = f"{failed.call_id} {failed.tool} before it is {known}"
        raise OutOfTurn(f"{call.call_id}: {call.tool} was not called: this process goes step by step, and {told}")


async def _changes_before(ctx: TurnContext, progress: Progress, call: PlannedCall) -> list[_Change]:
    """The changes of all plans up to the call; none for what only takes one of them back."""
    found: list[_Change] = []
    for plan in progress.dossier.every_plan:
        known = await entries(ctx.store, plan)
        for one in _changes(plan):
            if one == call:
                return found
            found.append(_Change(one, known.get(one.call_id)))
    return []


def _is_done(change: _Change, later: Sequence[_Change]) -> bool:
    """Whether it lets what follows go out, or was made good by a later one that does."""
    made_good = (one.lets_go_on for one in later if _makes_good(one.call, change.call))
    return change.lets_go_on or (change.did_nothing and any(made_good))


def _makes_good(call: PlannedCall, failed: PlannedCall) -> bool:
    """Whether it is the same change of the same record once more, with other details perhaps."""
    if (call.connection_id, call.tool, call.part) != (failed.connection_id, failed.tool, failed.part):
        return False
    named = {name for name in (*call.arguments, *failed.arguments) if identifies(name)}
    return all(call.arguments.get(name) == failed.arguments.get(name) for name in named)


def _is_left_to_operator(entry: LedgerEntry | None) -> bool:
    """Whether an operator said that the plan goes on without it."""
    return entry is not None and entry.resolved is not None and entry.resolved.resolution is Resolution.SKIP


def _changes(plan: WritePlan) -> tuple[PlannedCall, ...]:
    return tuple(call for call in plan.calls if call.tool_class is ToolClass.CHANGE)
