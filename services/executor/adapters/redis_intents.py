"""What one turn knows of the intents it stored, in case a replica takes over that lacks some of them (I3).

Redis answers before its replicas have a write. A replica that is promoted may therefore know nothing of an intent
whose request has long left. Two things keep that from becoming a second request: intents confirmed by replicas before
the request leaves, or, where nobody confirms, a turn older than the failover that sends nothing it cannot answer for.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from services.executor.ports.sessions import Work
from services.executor.ports.turns import LedgerConflict
from shared.contracts.ledger import LedgerEntry
from shared.domain.words import WriteStatus
from shared.infra.lineage import Lineage
from shared.ports.store import StoreUnavailable

_CLOCKS_APART = timedelta(seconds=2)  # between the gateways' and the store's


class WriteRefusal(NamedTuple):
    """Why a write is not sent although its intent is stored: the entry as it has to be settled, and what is raised."""

    entry: LedgerEntry
    error: Exception


class Intents:
    """The intents of one turn in this process; make one for each turn store."""

    def __init__(self, lineage: Lineage, work: Work) -> None:
        self._lineage = lineage
        self._work = work
        self._began_under = lineage.failed_over
        self._began_after = lineage.crashed
        self._opened: set[str] = set()

    @property
    def replicas_to_confirm(self) -> int:
        """How many replicas must have an intent before its request is sent."""
        return self._lineage.confirm_replicas

    def check_failover_visible(self) -> None:
        """Raises ``StoreUnavailable`` while a failover may go unnoticed: then no intent is stored."""
        if problem := self._lineage.blind:
            raise StoreUnavailable(str(problem))

    def find_refusal(self, entry: LedgerEntry, *, is_confirmed: bool) -> WriteRefusal | None:
        """Why the write of a stored intent must not be sent; None if it may."""
        if problem := self._lineage.blind:
            return _refuse_unsent(entry, str(problem))
        if self.may_have_been_sent(entry):
            return WriteRefusal(mark_in_doubt(entry), failover_conflict(entry))
        if not is_confirmed:
            return _refuse_unsent(entry, f"the intent of {entry.call.call_id} was not confirmed by enough replicas")
        return None

    def note_opened(self, entry: LedgerEntry) -> None:
        self._opened.add(entry.key)

    def may_have_been_sent(self, entry: LedgerEntry) -> bool:
        """Whether the write may have been sent although the ledger knows nothing of it.

        Not where the server takes our key: there a second request is no second write, unless an earlier plan may have
        sent it under another one. After a failover not where this process alone worked on the turn, from its first
        beginning on: it knows what it sent. After a restore nobody knows, and no replica's confirmation helps: the
        backup is older than what they confirmed. After a crash, which may have taken the end of the log, it may have
        been where the read before it already shows what it sets. Of a plan that was made anew it may have been, where
        that is so, in any earlier turn of the task.
        """
        if entry.idempotency_field is not None and not entry.is_replanned:
            return False
        if self._is_turn_older_than(self._lineage.restored):
            return True
        if entry.shown_before and self._was_begun_before(self._lineage.crashed, self._began_after):
            return True
        if entry.shown_before and entry.is_replanned and self._is_task_older_than_a_loss:
            return True
        return not self.replicas_to_confirm and self._was_begun_before(self._lineage.failed_over, self._began_under)

    def _was_begun_before(self, moment: datetime | None, known_at_begin: datetime | None) -> bool:
        """Whether the turn is older than the moment, and not this process's own work from its first beginning on."""
        return self._is_turn_older_than(moment) and not (known_at_begin != moment and self._work.attempts == 1)

    @property
    def _is_task_older_than_a_loss(self) -> bool:
        lost = (
            self._lineage.restored,
            self._lineage.crashed,
            None if self.replicas_to_confirm else self._lineage.failed_over,
        )
        return any(moment and self._work.record.accepted_at <= moment + _CLOCKS_APART for moment in lost)

    def _is_turn_older_than(self, moment: datetime | None) -> bool:
        return moment is not None and self._work.turn.received_at <= moment + _CLOCKS_APART

    def was_lost(self, entry: LedgerEntry) -> bool:
        """Whether the ledger may lack an entry only because a replica took over: this turn stored it."""
        return entry.key in self._opened and self._lineage.failed_over != self._began_under


def failover_conflict(entry: LedgerEntry) -> LedgerConflict:
    """The store failed over since the turn was accepted; the write may have been sent before by another process."""
    return LedgerConflict(f"{entry.call.call_id} may have been sent before Redis failed over")


def mark_in_doubt(entry: LedgerEntry) -> LedgerEntry:
    """The entry as it has to be settled: perhaps sent, with the state before unknown."""
    note = "Redis failed over, crashed or was restored since the task was accepted: it may have been sent before"
    return entry.model_copy(update={"status": WriteStatus.SENDING, "before_json": None, "note": note})


def _refuse_unsent(entry: LedgerEntry, why: str) -> WriteRefusal:
    return WriteRefusal(entry.model_copy(update={"status": WriteStatus.UNSENT, "note": why}), StoreUnavailable(why))
