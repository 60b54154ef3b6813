"""The store of one turn on Redis. Every script checks the lease's fence before it writes."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import NamedTuple, cast

import structlog
from pydantic import JsonValue

from services.executor.adapters.redis_idle import SESSION_STATE_ADAPTER, restore_session
from services.executor.adapters.shared_texts import JournalRowCodec, SharedTexts
from services.executor.core.session.ledger import index_in_sending_order
from services.executor.ports import turns as ports
from services.executor.ports.turns import Lease, LeaseHeartbeat, LedgerConflict, TurnWork
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskEvent, TaskRecord, Turn, TurnKind
from shared.domain.partition import partition_of
from shared.domain.words import SENDABLE_STATUSES, WriteStatus
from shared.infra import keys
from shared.infra.daily_spend import build_charge_arguments, settle_day_charges
from shared.infra.journal_rows import StreamRow
from shared.infra.ledger_rows import pack_ledger_entry, parse_ledger_entry
from shared.infra.lineage import RedisLineage
from shared.infra.lua import Argument, Reply, ScriptCall, Scripts, parse_flat_pairs
from shared.infra.signatures import order_script_arguments, order_script_keys
from shared.infra.stored_outcomes import pack_outcome_with_own_digest
from shared.infra.stored_tasks import pack_task_events, pack_task_record
from shared.ports.archive import Archive
from shared.ports.store import StoreUnavailable

STOPPED_RETRY_MS = 60_000  # until a stopped tenant's session is looked at again; lifting the stop does so at once
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ClaimReply(NamedTuple):
    """What the claim script read of the task besides the turn. ``task``: empty for a turn of an older release."""

    task: list[Reply]
    session: list[str]
    stop_state: list[str]

    @property
    def record(self) -> tuple[str, str, str] | None:
        """The packed record, its version, and its outcome's event id (empty if none); None if ``task`` is empty."""
        return (str(self.task[0]), str(self.task[1]), str(self.task[5])) if self.task else None

    @property
    def approval(self) -> str:
        return str(self.task[2])

    @property
    def journal(self) -> list[StreamRow]:
        return [(name, parse_flat_pairs(values)) for name, values in cast("list[tuple[str, object]]", self.task[3])]

    @property
    def ledger(self) -> dict[str, str]:
        return parse_flat_pairs(self.task[4])


