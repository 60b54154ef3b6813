"""Taking back: which of a plan's calls are compensated when a later one fails, and in which order."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.words import Resolution, WriteStatus


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


def took_hold(entry: LedgerEntry | None) -> bool:
    if entry is None:
        return False
    said = entry.resolved is not None and entry.resolved.resolution is Resolution.DONE
    return entry.status is WriteStatus.VERIFIED or (entry.status is WriteStatus.UNVERIFIED and said)


_STANDS = (WriteStatus.VERIFIED, WriteStatus.UNVERIFIED, WriteStatus.SENT)


def _calls_before(plan: WritePlan, failed: PlannedCall) -> Sequence[PlannedCall]:
    """The calls before it that carry out the same part of the task."""
    return [call for call in plan.calls[: plan.calls.index(failed)] if call.part == failed.part]
