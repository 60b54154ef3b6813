"""Taking back what a plan did before one of its calls failed: the latest call first, each by its compensation."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from services.executor.core.dossier.endings import Escalated, Failed, RunEnds
from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import entries, took_hold
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.words import WriteStatus

# Makes the compensation of a call, and says why it did not take hold; empty where it did.
MakesCompensation: TypeAlias = Callable[[PlannedCall], Awaitable[str]]


async def take_back(
    ctx: TurnContext, plan: WritePlan, failed: PlannedCall, failure: Failed, compensate: MakesCompensation
) -> RunEnds:
    """Take back what the calls before the failed one did, the latest first; how the run ends then.

    It stops at the first compensation that fails: a person decides about the rest.
    """
    done: list[str] = []
    problem = ""
    for call in to_take_back(plan, await entries(ctx.store, plan), failed):
        problem = await compensate(call)
        if problem:
            break
        done.append(f"{call.call_id} {call.tool}")
    left = still_standing(plan, await entries(ctx.store, plan), failed)
    reason = f"{failure.reason}; {TakenBack(done, left)}{problem}"
    return Escalated(reason) if left or problem else Failed(reason)


async def is_being_taken_back(ctx: TurnContext, plan: WritePlan) -> bool:
    """Whether an earlier attempt began to take back what the plan did: then nothing of the plan itself is sent."""
    return any(entry.compensates is not None for entry in (await entries(ctx.store, plan)).values())


class TakenBack(NamedTuple):
    """What came of taking back; ``left`` names what took hold, or may have, and still stands."""

    done: Sequence[str] = ()
    left: Sequence[str] = ()

    def __str__(self) -> str:
        done = f"taken back: {', '.join(self.done)}" if self.done else "nothing was taken back"
        return f"{done}; still standing: {', '.join(self.left)}" if self.left else done


def to_take_back(plan: WritePlan, known: Mapping[str, LedgerEntry], failed: PlannedCall) -> list[PlannedCall]:
    """The earlier calls that took hold and name their compensation, the latest first.

    Only what was proved, or what an operator said, counts as taken hold: an unproved write is never taken back blindly.
    """
    earlier = reversed(_calls_before(plan, failed))
    return [call for call in earlier if call.compensation and took_hold(known.get(call.call_id))]


def still_standing(plan: WritePlan, known: Mapping[str, LedgerEntry], failed: PlannedCall) -> list[str]:
    """What took hold, or may have, of the failed call's part, and was not taken back."""
    undone = {entry.compensates for entry in known.values() if entry.compensates and took_hold(entry)}
    return [
        f"{call.call_id} {call.tool} ({known[call.call_id].status.value})"
        for call in _calls_before(plan, failed)
        if call.call_id in known and known[call.call_id].status in _STANDS and call.call_id not in undone
    ]


_STANDS = (WriteStatus.VERIFIED, WriteStatus.UNVERIFIED, WriteStatus.SENT)


def _calls_before(plan: WritePlan, failed: PlannedCall) -> Sequence[PlannedCall]:
    """The calls before it that carry out the same part of the task."""
    return [call for call in plan.calls[: plan.calls.index(failed)] if call.part == failed.part]
