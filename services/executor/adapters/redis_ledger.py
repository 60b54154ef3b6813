"""The write ledger of one turn on Redis: a write's intent is stored before its call, and the result after it (I3)."""

from collections.abc import Mapping
from typing import cast

from services.executor.adapters.redis_intents import StoredIntents, failover_conflict, mark_in_doubt
from services.executor.adapters.turn_scripts import TurnScripts
from services.executor.ports.turns import NOTHING, JournalBatch, LedgerConflict, Pulse
from shared.contracts.ledger import LedgerEntry
from shared.domain.words import SENDABLE, WriteStatus
from shared.infra.ledger_rows import pack_entry, read_entry
from shared.infra.lua import Argument, Scripts

_SENDABLE = f" {' '.join(SENDABLE)} "


class RedisLedger:
    """The ledger part of a turn store; the ledger is read once and cached. ``lease_ms``: the lease's length once no
    call stretches it.
    """

    def __init__(self, redis: Scripts, scripts: TurnScripts, intents: StoredIntents, lease_ms: int) -> None:
        self._redis, self._scripts, self._intents, self._lease_ms = redis, scripts, intents, lease_ms
        self._entries: dict[str, LedgerEntry] | None = None

    async def read_ledger(self) -> Mapping[str, LedgerEntry]:
        """The entries by key, sorted by the time of sending."""
        if self._entries is None:
            self._entries = await self._read_entries()
        return dict(self._entries)

    async def open_write(self, entry: LedgerEntry, hold_seconds: float, batch: JournalBatch = NOTHING) -> Pulse:
        """Implements ``TurnStore.open_write``. Whether Redis was replaced is checked before the intent is stored and
        again after, since it may be replaced in between. Raises if the write must not be sent.
        """
        self._intents.check_failover_visible()
        is_doubted = self._intents.may_have_been_sent(entry)
        pulse, is_confirmed = await self._store_intent(
            mark_in_doubt(entry) if is_doubted else entry, hold_seconds, batch
        )
        if pulse.refused:
            return pulse
        self._intents.add_stored_intent(entry)
        if is_doubted:
            raise failover_conflict(entry)
        if refusal := self._intents.find_refusal(entry, is_confirmed=is_confirmed):
            await self.settle_write(refusal.entry, entry.status)
            raise refusal.error
        return pulse

    async def settle_write(self, entry: LedgerEntry, before: WriteStatus, batch: JournalBatch = NOTHING) -> Pulse:
        """Implements ``TurnStore.settle_write``. If a failover lost the entry, it is stored again, since this turn
        knows its result.
        """
        try:
            return await self._store_settlement(entry, before, batch)
        except LedgerConflict:
            if not self._intents.may_be_lost(entry):
                raise
        stored = (await self._read_entries()).get(entry.key)
        if stored is not None and stored.status not in SENDABLE:
            return await self._store_settlement(entry, stored.status, batch)
        sent = entry.model_copy(update={"status": WriteStatus.SENDING})
        await self._scripts.append(
            NOTHING, self._pack_arguments("open", sent, _SENDABLE, 0), self._intents.replicas_to_confirm
        )
        return await self._store_settlement(entry, WriteStatus.SENDING, batch)

    async def _store_intent(self, entry: LedgerEntry, hold_seconds: float, batch: JournalBatch) -> tuple[Pulse, bool]:
        """Stores the intent, unless the task has to stop. Also returns whether enough replicas have confirmed it."""
        write, replicas = (
            self._pack_arguments("open", entry, _SENDABLE, int(hold_seconds * 1000)),
            self._intents.replicas_to_confirm,
        )
        pulse, is_confirmed = await self._scripts.append(batch, {**write, "heeded": 0}, replicas)
        if pulse.refused and not pulse.must_stop:  # what waits there is about another task
            pulse, is_confirmed = await self._scripts.append(batch, write, replicas)
        if not pulse.refused:
            self._cache_entry(entry)
        return pulse, is_confirmed

    async def _store_settlement(self, entry: LedgerEntry, before: WriteStatus, batch: JournalBatch) -> Pulse:
        pulse, _ = await self._scripts.append(
            batch, self._pack_arguments("settle", entry, before.value, self._lease_ms)
        )
        self._cache_entry(entry)
        return pulse

    async def _read_entries(self) -> dict[str, LedgerEntry]:
        claimed = self._scripts.claimed
        rows = claimed.ledger if claimed else await self._redis.execute("HGETALL", self._scripts.task.ledger)
        return _in_sending_order({key: read_entry(row) for key, row in cast("dict[str, str]", rows).items()})

    def _cache_entry(self, entry: LedgerEntry) -> None:
        if self._entries is not None:
            self._entries = _in_sending_order({**self._entries, entry.key: entry})

    def _pack_arguments(self, act: str, entry: LedgerEntry, allowed: str, ms: int) -> dict[str, Argument]:
        """The ledger arguments of ``append.lua``, which the parameters are named after."""
        status, row = entry.status.value, pack_entry(entry)
        of_entry: dict[str, Argument] = {"key": entry.key, "allowed": allowed, "status": status, "entry": row}
        return {"write": act, **of_entry, "ms": ms, "member": self._scripts.member, "heeded": 1}


def _in_sending_order(entries: Mapping[str, LedgerEntry]) -> dict[str, LedgerEntry]:
    return dict(sorted(entries.items(), key=lambda pair: _sending_order(pair[1])))


def _sending_order(entry: LedgerEntry) -> tuple[bool, str]:
    """A sort key by the time of sending; entries that were never sent come last."""
    return (entry.sending_at is None, entry.sending_at.isoformat(timespec="microseconds") if entry.sending_at else "")
