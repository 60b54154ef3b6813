"""The durable side of one turn, on Redis: every write is fenced inside its script."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import NamedTuple, cast

import structlog
from pydantic import ConfigDict, JsonValue, TypeAdapter

from services.executor.adapters import redis_intents
from services.executor.adapters.redis_idle import restore_session
from services.executor.adapters.redis_spend import charge_rows, settle_day
from services.executor.adapters.shared_texts import SharedTexts, TaskJournal
from services.executor.ports import turns as ports
from services.executor.ports.sessions import HeldLease, Lease, Work
from services.executor.ports.upkeep import IdleSession
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskEvent, TaskRecord, Turn, TurnKind
from shared.domain.partition import partition_of
from shared.domain.words import SENDABLE, WriteStatus
from shared.infra import keys
from shared.infra.journal_rows import Row
from shared.infra.ledger_rows import pack_entry, read_entry
from shared.infra.lua import Argument, Call, Reply, Scripts
from shared.infra.signatures import arguments_for, keys_for
from shared.infra.stored_outcomes import pack_outcome
from shared.infra.stored_tasks import pack_events, pack_record
from shared.ports.archive import Archive
from shared.ports.store import StoreUnavailable

_NEWS_SECONDS = 1.0  # between two questions of a turn whose lease has no heartbeat
STOPPED_MS = 60_000  # until a stopped tenant's session is looked at again; lifting the stop does so at once
_NO_WRITE: Mapping[str, Argument] = {
    **dict.fromkeys(("write", "key", "known", "status", "entry", "member"), ""),
    **dict.fromkeys(("ms", "heeded"), 0),
}
_SENDABLE = f" {' '.join(SENDABLE)} "
log = structlog.get_logger()

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SESSION: TypeAdapter[ports.SessionState] = TypeAdapter(
    ports.SessionState, config=ConfigDict(hide_input_in_errors=True)
)


class ClaimReply(NamedTuple):
    """What the claim of a turn read with it: ``task`` is empty for a turn that does not name its task's keys."""

    task: list[Reply]
    memory: list[str]
    pulse: list[str]

    @property
    def record(self) -> tuple[str, str, str] | None:
        """The record, its version, and the event in which its outcome was emitted, if it was; None if the turn does not
        name its task's keys.
        """
        return (str(self.task[0]), str(self.task[1]), str(self.task[5])) if self.task else None

    @property
    def approval(self) -> str:
        return str(self.task[2])

    @property
    def journal(self) -> list[Row]:
        rows = cast("list[tuple[str, list[str]]]", self.task[3])
        return [(name, dict(zip(values[::2], values[1::2], strict=True))) for name, values in rows]

    @property
    def ledger(self) -> dict[str, str]:
        flat = cast("list[str]", self.task[4])
        return dict(zip(flat[::2], flat[1::2], strict=True))