class TurnScripts:
    """Runs the scripts of one turn. ``claimed``: what the claim read of the task; None once this turn has stored
    something. ``last_stop_state``: the stop state of the latest reply, and when that came by the process's monotonic
    clock.
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
        self._append_keys = order_script_keys("append", *self._keys, stopped=self._stopped)
        self._fenced: dict[str, Argument] = {"owner": lease.owner, "fence": str(lease.fence)}
        self.last_stop_state: tuple[ports.StopState, float] | None = None
        claim_reply = work.claimed if isinstance(work.claimed, ClaimReply) else None
        self.claimed = claim_reply if claim_reply and claim_reply.task else None
        if claim_reply is not None:
            self._read_stop_state(claim_reply.stop_state)

    async def append(
        self, batch: ports.JournalBatch, write: Mapping[str, Argument] = {}, replicas: int = 0
    ) -> tuple[ports.StopState, bool]:
        """Stores one step of the turn, with the ledger entry in ``write`` if there is one. Returns the stop state, and
        whether ``replicas`` replicas have confirmed the step.

        Raises ``LeaseLost``, and ``LedgerConflict`` if the task is not as this turn last stored it.
        """
        words, is_confirmed = await self._pack_step(batch, write), True
        if replicas:
            reply, is_confirmed = await self._redis.run_confirmed("append", *words, replicas)
        else:
            reply = await self._redis.run("append", *words)
        stop_state = self._read_stop_state(cast(list[str], reply))
        self._version += batch.record is not None and not stop_state.was_refused
        if batch != ports.EMPTY_BATCH or write:
            self.claimed = None
        return stop_state, is_confirmed

    async def _pack_step(self, batch: ports.JournalBatch, write: Mapping[str, Argument]) -> ScriptCall:
        record, (count, events) = batch.record, pack_stream_entry(batch.events)
        fields = {
            "version": self._version if record else "",
            "json": pack_task_record(record) if record else "",
            "state": record.state.value if record else "",
            "steps": await self.journal.pack_steps(batch.entries),
            "count": count,
            "event_entry": events,
        }
        return self._append_keys, order_script_arguments(
            "append", kept=keys.EVENTS_KEPT, **self._fenced, **fields, **write
        )

    async def finish(self, end: ports.TurnEnd, *, release: bool) -> bool:
        """Stores the turn's end (``finish.lua``); returns whether the same step released the lease.

        Raises ``LeaseLost``, and ``LedgerConflict`` if the task is not as this turn last stored it.
        """
        if end.record.state.is_terminal:
            row = await self.journal.pack_steps(end.entries)
        else:
            row = self.journal.pack_steps_with_texts(end.entries)
        tenant = self._lease.tenant
        waiting_approvals = keys.waiting_approvals_key(partition_of(tenant, self._lease.session_id), tenant)
        names = order_script_keys("finish", *self._keys, stopped=self._stopped, asked=waiting_approvals)
        names += [keys.spend_key(tenant, day) for day, _ in end.charges]
        arguments = order_script_arguments("finish", **self._fenced, **self._pack_end(end, row, release=release))
        arguments += [value for _, charges in end.charges for value in (len(charges), *build_charge_arguments(charges))]
        reply = cast(list[str], await self._redis.run("finish", names, arguments))
        self.claimed = None
        if reply[0] != "ok":
            self._read_stop_state(reply)
        return reply[-1] == "released"

    def _pack_end(self, end: ports.TurnEnd, row: bytes, *, release: bool) -> dict[str, Argument]:
        record = end.record
        turn = self._turn
        task_key = (self._lease.tenant, self._lease.session_id)
        approval = end.approval
        timer = end.timer
        outcome = end.outcome
        settled_approval = end.settled_approval
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
            "json": pack_task_record(record),
            "state": record.state.value,
            "ended": int(record.state.is_terminal),
            "session_state": "" if end.session is None else SESSION_STATE_ADAPTER.dump_json(end.session).decode(),
            "approval_id": approval.approval_id if approval else "",
            "approval": approval.stored_json() if approval else "",
            "timer": keys.pack_member(keys.TimerMember(*task_key, turn.task_id, timer.subject)) if timer else "",
            "due": int(timer.due.timestamp() * 1000) if timer else 0,
            "event_id": outcome.event_id if outcome else "",
            "outcome": pack_outcome_with_own_digest(outcome) if outcome else "",
            "member": keys.pack_member(keys.EndedTaskMember(*task_key, turn.task_id)),
            "detail": keys.TASK_DETAIL_RETENTION_SECONDS,
            "settled_id": settled_approval.approval_id if settled_approval else "",
            "settled": settled_approval.stored_json() if settled_approval else "",
            "deadline": _choose_approval_deadline_ms(approval),
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

    def _read_stop_state(self, reply: list[str]) -> ports.StopState:
        match reply:
            case ["ok" | "refused" as word, _, stopped, *signals]:
                stop_state = ports.StopState(parse_store_time(reply), self._find_own_cancel(signals), stopped or None)
                self.last_stop_state = stop_state, monotonic()
                return stop_state._replace(was_refused=word == "refused")
            case ["lost"]:
                raise ports.LeaseLost(self._lease.session_id)
            case _:
                raise ports.LedgerConflict(f"task {self._turn.task_id} is not as this turn last stored it")

    def _find_own_cancel(self, signals: Sequence[str]) -> Turn | None:
        turns = (Turn.model_validate_json(signal) for signal in signals if signal)
        cancels = (turn for turn in turns if turn.kind is TurnKind.CANCEL and turn.task_id == self._turn.task_id)
        return next(cancels, None)


def parse_store_time(reply: Sequence[str]) -> datetime:
    """The store's time (aware, UTC) in the reply of a turn's script, whose second item is microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=int(reply[1]))


def _choose_approval_deadline_ms(approval: Approval | None) -> int | str:
    """The deadline of a waiting approval in milliseconds; empty for any other approval."""
    if approval is None or approval.status is not ApprovalStatus.WAITING:
        return ""
    return int(approval.deadline.timestamp() * 1000)


def pack_stream_entry(events: Sequence[TaskEvent]) -> tuple[int, bytes]:
    """The number of events, and the packed entry for the task's stream."""
    return len(events), pack_task_events(events) if events else b""


