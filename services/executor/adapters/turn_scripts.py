"""Runs the Lua scripts that store one turn's steps and its end. Each script checks the turn's lease first."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.adapters.redis_idle import SESSION_STATE_ADAPTER
from services.executor.adapters.shared_texts import JournalRowCodec, SharedTexts
from services.executor.ports import turns as ports
from services.executor.ports.sessions import Lease, TurnWork
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.task import TaskEvent, Turn, TurnKind
from shared.domain.partition import partition_of
from shared.infra import keys
from shared.infra.daily_spend import charge_arguments
from shared.infra.journal_rows import StreamRow
from shared.infra.lua import Argument, Reply, ScriptCall, Scripts, parse_pairs
from shared.infra.signatures import arguments_for, keys_for
from shared.infra.stored_outcomes import pack_outcome
from shared.infra.stored_tasks import pack_events, pack_record

STOPPED_RETRY_MS = 60_000  # until a stopped tenant's session is looked at again; lifting the stop does so at once
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ClaimReply(NamedTuple):
    """What the claim read of the task besides the turn. ``task``: empty for a turn of an older release."""

    task: list[Reply]
    session: list[str]
    pulse: list[str]

    @property
    def record(self) -> tuple[str, str, str] | None:
        """The packed record, its version, and its outcome's event id (empty if none); None if ``task`` is empty."""
        return (str(self.task[0]), str(self.task[1]), str(self.task[5])) if self.task else None

    @property
    def approval(self) -> str:
        return str(self.task[2])

    @property
    def journal(self) -> list[StreamRow]:
        return [(name, parse_pairs(values)) for name, values in cast("list[tuple[str, object]]", self.task[3])]

    @property
    def ledger(self) -> dict[str, str]:
        return parse_pairs(self.task[4])


