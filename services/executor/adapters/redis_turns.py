"""The durable side of one turn, on Redis: every write is fenced inside its script."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

from pydantic import ConfigDict, JsonValue, TypeAdapter

from services.executor.adapters.redis_idle import restored
from services.executor.adapters.redis_intents import IntentInDoubt, Intents, in_doubt, mark_unconfirmed
from services.executor.ports.idle import IdleSession
from services.executor.ports.sessions import Lease, Work
from services.executor.ports.turns import (
    HandedOver,
    JournalEntry,
    LeaseLost,
    LedgerConflict,
    Pulse,
    SessionState,
    TurnEnd,
    TurnStore,
)
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.digest import NO_DIGEST, digest_of
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskEvent, TaskRecord, Turn, TurnKind
from shared.domain.partition import partition_of
from shared.domain.words import SENDABLE, WriteStatus
from shared.infra import keys
from shared.infra.lua import Argument, Scripts
from shared.ports.archive import Archive
from shared.ports.store import StoreUnavailable

_SENDABLE = f" {' '.join(SENDABLE)} "
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SESSION: TypeAdapter[SessionState] = TypeAdapter(SessionState, config=ConfigDict(hide_input_in_errors=True))


class RedisTurnStore(TurnStore):
    """One turn's store; make one for each ``Work``."""

    def __init__(
        self,
        scripts: Scripts,
        lease: Lease,
        work: Work,
        lease_ms: int,
        halted: Callable[[], bool] = lambda: False,
        archive: Archive | None = None,
    ) -> None:
        self._archive = archive
        self._restored: SessionState | None = None  # what the archive gave, which one turn asks for more than once
        self._halted = halted
        self._lease_ms = lease_ms
        self._scripts = scripts
        self._intents = Intents(scripts.lineage, work)
        self._lease = lease
        self._work = work
        self._version = work.version
        self._session = keys.session_keys(lease.tenant, lease.session_id)
        self._task = keys.task_keys(lease.tenant, lease.session_id, work.turn.task_id)
        self._partition = keys.partition_keys_of(lease.tenant, lease.session_id)
        self._member = keys.pack(keys.Member(lease.tenant, lease.session_id))

    async def journal(self) -> tuple[JournalEntry, ...]:
        rows = cast("list[tuple[str, dict[str, str]]]", await self._read("XRANGE", self._task.journal, "-", "+"))
        steps: dict[str, JournalEntry] = {}
        for _, row in rows:  # a step that was stored twice counts as it was stored first
            steps.setdefault(row["key"], JournalEntry(row["key"], row["kind"], row["data"]))
        return tuple(steps.values())

    async def ledger(self) -> Mapping[str, LedgerEntry]:
        """In the order in which they were sent; a Redis hash keeps none."""
        rows = cast(dict[str, str], await self._read("HGETALL", self._task.ledger))
        known = {key: LedgerEntry.model_validate_json(row.partition("\n")[2]) for key, row in rows.items()}
        return dict(sorted(known.items(), key=lambda entry: _sending_order(entry[1])))

    async def approval(self) -> Approval | None:
        latest = await self._read("HGET", self._task.approvals, "latest")
        if latest is None:
            return None
        return Approval.model_validate_json(str(await self._read("HGET", self._task.approvals, str(latest))))

    async def session(self) -> SessionState:
        found = await self._read("HMGET", self._session.session, "state", "evicted", "owner")
        state, evicted, owner = cast("list[str | None]", found)
        if state is not None:
            return _SESSION.validate_json(state)
        if evicted is None:
            return SessionState()
        if self._restored is None:
            session = IdleSession(self._lease.tenant, self._lease.session_id)
            self._restored = await restored(self._archive, session, owner or "")
        return self._restored

    async def pulse(self) -> Pulse:
        if self._halted():
            raise HandedOver(self._lease.session_id)
        return await self._write("pulse", [], [])

    async def append(self, entries: Sequence[JournalEntry], events: Sequence[TaskEvent] = ()) -> Pulse:
        steps = [part for entry in entries for part in entry]
        names = [self._task.journal, self._task.events]
        return await self._write("append", names, [keys.EVENTS_KEPT, len(entries), *steps, *_lines(events)])

    async def append_ahead(self, entries: Sequence[JournalEntry], events: Sequence[TaskEvent] = ()) -> Pulse:
        if self._halted():
            raise HandedOver(self._lease.session_id)
        return await self.append(entries, events)

    async def publish(self, record: TaskRecord, events: Sequence[TaskEvent]) -> Pulse:
        arguments: list[Argument] = [keys.EVENTS_KEPT, self._version, record.model_dump_json(), record.state.value]
        pulse = await self._write("publish", [self._task.record, self._task.events], [*arguments, *_lines(events)])
        self._version += 1
        return pulse

    async def open_write(self, entry: LedgerEntry, hold_seconds: float) -> Pulse:
        if reason := self._intents.blind:
            raise StoreUnavailable(reason)
        if self._intents.may_have_been_sent(entry):
            await self._open(in_doubt(entry), hold_seconds)
            raise IntentInDoubt(f"{entry.call.call_id} may have been sent before Redis failed over")
        pulse, confirmed = await self._open(entry, hold_seconds)
        await self._check_server_again(entry)
        self._intents.note_opened(entry)
        if not confirmed:
            await self.settle_write(mark_unconfirmed(entry), entry.status)
            raise StoreUnavailable(f"the intent of {entry.call.call_id} was not confirmed by enough replicas")
        return pulse

    async def _check_server_again(self, entry: LedgerEntry) -> None:
        """Look again once the intent is stored: the server may have been replaced while it was."""
        if reason := self._intents.blind:
            await self._settle(
                entry.model_copy(update={"status": WriteStatus.UNSENT, "note": reason}), entry.status, ()
            )
            raise StoreUnavailable(reason)
        if self._intents.may_have_been_sent(entry):
            await self._settle(in_doubt(entry), entry.status, ())
            raise IntentInDoubt(f"{entry.call.call_id} may have been sent before Redis failed over")

    async def _open(self, entry: LedgerEntry, hold_seconds: float) -> tuple[Pulse, bool]:
        """Store the intent; whether as many replicas have it as must."""
        arguments: list[Argument] = [entry.key, entry.status.value, entry.model_dump_json(), int(hold_seconds * 1000)]
        names = [self._task.ledger, self._partition.leased]
        arguments += [self._member, _SENDABLE]
        if not self._intents.to_confirm:
            return await self._write("open_write", names, arguments), True
        words = self._fenced_arguments(names, arguments)
        reply, confirmed = await self._scripts.run_confirmed("open_write", *words, self._intents.to_confirm)
        return self._pulse(cast(list[str], reply)), confirmed

    async def settle_write(self, entry: LedgerEntry, before: WriteStatus, events: Sequence[TaskEvent] = ()) -> Pulse:
        try:
            return await self._settle(entry, before, events)
        except LedgerConflict:
            if not self._intents.was_lost(entry):
                raise
        return await self._settle_lost(entry, events)

    async def _settle_lost(self, entry: LedgerEntry, events: Sequence[TaskEvent]) -> Pulse:
        """Store what became of a write whose intent, or last status, a failover lost: this turn knows it."""
        known = (await self.ledger()).get(entry.key)
        if known is None or known.status in SENDABLE:
            await self._open(entry.model_copy(update={"status": WriteStatus.SENDING}), 0.0)
        status = WriteStatus.SENDING if known is None or known.status in SENDABLE else known.status
        return await self._settle(entry, status, events)

    async def _settle(self, entry: LedgerEntry, before: WriteStatus, events: Sequence[TaskEvent]) -> Pulse:
        arguments: list[Argument] = [entry.key, before.value, entry.status.value, entry.model_dump_json()]
        arguments += [self._member, self._lease_ms]
        names = [self._task.ledger, self._task.events, self._partition.leased]
        return await self._write("settle_write", names, [keys.EVENTS_KEPT, *arguments, *_lines(events)])

    async def finish(self, end: TurnEnd) -> None:
        names = [self._session.inbox, self._session.begun, self._session.session, self._session.open]
        names += [self._task.record, self._task.events, self._task.approvals]
        names += [self._partition.timers, self._partition.outcomes, self._partition.unarchived]
        partition = partition_of(self._lease.tenant, self._lease.session_id)
        names += [keys.asked_key(partition, self._lease.tenant), self._partition.notices]
        await self._write("finish", names, self._ending(end))

    def _ending(self, end: TurnEnd) -> list[Argument]:
        record, turn = end.record, self._work.turn
        said: dict[str, JsonValue] = {"turn_id": turn.turn_id, "state": record.state.value}
        if end.timer is not None:
            said["waits_until"] = end.timer.due.isoformat()
        done: TaskEvent = TaskEvent(kind="turn_finished", at=record.updated_at, data=said)
        return [
            keys.EVENTS_KEPT,
            turn.turn_id,
            turn.task_id,
            self._version,
            record.model_dump_json(),
            record.state.value,
            int(record.state.is_terminal),
            "" if end.session is None else _SESSION.dump_json(end.session).decode(),
            *self._optional(end),
            keys.pack(keys.EndedMember(self._lease.tenant, self._lease.session_id, turn.task_id)),
            keys.DETAIL_SECONDS,
            end.settled.approval_id if end.settled else "",
            end.settled.model_dump_json() if end.settled else "",
            _waits_until(end.approval),
            keys.TASK_RETENTION_SECONDS,
            "\n".join(self._notice_members(end)),
            *(digest_of(end.outcome) if end.outcome else NO_DIGEST),
            record.traceparent or "",
            *_lines((*end.events, done)),
        ]

    def _notice_members(self, end: TurnEnd) -> Iterator[str]:
        """What is to be told of approvals, as the partition's notices name it."""
        place = (self._lease.tenant, self._lease.session_id, self._work.turn.task_id)
        for one in end.notices:
            yield keys.pack(keys.NoticeMember(one.event.value, str(one.step), one.approval_id, *place))

    def _optional(self, end: TurnEnd) -> list[Argument]:
        approval, timer, outcome = end.approval, end.timer, end.outcome
        subject = timer and keys.TimerMember(
            self._lease.tenant, self._lease.session_id, self._work.turn.task_id, timer.subject
        )
        return [
            approval.approval_id if approval else "",
            approval.model_dump_json() if approval else "",
            keys.pack(subject) if subject else "",
            int(timer.due.timestamp() * 1000) if timer else 0,
            outcome.event_id if outcome else "",
            outcome.model_dump_json() if outcome else "",
        ]

    async def _write(self, script: str, names: Sequence[str], arguments: Sequence[Argument]) -> Pulse:
        reply = await self._scripts.run(script, *self._fenced_arguments(names, arguments))
        return self._pulse(cast(list[str], reply))

    def _fenced_arguments(
        self, names: Sequence[str], arguments: Sequence[Argument]
    ) -> tuple[list[str], list[Argument]]:
        """Keys and arguments of a script that begins by checking the lease."""
        common = [self._session.lease, self._session.signals, self._session.turns]
        names = [*common, *names, keys.stopped_key(self._lease.tenant, self._lease.session_id)]
        return names, [self._lease.owner, str(self._lease.fence), *arguments]

    def _pulse(self, reply: list[str]) -> Pulse:
        match reply:
            case ["ok", now, stopped, *signals]:
                return Pulse(_EPOCH + timedelta(microseconds=int(now)), self._cancel(signals), stopped or None)
            case ["ok", now]:
                return Pulse(_EPOCH + timedelta(microseconds=int(now)))
            case ["lost"]:
                raise LeaseLost(self._lease.session_id)
            case _:
                raise LedgerConflict(f"task {self._work.turn.task_id} is not as this turn last stored it")

    def _cancel(self, signals: Sequence[str]) -> Turn | None:
        turns = (Turn.model_validate_json(signal) for signal in signals if signal)
        mine = (turn for turn in turns if turn.kind is TurnKind.CANCEL and turn.task_id == self._work.turn.task_id)
        return next(mine, None)

    async def _read(self, *words: str) -> object:
        return await self._scripts.command(*words)


def _waits_until(approval: Approval | None) -> int | str:
    """The deadline of an approval that waits, in milliseconds; empty for any other."""
    if approval is None or approval.status is not ApprovalStatus.WAITING:
        return ""
    return int(approval.deadline.timestamp() * 1000)


def _lines(events: Sequence[TaskEvent]) -> list[str]:
    return [event.model_dump_json() for event in events]


def _sending_order(entry: LedgerEntry) -> tuple[bool, str]:
    """What was never sent comes last."""
    return (entry.sending_at is None, entry.sending_at.isoformat(timespec="microseconds") if entry.sending_at else "")
