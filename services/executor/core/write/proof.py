"""The proof of a write: judging what is read back against what was to be written (I4)."""

from typing import NamedTuple

from services.executor.core.write.field_proof import Evidence, find_proof
from shared.contracts.ledger import LedgerEntry
from shared.domain.words import ToolClass, WriteStatus


class Judgement(NamedTuple):
    """``contradicted``: the read shows something else than what was to be written, and not merely nothing of it."""

    status: WriteStatus
    note: str
    contradicted: bool = False


def judge(evidence: Evidence) -> Judgement:
    """Verified or unverified for a write that was answered."""
    found = find_proof(evidence)
    if found.shown:
        return Judgement(WriteStatus.VERIFIED, f"read back: {', '.join(found.shown)}")
    if found.too_many > 1:
        note = f"{found.too_many} more records than before show it, where one was to be made"
        return Judgement(WriteStatus.UNVERIFIED, note, contradicted=True)
    if found.also_before:
        note = f"the read-back shows it, but it did so before the call as well: {', '.join(found.also_before)}"
        return Judgement(WriteStatus.UNVERIFIED, note)
    note = "the read-back shows something else" if found.denied else "the read-back does not show what was written"
    return Judgement(WriteStatus.UNVERIFIED, note, found.denied)


def judge_lost(evidence: Evidence) -> Judgement:
    """The same where no answer came: the difference between the reads before and after is all there is."""
    if evidence.after == evidence.before:
        return Judgement(WriteStatus.ABSENT, "no answer came, and the read-back shows no change")
    found = find_proof(evidence)
    if found.shown:
        note = f"no answer came, but the read-back shows it: {', '.join(found.shown)}"
        return Judgement(WriteStatus.VERIFIED, note)
    return Judgement(WriteStatus.IN_DOUBT, "no answer came, and what the read-back shows may have another cause")


def judge_refused(evidence: Evidence, said: str) -> Judgement:
    """The same for an answer that is an error, where a read answered: one that wrote all the same is found out."""
    found = find_proof(evidence)
    if found.shown:
        earlier = "" if evidence.before is not None else ", and nothing is known of the state before"
        shown = f"but the read-back shows it: {', '.join(found.shown)}{earlier}"
        return Judgement(WriteStatus.IN_DOUBT, f"the server answered with an error, {shown}; it said: {said}")
    return Judgement(WriteStatus.REFUSED, f"the server refused: {said}")


def judge_unread(entry: LedgerEntry) -> Judgement:
    """The same where no read shows what became of it: an error alone does not always say that nothing was written.

    It does where the protocol, the operator's catalogue or a clear reason says so, of this sending and not of an
    earlier one that was lost. A notice is not read back, and is refused.
    """
    if entry.call.tool_class is not ToolClass.CHANGE or (entry.not_begun and not _was_lost_before(entry)):
        return Judgement(WriteStatus.REFUSED, f"the server refused: {entry.refusal}")
    unread = "and no read shows whether it was written all the same"
    return Judgement(WriteStatus.IN_DOUBT, f"the server answered with an error, {unread}; it said: {entry.refusal}")


def _was_lost_before(entry: LedgerEntry) -> bool:
    """Whether an earlier sending may have taken hold, as far as any operator said."""
    spoken_of = {word.doubt for word in entry.resolutions}
    return any(f"{entry.key}:{attempt.number}" not in spoken_of for attempt in entry.earlier)