_SIGNAL_POLL_SECONDS = 1.0  # between two questions of a turn whose lease has no heartbeat
_SENDABLE_STATUS_LIST = f" {' '.join(SENDABLE_STATUSES)} "
log = structlog.get_logger()


class RedisTurnStore(ports.TurnStore):
    """The store of one turn, for one ``TurnWork``. The ledger is read once and cached."""

    def __init__(
        self,
        scripts: Scripts,
        shared: SharedTexts,
        lease: Lease,
        work: TurnWork,
        lease_ms: int,
        is_halted: Callable[[], bool],
        heartbeat: LeaseHeartbeat | None,
        archive: Archive | None,
        *,
        is_cluster: bool,
    ) -> None:
        """``lease_ms``: the lease's length while no call lengthens it.

        ``heartbeat`` is the lease's; without one, Redis is asked for each stop state, and the end of the turn does not
        release the lease.
        """
        self._redis, self._scripts = scripts, TurnScripts(scripts, shared, lease, work)
        self._intents, self._lease_ms = StoredIntents(scripts.lineage, work), lease_ms
        self._entries: dict[str, LedgerEntry] | None = None
        self._lease = lease
        self._is_halted = is_halted
        self._heartbeat = heartbeat
        self._archive = archive
        self._is_cluster = is_cluster
        # The session's state, when it was evicted and its owner, as the claim read them, until this turn has ended.
        self._session = work.claimed.session if isinstance(work.claimed, ClaimReply) else None
        # What the archive gave, which one turn asks for more than once.
        self._restored: ports.SessionState | None = None

    async def read_journal(self) -> tuple[ports.JournalEntry, ...]:
        reply = self._scripts.claimed
        rows = reply.journal if reply else await self._redis.execute("XRANGE", self._scripts.task.journal, "-", "+")
        return await self._scripts.journal.parse_rows(cast("list[StreamRow]", rows))

    async def read_approval(self) -> Approval | None:
        reply = self._scripts.claimed
        text = reply.approval if reply else await self._fetch_latest_approval_json()
        return Approval.model_validate_json(text) if text else None

    async def _fetch_latest_approval_json(self) -> str:
        """The task's newest approval as JSON; empty if it never had one."""
        approvals = self._scripts.task.approvals
        approval_id = await self._redis.execute("HGET", approvals, "latest")
        return "" if approval_id is None else str(await self._redis.execute("HGET", approvals, str(approval_id)))

    async def read_session(self) -> ports.SessionState:
        name = self._scripts.session.session
        fields = self._session or await self._redis.execute("HMGET", name, "state", "evicted", "owner")
        state, evicted_at, owner = (value or None for value in cast("list[str | None]", fields))
        if state is not None:
            return SESSION_STATE_ADAPTER.validate_json(state)
        if evicted_at is None:
            return ports.SessionState()
        if self._restored is None:
            session = keys.SessionMember(self._lease.tenant, self._lease.session_id)
            self._restored = await restore_session(self._archive, session, owner or "")
        return self._restored

    async def read_ledger(self) -> Mapping[str, LedgerEntry]:
        """The entries by key, sorted by the time of sending."""
        if self._entries is None:
            self._entries = await self._read_ledger_entries()
        return dict(self._entries)

    async def open_write(
        self,
        entry: LedgerEntry,
        call_seconds: float,
        batch: ports.JournalBatch = ports.EMPTY_BATCH,
        was_shown_before: Callable[[], bool] = lambda: False,
    ) -> ports.StopState:
        """Implements ``TurnStore.open_write``.

        Whether Redis was replaced is checked before the intent is stored and again after, since it may be replaced in
        between. Raises if the write must not be sent.
        """
        self._intents.require_visible_failovers()
        entry_before = (await self.read_ledger()).get(entry.key)
        is_doubted = self._intents.may_have_been_sent(entry, was_shown_before)
        stop_state, is_confirmed = await self._store_intent(
            _mark_possibly_sent(entry) if is_doubted else entry, call_seconds, batch
        )
        if stop_state.was_refused:
            return stop_state
        self._intents.add_stored_intent(entry)
        if is_doubted:
            raise _build_failover_conflict(entry)
        if refusal := self._intents.find_refusal(entry, was_shown_before, is_confirmed=is_confirmed):
            unsent = refusal.entry.status is WriteStatus.UNSENT
            await self.settle_write((entry_before if unsent else None) or refusal.entry, entry.status)
            raise refusal.error
        return stop_state

    async def settle_write(
        self, entry: LedgerEntry, status_before: WriteStatus, batch: ports.JournalBatch = ports.EMPTY_BATCH
    ) -> ports.StopState:
        """Implements ``TurnStore.settle_write``. An entry that a failover lost is stored again."""
        try:
            return await self._store_settlement(entry, status_before, batch)
        except ports.LedgerConflict:
            if not self._intents.may_be_lost(entry):
                raise
        stored_entry = (await self._read_ledger_entries()).get(entry.key)
        if stored_entry is not None and stored_entry.status not in SENDABLE_STATUSES:
            return await self._store_settlement(entry, stored_entry.status, batch)
        sending = entry.model_copy(update={"status": WriteStatus.SENDING})
        await self._scripts.append(
            ports.EMPTY_BATCH,
            self._pack_ledger_arguments("open", sending, _SENDABLE_STATUS_LIST, 0),
            self._intents.replicas_to_confirm,
        )
        return await self._store_settlement(entry, WriteStatus.SENDING, batch)

    async def _store_intent(
        self, entry: LedgerEntry, call_seconds: float, batch: ports.JournalBatch
    ) -> tuple[ports.StopState, bool]:
        """Stores the intent, unless the task has to stop. Also returns whether enough replicas have confirmed it."""
        write = self._pack_ledger_arguments("open", entry, _SENDABLE_STATUS_LIST, int(call_seconds * 1000))
        replicas = self._intents.replicas_to_confirm
        stop_state, is_confirmed = await self._scripts.append(batch, {**write, "heeded": 0}, replicas)
        if stop_state.was_refused and not stop_state.must_stop:  # what waits there is about another task
            stop_state, is_confirmed = await self._scripts.append(batch, write, replicas)
        if not stop_state.was_refused:
            self._cache_entry(entry)
        return stop_state, is_confirmed

    async def _store_settlement(
        self, entry: LedgerEntry, before: WriteStatus, batch: ports.JournalBatch
    ) -> ports.StopState:
        stop_state, _ = await self._scripts.append(
            batch, self._pack_ledger_arguments("settle", entry, before.value, self._lease_ms)
        )
        self._cache_entry(entry)
        return stop_state

    async def _read_ledger_entries(self) -> dict[str, LedgerEntry]:
        reply = self._scripts.claimed
        rows = reply.ledger if reply else await self._redis.execute("HGETALL", self._scripts.task.ledger)
        return index_in_sending_order(map(parse_ledger_entry, cast("dict[str, str]", rows).values()))

    def _cache_entry(self, entry: LedgerEntry) -> None:
        if self._entries is not None:
            self._entries = index_in_sending_order({**self._entries, entry.key: entry}.values())

    def _pack_ledger_arguments(
        self, act: str, entry: LedgerEntry, allowed_statuses: str, lease_ms: int
    ) -> dict[str, Argument]:
        """The arguments with which ``append.lua`` stores a ledger entry, if the stored one has an allowed status, and
        sets how long the lease lasts.
        """
        status, row = entry.status.value, pack_ledger_entry(entry)
        entry_arguments: dict[str, Argument] = {
            "key": entry.key,
            "allowed": allowed_statuses,
            "status": status,
            "entry": row,
        }
        return {"write": act, **entry_arguments, "ms": lease_ms, "member": self._scripts.member, "heeded": 1}

    async def get_stop_state(self) -> ports.StopState:
        if self._is_halted():
            raise ports.HandedOver(self._lease.session_id)
        if self._scripts.last_stop_state is None or self._heartbeat is None or self._heartbeat.may_have_signal():
            return await self.append(())
        stop_state, seen_at = self._scripts.last_stop_state
        return stop_state._replace(now=stop_state.now + timedelta(seconds=monotonic() - seen_at))

    async def await_signal(self) -> None:
        if self._heartbeat is None:
            await asyncio.sleep(_SIGNAL_POLL_SECONDS)
        else:
            await self._heartbeat.await_signal()

    async def append(
        self, entries: Sequence[ports.JournalEntry], events: Sequence[TaskEvent] = (), record: TaskRecord | None = None
    ) -> ports.StopState:
        stop_state, _ = await self._scripts.append(ports.JournalBatch(tuple(entries), tuple(events), record))
        return stop_state

    async def finish(self, end: ports.TurnEnd) -> None:
        days_to_settle: Sequence[ports.DayCharges] = ()
        if self._is_cluster:  # the tenant's day lies in another slot, and hears of it afterwards
            days_to_settle, end = end.charges, end._replace(charges=())
        if self._heartbeat is None:
            await self._scripts.finish(end, release=False)
        else:
            with self._heartbeat.allow_release():
                self._heartbeat.released = await self._scripts.finish(end, release=True)
        self._session = None
        try:
            for day, charges in days_to_settle:
                await settle_day_charges(self._redis, self._lease.tenant, day, charges)
        except StoreUnavailable as error:  # the turn itself is stored
            log.warning("spending_not_counted", task=end.record.task_id, error=str(error))


