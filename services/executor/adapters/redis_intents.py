"""The write intents that one turn has stored, checked against a failover that may have lost some of them (I3).

Replicas confirm an intent before its request is sent; or, where no confirmation is configured, a turn that is older
than a failover sends only what it can account for.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from services.executor.ports.sessions import TurnWork
from services.executor.ports.turns import LedgerConflict
from shared.contracts.ledger import LedgerEntry
from shared.domain.words import WriteStatus
from shared.infra.lineage import RedisLineage
from shared.ports.store import StoreUnavailable

_MOST_CLOCK_DIFFERENCE = timedelta(seconds=2)  # between the gateways' and the store's


class WriteRefusal(NamedTuple):
    """Why a write must not be sent although its intent is stored: the entry to settle it with, and what to raise."""

    entry: LedgerEntry
    error: Exception


class StoredIntents:
    """The intents that this process has stored for one turn. Each turn store has its own."""

    def __init__(self, lineage: RedisLineage, work: TurnWork) -> None:
        self._lineage = lineage
        self._work = work
        self._began_under = lineage.failed_over_at
        self._began_after = lineage.crashed_at
        self._opened: set[str] = set()

    @property
    def replicas_to_confirm(self) -> int:
        """How many replicas must confirm an intent before its request is sent."""
        return self._lineage.confirm_replicas

    def check_failover_visible(self) -> None:
        """Raises ``StoreUnavailable`` while a failover of Redis could go unnoticed: then no intent may be stored."""
        if problem := self._lineage.failover_risk:
            raise StoreUnavailable(str(problem))

    def find_refusal(self, entry: LedgerEntry, *, is_confirmed: bool) -> WriteRefusal | None:
        """Why the write of a stored intent must not be sent; None if it may."""
        if problem := self._lineage.failover_risk:
            return _build_unsent_refusal(entry, str(problem))
        if self.may_have_been_sent(entry):
            return WriteRefusal(mark_possibly_sent(entry), build_failover_conflict(entry))
        if not is_confirmed:
            return _build_unsent_refusal(
                entry, f"the intent of {entry.call.call_id} was not confirmed by enough replicas"
            )
        return None

    def add_stored_intent(self, entry: LedgerEntry) -> None:
        self._opened.add(entry.key)

    def may_have_been_sent(self, entry: LedgerEntry) -> bool:
        """Whether the write may have been sent already although the ledger has no entry of it.

        - False if the server takes our idempotency key, unless an earlier plan may have used another key.
        - After a failover: true, unless replicas confirm intents, or this process alone has worked on the turn.
        - After a restore from a backup: true, since the backup may be older than what replicas confirmed.
        - After a crash: true if the record showed the write's values before it, unless this process alone has worked
          on the turn.
        - For a plan that was made anew: true also after a loss during any earlier turn of the task, if the record
          showed the write's values before it.
        """
        if entry.idempotency_field is not None and not entry.is_replanned:
            return False
        if self._is_turn_older_than(self._lineage.restored_at):
            return True
        if entry.shown_before and self._may_predate(self._lineage.crashed_at, self._began_after):
            return True
        if entry.shown_before and entry.is_replanned and self._is_task_older_than_a_loss:
            return True
        return not self.replicas_to_confirm and self._may_predate(self._lineage.failed_over_at, self._began_under)

    def _may_predate(self, moment: datetime | None, known_at_begin: datetime | None) -> bool:
        """Whether the turn is older than ``moment``, and was not run by this process alone since its first attempt."""
        return self._is_turn_older_than(moment) and not (known_at_begin != moment and self._work.attempts == 1)

    @property
    def _is_task_older_than_a_loss(self) -> bool:
        loss_times = (
            self._lineage.restored_at,
            self._lineage.crashed_at,
            None if self.replicas_to_confirm else self._lineage.failed_over_at,
        )
        return any(moment and self._work.record.accepted_at <= moment + _MOST_CLOCK_DIFFERENCE for moment in loss_times)

    def _is_turn_older_than(self, moment: datetime | None) -> bool:
        return moment is not None and self._work.turn.received_at <= moment + _MOST_CLOCK_DIFFERENCE

    def may_be_lost(self, entry: LedgerEntry) -> bool:
        """Whether this turn stored the entry and a failover since then may have lost it."""
        return entry.key in self._opened and self._lineage.failed_over_at != self._began_under


def build_failover_conflict(entry: LedgerEntry) -> LedgerConflict:
    """The error for a write that another process may have sent before Redis failed over."""
    return LedgerConflict(f"{entry.call.call_id} may have been sent before Redis failed over")


def mark_possibly_sent(entry: LedgerEntry) -> LedgerEntry:
    """The entry as of a write that may have been sent: ``SENDING``, and the record's state before it unknown."""
    note = "Redis failed over, crashed or was restored since the task was accepted: it may have been sent before"
    return entry.model_copy(update={"status": WriteStatus.SENDING, "before_json": None, "note": note})


def _build_unsent_refusal(entry: LedgerEntry, note: str) -> WriteRefusal:
    return WriteRefusal(entry.model_copy(update={"status": WriteStatus.UNSENT, "note": note}), StoreUnavailable(note))
