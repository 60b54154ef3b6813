"""What a turn means for a task with a write in doubt: an operator's word, an expiry, or neither."""

from collections.abc import Sequence
from datetime import datetime

from services.executor.core.dossier.doubts import SUBJECT, GivenUp, brief, find_taken_over, open_doubts, with_attempt
from services.executor.core.session.journal import Journal
from services.executor.ports.turns import TurnStore
from shared.contracts.ledger import LedgerEntry, Resolved
from shared.contracts.task import Turn, TurnKind
from shared.domain.words import Resolution, Role, WriteStatus

_BECOMES = {
    Resolution.RETRY: WriteStatus.RESEND,
    Resolution.SKIP: WriteStatus.SKIPPED,
    Resolution.DONE: WriteStatus.UNVERIFIED,
}
_MEANS = {
    Resolution.RETRY: "that it did not take hold and may be sent again",
    Resolution.SKIP: "that it is to be left undone",
    Resolution.DONE: "that it took hold",
    Resolution.TAKE_OVER: "that the task is taken over",
}


class StillInDoubt(Exception):
    """The task goes on waiting for an operator; the message says why this turn did not end that."""

    def __init__(self, note: str) -> None:
        super().__init__(note)
        self.note = note


async def answer(store: TurnStore, journal: Journal, turn: Turn, accepted: datetime) -> None:
    """Heed the turn, if writes are in doubt: returns when none is any more, as far as this turn decides.

    A word counts if it was ``accepted`` before the doubt's deadline, however late it is heeded.

    What an operator says is in the ledger before it has any effect, so that a second attempt finds it there. Raises
    ``StillInDoubt``, or ``GivenUp`` when an operator takes the task over or the time is up.
    """
    ledger = tuple((await store.ledger()).values())
    if left := find_taken_over(ledger):
        raise _task_given_up(left)
    doubts = open_doubts(ledger)
    if not doubts:
        return
    entry = _doubt_meant(turn, doubts) or doubts[0]
    came = {TurnKind.RESOLUTION: accepted, TurnKind.DEADLINE: journal.now}.get(turn.kind)
    if came is not None and _is_over(entry, came):
        raise GivenUp(f"no operator said in time what became of a write. {brief([entry])}")
    word = _word(turn, doubts, journal.now)
    await _record(journal, entry, word)
    if word.resolution is Resolution.TAKE_OVER:
        raise _task_given_up(entry.model_copy(update={"resolutions": (*entry.resolutions, word)}))
    if remaining := open_doubts((await store.ledger()).values()):
        raise StillInDoubt(f"{remaining[0].call.call_id} is in doubt as well")


def is_heeded(turn: Turn, ledger: Sequence[LedgerEntry]) -> bool:
    """Whether an earlier attempt at this turn has stored the word that it brings."""
    return any(word.turn_id == turn.turn_id for entry in ledger for word in entry.resolutions)


def speaks_of_doubts(turn: Turn) -> bool:
    """Whether a turn is for a task with a write in doubt, and means nothing to any other."""
    ends_the_wait = turn.kind is TurnKind.DEADLINE and str(turn.data.get("subject", "")).startswith(SUBJECT)
    return ends_the_wait or turn.kind is TurnKind.RESOLUTION


def _word(turn: Turn, doubts: Sequence[LedgerEntry], now: datetime) -> Resolved:
    """The operator's word that the turn brings; raises ``StillInDoubt``."""
    if turn.kind is not TurnKind.RESOLUTION:
        raise StillInDoubt(
            "" if turn.kind is TurnKind.DEADLINE else "this task waits for an operator's word on a write"
        )
    if Role.OPERATOR not in turn.principal.roles:
        raise StillInDoubt(f"the word does not count: {turn.principal.id} does not have the role operator")
    spoken_of = _doubt_meant(turn, doubts)
    if spoken_of is None:
        raise StillInDoubt("the word does not count: it speaks of a write that is not in doubt, or no longer")
    try:
        resolution = Resolution(str(turn.data.get("resolution")))
    except ValueError:
        raise StillInDoubt(f"the word does not count: it must be one of {', '.join(Resolution)}") from None
    return Resolved(
        doubt=spoken_of.doubt,
        resolution=resolution,
        by=turn.principal,
        at=now,
        comment=str(turn.data.get("comment") or ""),
        turn_id=turn.turn_id,
    )


async def _record(journal: Journal, entry: LedgerEntry, word: Resolved) -> None:
    status = _BECOMES.get(word.resolution, entry.status)
    note = f"{_describe_resolution(word)}; before: {entry.note}"
    again = with_attempt(entry, entry.status, entry.note) if status is WriteStatus.RESEND else entry
    resolutions = (*entry.resolutions, word)
    settled = again.model_copy(update={"status": status, "note": note, "resolutions": resolutions})
    journal.tell("write", call=entry.call.call_id, tool=entry.call.tool, status=status.value, note=note)
    await journal.settle_write(settled, entry.status)


def _describe_resolution(word: Resolved) -> str:
    who = word.by.id if word.by.verified else f"{word.by.id} (unverified)"
    comment = f' ("{word.comment}")' if word.comment else ""
    return f"operator {who} said at {word.at:%Y-%m-%d %H:%M:%S} UTC {_MEANS[word.resolution]}{comment}"


def _task_given_up(entry: LedgerEntry) -> GivenUp:
    word = entry.resolved
    return GivenUp(
        f"{_describe_resolution(word) if word else 'taken over'}. {entry.call.call_id} {entry.call.tool}: {entry.note}"
    )


def _doubt_meant(turn: Turn, doubts: Sequence[LedgerEntry]) -> LedgerEntry | None:
    name = str(turn.data.get("doubt", "")) or str(turn.data.get("subject", "")).removeprefix(SUBJECT)
    return next((entry for entry in doubts if entry.doubt == name), None)


def _is_over(entry: LedgerEntry, now: datetime) -> bool:
    return entry.decide_by is not None and now >= entry.decide_by