_MOST_CLOCK_DIFFERENCE = timedelta(seconds=2)  # between the gateways' and the store's


class WriteRefusal(NamedTuple):
    """Why a write must not be sent although its intent is stored: the entry to settle it with, and what to raise."""

    entry: LedgerEntry
    error: Exception


class StoredIntents:
    """The intents (writes that are stored before they are sent) that this process has stored for one turn. It checks
    whether a failover may have lost some (I3).

    Replicas confirm an intent before its request is sent. Where no replica is asked to, a turn that is older than a
    failover takes a write for possibly sent, unless this process alone has worked on the turn.
    """

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

    def require_visible_failovers(self) -> None:
        """Raises ``StoreUnavailable`` while a failover of Redis could go unnoticed: then no intent may be stored."""
        if problem := self._lineage.failover_risk:
            raise StoreUnavailable(str(problem))

    def find_refusal(
        self, entry: LedgerEntry, was_shown_before: Callable[[], bool], *, is_confirmed: bool
    ) -> WriteRefusal | None:
        """Why the write of a stored intent must not be sent; None if it may.

        ``is_confirmed``: whether enough replicas have confirmed the intent.
        """
        if problem := self._lineage.failover_risk:
            return _build_unsent_refusal(entry, str(problem))
        if self.may_have_been_sent(entry, was_shown_before):
            return WriteRefusal(_mark_possibly_sent(entry), _build_failover_conflict(entry))
        if not is_confirmed:
            return _build_unsent_refusal(
                entry, f"the intent of {entry.call.call_id} was not confirmed by enough replicas"
            )
        return None

    def add_stored_intent(self, entry: LedgerEntry) -> None:
        self._opened.add(entry.key)

    def may_have_been_sent(self, entry: LedgerEntry, was_shown_before: Callable[[], bool]) -> bool:
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
        may_be_lost_by_crash = self._may_have_lost_intents_at(self._lineage.crashed_at, self._began_after)
        may_be_lost_with_earlier_plan = entry.is_replanned and self._is_task_older_than_a_loss
        if (may_be_lost_by_crash or may_be_lost_with_earlier_plan) and was_shown_before():
            return True
        return not self.replicas_to_confirm and self._may_have_lost_intents_at(
            self._lineage.failed_over_at, self._began_under
        )

    def _may_have_lost_intents_at(self, moment: datetime | None, known_at_begin: datetime | None) -> bool:
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


def _build_failover_conflict(entry: LedgerEntry) -> LedgerConflict:
    """The error for a write that another process may have sent before Redis failed over."""
    return LedgerConflict(f"{entry.call.call_id} may have been sent before Redis failed over")


def _mark_possibly_sent(entry: LedgerEntry) -> LedgerEntry:
    """The entry as of a write that may have been sent: ``SENDING``, and the record's state before it unknown."""
    note = "Redis failed over, crashed or was restored since the task was accepted: it may have been sent before"
    return entry.model_copy(update={"status": WriteStatus.SENDING, "before_json": None, "note": note})


def _build_unsent_refusal(entry: LedgerEntry, note: str) -> WriteRefusal:
    return WriteRefusal(entry.model_copy(update={"status": WriteStatus.UNSENT, "note": note}), StoreUnavailable(note))