class TurnScripts:
    """Runs the scripts of one turn. ``claimed``: what the claim read of the task; None once this turn has stored
    something. ``last_pulse``: the store's last pulse, and when it came by the process's monotonic clock.
    """

    def __init__(self, scripts: Scripts, shared: SharedTexts, lease: Lease, work: TurnWork) -> None:
        self.journal = JournalRowCodec(shared, lease.tenant)
        self.session = keys.session_keys(lease.tenant, lease.session_id)
        self.task = keys.task_keys(lease.tenant, lease.session_id, work.turn.task_id)
        self.partition = keys.partition_keys_of(lease.tenant, lease.session_id)
        self.member = keys.pack_session(lease.tenant, lease.session_id)
        self._redis = scripts
        self._lease = lease
        self._turn = work.turn
        self._version = work.version
        self._keys = (self.session, self.task, self.partition)
        self._stopped = keys.tenant_stop_key(lease.tenant, lease.session_id)
        self._fenced: dict[str, Argument] = {"owner": lease.owner, "fence": str(lease.fence)}
        self.last_pulse: tuple[ports.Pulse, float] | None = None
        claim_reply = work.claimed if isinstance(work.claimed, ClaimReply) else None
        self.claimed = claim_reply if claim_reply and claim_reply.task else None
        if claim_reply is not None:
            self._read_pulse(claim_reply.pulse)

    async def append(
        self, batch: ports.JournalBatch, write: Mapping[str, Argument] = {}, replicas: int = 0
    ) -> tuple[ports.Pulse, bool]:
        """Stores one step of the turn, and a ledger entry if ``write`` has one; also whether replicas confirmed it."""
        words, is_confirmed = await self._pack_step(batch, write), True
        if replicas:
            reply, is_confirmed = await self._redis.run_confirmed("append", *words, replicas)
        else:
            reply = await self._redis.run("append", *words)
        pulse = self._read_pulse(cast(list[str], reply))
        self._version += batch.record is not None and not pulse.was_refused
        if batch != ports.EMPTY_BATCH or write:
            self.claimed = None
        return pulse, is_confirmed

    async def _pack_step(self, batch: ports.JournalBatch, write: Mapping[str, Argument]) -> ScriptCall:
        record, (count, events) = batch.record, pack_stream_entry(batch.events)
        fields = {
            "version": self._version if record else "",
            "json": pack_record(record) if record else "",
            "state": record.state.value if record else "",
            "steps": await self.journal.pack(batch.entries),
            "count": count,
            "event_entry": events,
        }
        names = keys_for("append", *self._keys, stopped=self._stopped)
        return names, arguments_for("append", kept=keys.EVENTS_KEPT, **self._fenced, **fields, **write)

    async def finish(self, end: ports.TurnEnd, *, release: bool) -> bool:
        """Stores the turn's end (``finish.lua``); returns whether the same step released the lease."""
        if end.record.state.is_terminal:
            row = await self.journal.pack(end.entries)
        else:
            row = self.journal.pack_with_texts(end.entries)
        tenant = self._lease.tenant
        waiting_approvals = keys.waiting_approvals_key(partition_of(tenant, self._lease.session_id), tenant)
        names = keys_for("finish", *self._keys, stopped=self._stopped, asked=waiting_approvals)
        names += [keys.spend_key(tenant, day) for day, _ in end.charges]
        arguments = arguments_for("finish", **self._fenced, **self._pack_end(end, row, release=release))
        arguments += [value for _, charges in end.charges for value in (len(charges), *charge_arguments(charges))]
        reply = cast(list[str], await self._redis.run("finish", names, arguments))
        self.claimed = None
        if reply[0] != "ok":
            self._read_pulse(reply)
        return reply[-1] == "released"

    def _pack_end(self, end: ports.TurnEnd, row: bytes, *, release: bool) -> dict[str, Argument]:
        record, turn, task_key = end.record, self._turn, (self._lease.tenant, self._lease.session_id)
        approval, timer, outcome, settled_approval = end.approval, end.timer, end.outcome, end.settled_approval
        event_data: dict[str, JsonValue] = {"turn_id": turn.turn_id, "state": record.state.value}
        if timer is not None:
            event_data["waits_until"] = timer.due.isoformat()
        end_event: TaskEvent = TaskEvent(kind="turn_finished", at=record.updated_at, data=event_data)
        count, entry = pack_stream_entry((*end.events, end_event))
        return {
            "kept": keys.EVENTS_KEPT,
            "turn_id": turn.turn_id,
            "task_id": turn.task_id,
            "version": self._version,
            "json": pack_record(record),
            "state": record.state.value,
            "ended": int(record.state.is_terminal),
            "session_state": "" if end.session is None else SESSION_STATE_ADAPTER.dump_json(end.session).decode(),
            "approval_id": approval.approval_id if approval else "",
            "approval": approval.stored_json() if approval else "",
            "timer": keys.pack_member(keys.TimerMember(*task_key, turn.task_id, timer.subject)) if timer else "",
            "due": int(timer.due.timestamp() * 1000) if timer else 0,
            "event_id": outcome.event_id if outcome else "",
            "outcome": pack_outcome(outcome) if outcome else "",
            "member": keys.pack_member(keys.EndedMember(*task_key, turn.task_id)),
            "detail": keys.TASK_DETAIL_RETENTION_SECONDS,
            "settled_id": settled_approval.approval_id if settled_approval else "",
            "settled": settled_approval.stored_json() if settled_approval else "",
            "deadline": _get_approval_deadline_ms(approval),
            "seconds": keys.TASK_RETENTION_SECONDS,
            "notice_members": "\n".join(self._list_notice_members(end)),
            "trace": record.traceparent or "",
            "steps": row,
            "release": int(release),
            "mine": self.member,
            "stopped_ms": STOPPED_RETRY_MS,
            "retention": keys.SESSION_RETENTION_SECONDS,
            "letter": end.letter.stored_json() if end.letter else "",
            "kept_days": keys.SPEND_RETENTION_SECONDS,
            "count": count,
            "event_entry": entry,
        }

    def _list_notice_members(self, end: ports.TurnEnd) -> Iterator[str]:
        """Yields the turn's approval notices as members of the partition's notice set."""
        task_key = (self._lease.tenant, self._lease.session_id, self._turn.task_id)
        for notice in end.notices:
            yield keys.pack_member(
                keys.NoticeMember(notice.event.value, str(notice.step), notice.approval_id, *task_key)
            )

    def _read_pulse(self, reply: list[str]) -> ports.Pulse:
        match reply:
            case ["ok" | "refused" as word, _, stopped, *signals]:
                pulse = ports.Pulse(read_store_time(reply), self._find_own_cancel(signals), stopped or None)
                self.last_pulse = pulse, monotonic()
                return pulse._replace(was_refused=word == "refused")
            case ["lost"]:
                raise ports.LeaseLost(self._lease.session_id)
            case _:
                raise ports.LedgerConflict(f"task {self._turn.task_id} is not as this turn last stored it")

    def _find_own_cancel(self, signals: Sequence[str]) -> Turn | None:
        turns = (Turn.model_validate_json(signal) for signal in signals if signal)
        cancels = (turn for turn in turns if turn.kind is TurnKind.CANCEL and turn.task_id == self._turn.task_id)
        return next(cancels, None)


def read_store_time(pulse: Sequence[str]) -> datetime:
    """The store's time in a pulse."""
    return _EPOCH + timedelta(microseconds=int(pulse[1]))


def _get_approval_deadline_ms(approval: Approval | None) -> int | str:
    """The deadline of a waiting approval in milliseconds; empty for any other approval."""
    if approval is None or approval.status is not ApprovalStatus.WAITING:
        return ""
    return int(approval.deadline.timestamp() * 1000)


def pack_stream_entry(events: Sequence[TaskEvent]) -> tuple[int, bytes]:
    """The number of events, and the packed entry for the task's stream."""
    return len(events), pack_events(events) if events else b""