class RedisTurnStore(ports.TurnStore):
    """One turn's store; make one for each ``Work``."""

    def __init__(
        self,
        scripts: Scripts,
        shared: SharedTexts,
        lease: Lease,
        work: Work,
        lease_ms: int,
        halted: Callable[[], bool] = lambda: False,
        held: HeldLease | None = None,
        archive: Archive | None = None,
        *,
        is_cluster: bool = False,
    ) -> None:
        """``held``: the lease's heartbeat; without one the store is asked each time, and the lease is never given back
        with a turn's end.
        """
        self._archive = archive
        self._is_cluster = is_cluster
        self._held = held
        # What the store said last, and when by the process's clock.
        self._heard: tuple[ports.Pulse, float] | None = None
        self._ledger: dict[str, LedgerEntry] | None = None  # nobody but the lease's owner writes it
        claimed = work.claimed if isinstance(work.claimed, ClaimReply) else None
        self._claimed_with = claimed  # until this turn stores anything of its task
        self._memory = claimed.memory if claimed is not None else None
        # What the archive gave, which one turn asks for more than once.
        self._restored: ports.SessionState | None = None
        self._halted = halted
        self._lease_ms = lease_ms
        self._scripts = scripts
        self._intents = redis_intents.Intents(scripts.lineage, work)
        self._lease = lease
        self._work = work
        self._version = work.version
        self._session = keys.session_keys(lease.tenant, lease.session_id)
        self._task = keys.task_keys(lease.tenant, lease.session_id, work.turn.task_id)
        self._journal = TaskJournal(shared, lease.tenant)
        self._partition = keys.partition_keys_of(lease.tenant, lease.session_id)
        self._keys = (self._session, self._task, self._partition)
        self._stopped = keys.stopped_key(lease.tenant, lease.session_id)
        self._fenced: dict[str, Argument] = {"owner": lease.owner, "fence": str(lease.fence)}
        self._member = keys.pack(keys.Member(lease.tenant, lease.session_id))
        if claimed is not None:
            self._read_pulse(claimed.pulse)

    async def journal(self) -> tuple[ports.JournalEntry, ...]:
        if (claimed := self._claimed_with) is not None and claimed.task:
            rows = claimed.journal
        else:
            rows = cast("list[Row]", await self._scripts.command("XRANGE", self._task.journal, "-", "+"))
        return await self._journal.read(rows)

    async def ledger(self) -> Mapping[str, LedgerEntry]:
        """The entries in the order in which they were sent, since a Redis hash keeps none."""
        if self._ledger is None:
            self._ledger = await self._read_ledger()
        return dict(self._ledger)

    async def _read_ledger(self) -> dict[str, LedgerEntry]:
        if (claimed := self._claimed_with) is not None and claimed.task:
            rows = claimed.ledger
        else:
            rows = cast(dict[str, str], await self._scripts.command("HGETALL", self._task.ledger))
        found = ((key, read_entry(row)) for key, row in rows.items())
        return dict(sorted(found, key=lambda pair: _sending_order(pair[1])))

    async def approval(self) -> Approval | None:
        if (claimed := self._claimed_with) is not None and claimed.task:
            return Approval.model_validate_json(claimed.approval) if claimed.approval else None
        latest = await self._scripts.command("HGET", self._task.approvals, "latest")
        if latest is None:
            return None
        return Approval.model_validate_json(str(await self._scripts.command("HGET", self._task.approvals, str(latest))))

    async def session(self) -> ports.SessionState:
        found = self._memory or await self._scripts.command("HMGET", self._session.session, "state", "evicted", "owner")
        state, evicted, owner = (value or None for value in cast("list[str | None]", found))
        if state is not None:
            return _SESSION.validate_json(state)
        if evicted is None:
            return ports.SessionState()
        if self._restored is None:
            session = IdleSession(self._lease.tenant, self._lease.session_id)
            self._restored = await restore_session(self._archive, session, owner or "")
        return self._restored

    async def pulse(self) -> ports.Pulse:
        if self._halted():
            raise ports.HandedOver(self._lease.session_id)
        if self._heard is None or self._held is None or self._held.has_news():
            return await self._store(ports.NOTHING)
        pulse, at = self._heard
        return pulse._replace(now=pulse.now + timedelta(seconds=monotonic() - at))

    async def await_news(self) -> None:
        if self._held is None:
            await asyncio.sleep(_NEWS_SECONDS)
        else:
            await self._held.await_news()

    async def append(
        self, entries: Sequence[ports.JournalEntry], events: Sequence[TaskEvent] = (), record: TaskRecord | None = None
    ) -> ports.Pulse:
        return await self._store(ports.JournalBatch(tuple(entries), tuple(events), record))

    async def open_write(
        self, entry: LedgerEntry, hold_seconds: float, beside: ports.JournalBatch = ports.NOTHING
    ) -> ports.Pulse:
        if reason := self._intents.blind:
            raise StoreUnavailable(reason)
        if self._intents.may_have_been_sent(entry):
            pulse, _ = await self._open(redis_intents.mark_in_doubt(entry), hold_seconds, beside)
            if pulse.held:
                return pulse
            raise redis_intents.IntentInDoubt(f"{entry.call.call_id} may have been sent before Redis failed over")
        pulse, confirmed = await self._open(entry, hold_seconds, beside)
        if pulse.held:
            return pulse
        await self._check_server_again(entry)
        self._intents.note_opened(entry)
        if not confirmed:
            await self.settle_write(redis_intents.mark_unconfirmed(entry), entry.status)
            raise StoreUnavailable(f"the intent of {entry.call.call_id} was not confirmed by enough replicas")
        return pulse

    async def _check_server_again(self, entry: LedgerEntry) -> None:
        """Checks the Redis server again after the intent is stored, since it may have been replaced meanwhile; raises
        if the write must not be sent.
        """
        if reason := self._intents.blind:
            await self._settle(
                entry.model_copy(update={"status": WriteStatus.UNSENT, "note": reason}), entry.status, ports.NOTHING
            )
            raise StoreUnavailable(reason)
        if self._intents.may_have_been_sent(entry):
            await self._settle(redis_intents.mark_in_doubt(entry), entry.status, ports.NOTHING)
            raise redis_intents.IntentInDoubt(f"{entry.call.call_id} may have been sent before Redis failed over")

    async def _open(
        self, entry: LedgerEntry, hold_seconds: float, beside: ports.JournalBatch
    ) -> tuple[ports.Pulse, bool]:
        """Stores the intent; returns also whether enough replicas have it. If the pulse stops the task, nothing is
        stored.
        """
        write = self._pack_write("open", entry, _SENDABLE, int(hold_seconds * 1000))
        pulse, confirmed = await self._store_confirmed(beside, {**write, "heeded": 0})
        if pulse.held and not pulse.stops:  # what waits there is about another task
            pulse, confirmed = await self._store_confirmed(beside, write)
        if not pulse.held:
            self._note_entry(entry)
        return pulse, confirmed

    async def settle_write(
        self, entry: LedgerEntry, before: WriteStatus, beside: ports.JournalBatch = ports.NOTHING
    ) -> ports.Pulse:
        try:
            return await self._settle(entry, before, beside)
        except ports.LedgerConflict:
            if not self._intents.was_lost(entry):
                raise
        return await self._settle_lost(entry, beside)

    async def _settle_lost(self, entry: LedgerEntry, beside: ports.JournalBatch) -> ports.Pulse:
        """Stores what became of a write whose intent, or last status, a failover lost: this turn knows it."""
        known = (await self._read_ledger()).get(entry.key)
        if known is None or known.status in SENDABLE:
            await self._open_anew(entry.model_copy(update={"status": WriteStatus.SENDING}))
        status = WriteStatus.SENDING if known is None or known.status in SENDABLE else known.status
        return await self._settle(entry, status, beside)

    async def _open_anew(self, entry: LedgerEntry) -> None:
        """Stores an intent whose request has already been sent."""
        await self._store_confirmed(ports.NOTHING, self._pack_write("open", entry, _SENDABLE, 0))

    async def _settle(self, entry: LedgerEntry, before: WriteStatus, beside: ports.JournalBatch) -> ports.Pulse:
        pulse = await self._store(beside, self._pack_write("settle", entry, before.value, self._lease_ms))
        self._note_entry(entry)
        return pulse

    def _note_entry(self, entry: LedgerEntry) -> None:
        if self._ledger is not None:
            known = {**self._ledger, entry.key: entry}
            self._ledger = dict(sorted(known.items(), key=lambda pair: _sending_order(pair[1])))

    async def _store(self, batch: ports.JournalBatch, write: Mapping[str, Argument] = _NO_WRITE) -> ports.Pulse:
        """Stores one step of the turn: see ``append.lua``."""
        reply = await self._scripts.run("append", *await self._pack_step(batch, write))
        pulse = self._read_pulse(cast(list[str], reply))
        self._version += batch.record is not None
        if batch != ports.NOTHING or write is not _NO_WRITE:
            self._claimed_with = None
        return pulse

    async def _store_confirmed(
        self, batch: ports.JournalBatch, write: Mapping[str, Argument]
    ) -> tuple[ports.Pulse, bool]:
        """Stores a step with an intent; returns also whether enough replicas have it."""
        words, replicas = await self._pack_step(batch, write), self._intents.to_confirm
        if replicas:
            reply, confirmed = await self._scripts.run_confirmed("append", *words, replicas)
        else:
            reply, confirmed = await self._scripts.run("append", *words), True
        pulse = self._read_pulse(cast(list[str], reply))
        self._version += batch.record is not None and not pulse.held
        self._claimed_with = None
        return pulse, confirmed

    async def _pack_step(self, batch: ports.JournalBatch, write: Mapping[str, Argument]) -> Call:
        record, (count, events) = batch.record, entry_of(batch.events)
        given = {
            "version": self._version if record else "",
            "json": pack_record(record) if record else "",
            "state": record.state.value if record else "",
            "steps": await self._journal.pack(batch.entries),
            "count": count,
            "told": events,
        }
        names = keys_for("append", *self._keys, stopped=self._stopped)
        return names, arguments_for("append", kept=keys.EVENTS_KEPT, **self._fenced, **given, **write)

    def _pack_write(self, act: str, entry: LedgerEntry, known: str, ms: int) -> dict[str, Argument]:
        """What ``append.lua`` does to the ledger: ``act`` and the others are its arguments of that name."""
        status, row = entry.status.value, pack_entry(entry)
        of_entry: dict[str, Argument] = {"key": entry.key, "known": known, "status": status, "entry": row}
        return {"write": act, **of_entry, "ms": ms, "member": self._member, "heeded": 1}

    async def finish(self, end: ports.TurnEnd) -> None:
        days = end.charges
        if self._is_cluster:  # the tenant's day lies in another slot, and hears of it afterwards
            end = end._replace(charges=())
        if self._held is None:
            await self._finish(end, release=False)
        else:
            with self._held.letting_go():
                self._held.released = await self._finish(end, release=True)
        if self._is_cluster:
            await self._count_spending(days)

    async def _count_spending(self, days: Sequence[ports.DayCharges]) -> None:
        try:
            for day, charges in days:
                await settle_day(self._scripts, self._lease.tenant, day, charges)
        except StoreUnavailable as error:  # the turn itself is stored
            log.warning("spending_not_counted", task=self._work.turn.task_id, error=str(error))

    async def _finish(self, end: ports.TurnEnd, *, release: bool) -> bool:
        """Stores the turn's end; returns whether the lease was given back in the same step."""
        if end.record.state.is_terminal:
            row = await self._journal.pack(end.entries)
        else:
            row = self._journal.pack_with_texts(end.entries)
        tenant = self._lease.tenant
        asked = keys.asked_key(partition_of(tenant, self._lease.session_id), tenant)
        names = keys_for("finish", *self._keys, stopped=self._stopped, asked=asked)
        names += [keys.spend_key(tenant, day) for day, _ in end.charges]
        given = arguments_for("finish", **self._fenced, **self._pack_end(end, row, release=release))
        given += [part for _, charges in end.charges for part in (len(charges), *charge_rows(charges))]
        reply = cast(list[str], await self._scripts.run("finish", names, given))
        self._claimed_with = self._memory = None
        if reply[0] != "ok":
            self._read_pulse(reply)
        return reply[-1] == "released"

    def _pack_end(self, end: ports.TurnEnd, row: bytes, *, release: bool) -> dict[str, Argument]:
        record, turn, place = end.record, self._work.turn, (self._lease.tenant, self._lease.session_id)
        approval, timer, outcome, settled = end.approval, end.timer, end.outcome, end.settled
        said: dict[str, JsonValue] = {"turn_id": turn.turn_id, "state": record.state.value}
        if timer is not None:
            said["waits_until"] = timer.due.isoformat()
        done: TaskEvent = TaskEvent(kind="turn_finished", at=record.updated_at, data=said)
        count, entry = entry_of((*end.events, done))
        return {
            "kept": keys.EVENTS_KEPT,
            "turn_id": turn.turn_id,
            "task_id": turn.task_id,
            "version": self._version,
            "json": pack_record(record),
            "state": record.state.value,
            "ended": int(record.state.is_terminal),
            "memory": "" if end.session is None else _SESSION.dump_json(end.session).decode(),
            "approval_id": approval.approval_id if approval else "",
            "approval": approval.stored_json() if approval else "",
            "timer": keys.pack(keys.TimerMember(*place, turn.task_id, timer.subject)) if timer else "",
            "due": int(timer.due.timestamp() * 1000) if timer else 0,
            "event_id": outcome.event_id if outcome else "",
            "outcome": pack_outcome(outcome) if outcome else "",
            "member": keys.pack(keys.EndedMember(*place, turn.task_id)),
            "detail": keys.DETAIL_SECONDS,
            "settled_id": settled.approval_id if settled else "",
            "settled": settled.stored_json() if settled else "",
            "deadline": _waits_until(approval),
            "seconds": keys.TASK_RETENTION_SECONDS,
            "told": "\n".join(self._notice_members(end)),
            "trace": record.traceparent or "",
            "steps": row,
            "release": int(release),
            "mine": self._member,
            "stopped_ms": STOPPED_MS,
            "retention": keys.SESSION_RETENTION_SECONDS,
            "letter": end.letter.stored_json() if end.letter else "",
            "kept_days": keys.SPEND_SECONDS,
            "count": count,
            "entry": entry,
        }

    def _notice_members(self, end: ports.TurnEnd) -> Iterator[str]:
        """Yields the notices of approvals as members of the partition's notices."""
        place = (self._lease.tenant, self._lease.session_id, self._work.turn.task_id)
        for one in end.notices:
            yield keys.pack(keys.NoticeMember(one.event.value, str(one.step), one.approval_id, *place))

    def _read_pulse(self, reply: list[str]) -> ports.Pulse:
        match reply:
            case ["ok" | "held" as word, _, stopped, *signals]:
                pulse = ports.Pulse(moment_of(reply), self._cancel(signals), stopped or None)
                self._heard = pulse, monotonic()
                return pulse._replace(held=word == "held")
            case ["lost"]:
                raise ports.LeaseLost(self._lease.session_id)
            case _:
                raise ports.LedgerConflict(f"task {self._work.turn.task_id} is not as this turn last stored it")

    def _cancel(self, signals: Sequence[str]) -> Turn | None:
        turns = (Turn.model_validate_json(signal) for signal in signals if signal)
        mine = (turn for turn in turns if turn.kind is TurnKind.CANCEL and turn.task_id == self._work.turn.task_id)
        return next(mine, None)


def moment_of(pulse: Sequence[str]) -> datetime:
    """The time at which the store answered, by its clock."""
    return _EPOCH + timedelta(microseconds=int(pulse[1]))


def _waits_until(approval: Approval | None) -> int | str:
    """The deadline of a waiting approval in milliseconds; empty for any other."""
    if approval is None or approval.status is not ApprovalStatus.WAITING:
        return ""
    return int(approval.deadline.timestamp() * 1000)


def entry_of(events: Sequence[TaskEvent]) -> tuple[int, bytes]:
    """How many events a script is to publish, and their entry in the task's stream."""
    return len(events), pack_events(events) if events else b""


def _sending_order(entry: LedgerEntry) -> tuple[bool, str]:
    """A sort key by the time of sending; what was never sent comes last."""
    return (entry.sending_at is None, entry.sending_at.isoformat(timespec="microseconds") if entry.sending_at else "")
