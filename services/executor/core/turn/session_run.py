"""Runs a claimed session's turns one by one while its lease lasts. Each turn is run, skipped or given up, for which its
end is built here: after too many attempts, or because it is unreadable.
"""

import asyncio
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import structlog

from services.executor.core.reflect.outcome import (
    append_writes_to_answer,
    build_outcome_of_record,
    describe_ledger_for_clients,
)
from services.executor.core.session import ledger
from services.executor.core.session.context import (
    get_session_for_task,
    is_practice,
    run_with_companion,
    starts_assessment,
)
from services.executor.core.session.journal import (
    Journal,
    RepairedFaultCounter,
    count_ended_task,
    restore_latest_progress,
)
from services.executor.core.states.machine import TenantStopped
from services.executor.core.turn.heartbeat import KeptLease, LeaseKeeper
from services.executor.core.write.settling import settle_without_reading
from services.executor.ports.turns import (
    MOST_TURN_IDS,
    HandedOver,
    Lease,
    LeaseLost,
    RepairedFault,
    Sessions,
    SessionState,
    SessionUnavailable,
    SessionWakes,
    TurnEnd,
    TurnRunner,
    TurnStore,
    TurnWork,
    UnreadableTurn,
    UnreadableTurnEnd,
)
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import TaskOutcome
from shared.contracts.policy import PastCall
from shared.contracts.task import Principal, TaskEvent, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.exact_json import dumps, loads_object
from shared.domain.protected_values import find_protected_values
from shared.domain.redaction import redact_json
from shared.domain.words import DONE_STATUSES, UNDECIDED_STATUSES, A2aVersion, TaskState, WriteStatus
from shared.ports.meter import Meter, NoMeter
from shared.ports.store import StoreUnavailable

_UNKNOWN_ERROR_TEXT = "No attempt could say why: the process that ran it ended."
log = structlog.get_logger()


async def build_given_up_end(work: TurnWork, store: TurnStore, attempts: int) -> TurnEnd:
    """The end of a turn that is given up: its task fails, or waits for an operator while a write is in doubt."""
    entries, now = await ledger.list_writes(store), (await store.get_stop_state()).now
    doubts = ledger.list_open_doubts(entries)
    waits = bool(doubts) and not is_practice(work.record) and _may_operator_decide(work.turn, entries, now)
    times = "once" if attempts == 1 else f"{attempts} times"
    reason = f"The worker stopped {times} while carrying out this turn; it is not tried again."
    reason += _format_tools_sentence("Carried out before", entries, DONE_STATUSES)
    reason += _format_tools_sentence("In doubt, to be checked by a person", entries, UNDECIDED_STATUSES)
    is_for_a_person = any(entry.status in UNDECIDED_STATUSES for entry in entries)
    update = {
        "state": TaskState.INPUT_REQUIRED if waits else TaskState.FAILED,
        "reason": reason,
        "answer": append_writes_to_answer(
            f"{reason}\n\n{ledger.write_operator_brief(doubts)}" if waits else reason, entries
        ),
        "metadata": {**work.record.metadata, **describe_ledger_for_clients(entries), "escalated": is_for_a_person},
        "updated_at": now,
        "turns_done": work.turns_done,
    }
    record = work.record.model_copy(update=update)
    return TurnEnd(
        record=record,
        session=await _build_session_with_calls(record, store, entries, has_task_ended=not waits),
        events=(_build_status_event(record),),
        timer=ledger.build_doubts_timer(doubts) if waits else None,
        outcome=None if waits else await build_outcome_from_store(record, store),
        letter=None if waits else build_dead_letter(work, record, attempts),
    )


async def _build_session_with_calls(
    record: TaskRecord, store: TurnStore, entries: Sequence[LedgerEntry], *, has_task_ended: bool
) -> SessionState | None:
    """The session's state with the task's calls of tools in rules added (all writes if the rules cannot be read).

    None leaves the stored state as it is: nothing is to be added, or it is unreadable. Empty if an assessment starts.
    """
    calls, ruled_tools = await _read_calls_and_ruled_tools(record, store, entries)
    if not (calls and ruled_tools):
        return SessionState() if starts_assessment(record) else None
    try:
        session = get_session_for_task(await store.read_session(), record)
    except SessionUnavailable:  # put off until the archive is back
        raise
    except (StoreUnavailable, ValueError) as error:
        log.warning("session_state_not_updated", task=record.task_id, error=repr(error))
        return None
    return session._replace(
        calls=ledger.select_calls_to_remember(
            session.calls, calls, ruled_tools, record.task_id, has_ended=has_task_ended
        )
    )


async def _read_calls_and_ruled_tools(
    record: TaskRecord, store: TurnStore, entries: Sequence[LedgerEntry]
) -> tuple[tuple[PastCall, ...], tuple[str, ...]]:
    """The task's calls, and the names and name patterns of tools in rules: ``*`` if those cannot be read."""
    try:
        progress = restore_latest_progress(await store.read_journal())
    except ValueError as error:
        log.warning("task_progress_unreadable", task=record.task_id, error=repr(error))
        return ledger.list_past_calls_of_writes(entries), ("*",)
    if progress is None:
        return ledger.list_past_calls_of_writes(entries), ()
    return (
        *ledger.list_past_calls_of_facts(progress.dossier.facts),
        *ledger.list_past_calls_of_writes(entries),
    ), progress.ruled_tools


def _may_operator_decide(turn: Turn, entries: Sequence[LedgerEntry], now: datetime) -> bool:
    """Whether an operator may still decide: the turn is no cancel or deadline, nobody took over, time is left."""
    if turn.kind in (TurnKind.CANCEL, TurnKind.DEADLINE) or ledger.find_write_taken_over(entries) is not None:
        return False
    return all(entry.decide_by is not None and now < entry.decide_by for entry in ledger.list_open_doubts(entries))


def _build_status_event(record: TaskRecord) -> TaskEvent:
    data = redact_json(
        {"state": record.state.value, "reason": record.reason}, find_protected_values(record.request.text)
    )
    return TaskEvent(kind="status", at=record.updated_at, data=data)


def _format_tools_sentence(heading: str, entries: Iterable[LedgerEntry], statuses: Collection[WriteStatus]) -> str:
    tools = ", ".join(entry.call.tool for entry in entries if entry.status in statuses)
    return f" {heading}: {tools}." if tools else ""


def build_dead_letter(work: TurnWork, ended: TaskRecord, attempts: int) -> DeadTurn:
    """The dead letter of a turn: what an operator needs to know, and to start its task again."""
    record = work.record
    return DeadTurn(
        tenant=record.tenant,
        session_id=record.session_id,
        task_id=record.task_id,
        turn=work.turn,
        dialect=record.dialect,
        requester=record.requester,
        request=record.request,
        attempts=attempts,
        reason=str(ended.reason),
        last_error=work.last_error or _UNKNOWN_ERROR_TEXT,
        died_at=ended.updated_at,
        writes=tuple(_list_begun_writes(ended)),
    )


def _list_begun_writes(ended: TaskRecord) -> Iterator[str]:
    writes = ended.metadata.get("writes")
    for write in writes if isinstance(writes, list) else ():
        if isinstance(write, dict) and write.get("status") in (*DONE_STATUSES, *UNDECIDED_STATUSES):
            yield f"{write.get('tool')} {json.dumps(write.get('arguments'))}: {write.get('status')}"


async def build_outcome_from_store(record: TaskRecord, store: TurnStore) -> TaskOutcome:
    """The outcome of an ended task, from its stored record and ledger."""
    is_applied = record.state is not TaskState.CANCELED and not record.request.is_dry_run
    writes = await ledger.list_writes(store)
    return build_outcome_of_record(record, writes, find_protected_values(record.request.text), is_applied=is_applied)


_UNKNOWN_PRINCIPAL = Principal(id="unknown")
_UNREADABLE_REASON = "The stored turn, or its task's record, cannot be read; it is not tried again."
_UNKNOWN_WRITES = ("unknown: its record cannot be read",)  # they cannot be excluded: nobody begins it anew by mistake


def build_unreadable_turn_end(unread: UnreadableTurn, tenant: str, session_id: str) -> UnreadableTurnEnd:
    """The end of a turn that could not be parsed. Its task fails."""
    turn = unread.turn or Turn(
        turn_id=unread.turn_id,
        task_id=unread.task_id,
        kind=TurnKind.MESSAGE,
        principal=_UNKNOWN_PRINCIPAL,
        received_at=unread.now,
    )
    record = TaskRecord(
        tenant=tenant,
        task_id=unread.task_id,
        session_id=session_id,
        dialect=A2aVersion.A2A_1_0,
        requester=turn.principal,
        request=TaskRequest(text=turn.text),
        accepted_at=turn.received_at,
        updated_at=unread.now,
        state=TaskState.FAILED,
        reason=_UNREADABLE_REASON,
        answer=_UNREADABLE_REASON,
    )
    details = {"turn_id": unread.turn_id, "state": TaskState.FAILED.value}
    events = (_build_status_event(record), TaskEvent(kind="turn_finished", at=unread.now, data=details))
    letter = build_dead_letter(TurnWork(turn, record, unread.attempts, last_error=str(unread)), record, unread.attempts)
    outcome = build_outcome_of_record(record, (), find_protected_values(turn.text), is_applied=False)
    ended = _build_ended_record_json(unread.record, record, turn.turn_id)
    return UnreadableTurnEnd(letter.model_copy(update={"writes": _UNKNOWN_WRITES}), outcome, ended, events)


def _build_ended_record_json(stored: str, least: TaskRecord, turn_id: str) -> str:
    """The stored record in its ended state, as JSON, with the fields that this release does not know.

    Missing fields come from the ``least`` record; so do all if the stored one is not a JSON object.
    """
    least_fields = loads_object(least.stored_json())
    try:
        stored_fields = loads_object(stored)
    except ValueError:
        stored_fields = {}
    turns_before = stored_fields.get("turns_done")
    turns_done = [*(turns_before if isinstance(turns_before, list) else ()), turn_id][-MOST_TURN_IDS:]
    end_fields = {name: least_fields[name] for name in ("state", "reason", "answer", "updated_at")}
    return dumps({**least_fields, **stored_fields, **end_fields, "turns_done": [*turns_done]})


_STOPPED_PAUSE_SECONDS = 5.0  # then a claim asks again whether the tenant is stopped, in case it was resumed in between
_SETTLE_OPEN_WRITES_SECONDS = 60.0  # for reading what the open writes of a turn came to that is given up


class RunnerLimits(NamedTuple):
    """The runner's limits. ``capacity``: sessions at once. ``attempts``: how often a turn may be begun.

    An attempt does not count if a stopping process handed the turn over, or, for ``session_seconds`` after the turn's
    acceptance, if the session's state could not be fetched.
    """

    lease_seconds: float = 5.0
    capacity: int = 500
    attempts: int = 5
    retry_seconds: float = 1.0
    retry_seconds_most: float = 30.0
    session_seconds: float = 3600.0


class SessionRunDependencies(NamedTuple):
    """What every session run uses."""

    sessions: Sessions
    wakes: SessionWakes
    worker: TurnRunner
    limits: RunnerLimits
    fault_counts: RepairedFaultCounter
    meter: Meter = NoMeter()  # it has no state


class SessionRun:
    """Runs one session's turns under one lease. ``is_leaving``: the session is being released."""

    def __init__(
        self, parts: SessionRunDependencies, lease: Lease, leases: LeaseKeeper, stopping: asyncio.Event
    ) -> None:
        self._parts = parts
        self._sessions = parts.sessions
        self._limits = parts.limits
        self._lease = lease
        self._leases = leases
        self._stopping = stopping
        self._heartbeat = KeptLease(leases, lease)
        self.is_leaving = False

    async def run(self) -> None:
        """Runs turns until none waits, the lease is lost, or an error comes; then releases the session if possible."""
        try:
            await run_with_companion(self._run_turns(), self._leases.keep_until_lost(self._heartbeat))
        except asyncio.CancelledError:
            await self._release(0.0, handed_over=True)
            raise
        except LeaseLost:
            self._parts.fault_counts.add(RepairedFault.NOT_OWNED, session=self._lease.session_id)
        except StoreUnavailable as error:
            log.warning("session_interrupted", session=self._lease.session_id, error=str(error))
        except Exception as error:  # the outer edge of a session: one that cannot be read must not stop the others
            log.exception("session_failed", session=self._lease.session_id, error=repr(error))
            await self._release(self._limits.retry_seconds_most, error=error)

    async def _run_turns(self) -> None:
        """Runs turns one after the other, until none waits or the session was released."""
        has_more = True
        while has_more and not self._heartbeat.released:
            if self._stopping.is_set():
                await self._release(0.0, handed_over=True)
                return
            try:
                with self._heartbeat.allow_release():
                    work = await self._sessions.begin_next_turn(self._lease)
                    self._heartbeat.released = work is None
                has_more = work is not None and await self._run_turn(work)
            except UnreadableTurn as unread:
                has_more = await self._give_up_unreadable_turn(unread)

    async def _run_turn(self, work: TurnWork) -> bool:
        """Runs one turn; False if the session was released for a later attempt."""
        lease = self._lease
        try:
            await run_or_end_turn(self._parts, lease, work, self._sessions.turn_store(lease, work, self._heartbeat))
        except (LeaseLost, asyncio.CancelledError):
            raise
        except TenantStopped as stopped:
            log.info("session_paused", session=lease.session_id, reason=str(stopped))
            await self._release(_STOPPED_PAUSE_SECONDS, handed_over=True)
            return False
        except HandedOver:
            await self._release(0.0, handed_over=True)
            return False
        except SessionUnavailable as error:
            await self._postpone_turn(work, error)
            return False
        except Exception as error:  # the outer edge of a turn: whatever it was, the turn is tried again
            log.exception("turn_failed", turn=work.turn.turn_id, attempts=work.attempts, error=repr(error))
            await self._release(self._compute_retry_pause(work.attempts), error=error)
            return False
        return True

    async def _give_up_unreadable_turn(self, unread: UnreadableTurn) -> bool:
        """Gives up an unreadable turn; False if it was begun too few times for that, and is left to newer releases."""
        if unread.attempts <= self._limits.attempts:
            log.warning("turn_unreadable", turn=unread.turn_id, attempts=unread.attempts, error=str(unread))
            await self._release(self._compute_retry_pause(unread.attempts), error=unread)
            return False
        log.error("turn_given_up", turn=unread.turn_id, attempts=unread.attempts, last_error=str(unread))
        end = build_unreadable_turn_end(unread, self._lease.tenant, self._lease.session_id)
        await self._sessions.fail_unreadable_turn(self._lease, end)
        count_ended_task(self._parts.meter, end.outcome, "worker")
        return True

    async def _postpone_turn(self, work: TurnWork, error: SessionUnavailable) -> None:
        """Releases a session whose state could not be read. Within ``session_seconds`` this attempt does not count."""
        waited = work.waited_us / 1_000_000
        log.warning("turn_postponed", session=self._lease.session_id, waited_seconds=round(waited), error=str(error))
        if waited > self._limits.session_seconds:
            return await self._release(self._compute_retry_pause(work.attempts), error=error)
        pause = min(max(self._limits.retry_seconds, waited / 4), self._limits.retry_seconds_most)
        return await self._release(pause, handed_over=True, error=error)

    def _compute_retry_pause(self, attempts: int) -> float:
        return float(min(self._limits.retry_seconds * 2 ** (attempts - 1), self._limits.retry_seconds_most))

    async def _release(self, retry_in: float, *, handed_over: bool = False, error: Exception | None = None) -> None:
        """Releases the lease.

        If that fails, the lease expires and the reaper finds the session. ``retry_in``: seconds until the turn is tried
        again; ``handed_over``: the attempt does not count.
        """
        lease, error_text = self._lease, f"{type(error).__name__}: {error}" if error else ""
        self.is_leaving = True
        try:
            with self._heartbeat.allow_release():
                await self._sessions.abandon(lease, retry_in, handed_over=handed_over, error=error_text)
                if not retry_in:
                    await self._parts.wakes.wake_ahead(lease.tenant, lease.session_id)
        except (LeaseLost, StoreUnavailable) as failure:
            log.warning("session_not_released", session=lease.session_id, error=str(failure))


async def run_or_end_turn(parts: SessionRunDependencies, lease: Lease, work: TurnWork, store: TurnStore) -> None:
    """Runs one attempt at a turn; ends it without running if its task has ended, or it was begun too often."""
    log_fields = {"tenant": lease.tenant, "session": lease.session_id, "task": work.record.task_id}
    with structlog.contextvars.bound_contextvars(**log_fields, turn=work.turn.turn_id):
        if work.record.state.is_terminal:
            await _skip_turn(parts, lease, work, store)
        elif work.attempts > parts.limits.attempts:
            await _give_up_turn(parts, work, store)
        else:
            await parts.worker.run(work, store)


async def _skip_turn(parts: SessionRunDependencies, lease: Lease, work: TurnWork, store: TurnStore) -> None:
    """Ends a turn that came too late. The task stays as it is; a missing outcome is sent to the learner."""
    outcome = await build_outcome_from_store(work.record, store) if work.lacks_outcome else None
    await store.finish(TurnEnd(record=work.record, session=None, outcome=outcome))
    if outcome is not None:
        parts.fault_counts.add(RepairedFault.OUTCOME_MISSING, session=lease.session_id, task=work.record.task_id)


async def _give_up_turn(parts: SessionRunDependencies, work: TurnWork, store: TurnStore) -> None:
    """Ends a turn that was begun too often: its task waits if a write is in doubt, or fails, with a dead letter."""
    attempts = parts.limits.attempts
    log.error("turn_given_up", turn=work.turn.turn_id, attempts=attempts, last_error=work.last_error)
    await settle_open_writes_unread(work, store, await _settle_by_reading_or_explain(parts, work, store))
    end = await build_given_up_end(work, store, attempts)
    await store.finish(end)
    if end.outcome is not None:
        count_ended_task(parts.meter, end.outcome, "worker")


async def _settle_by_reading_or_explain(parts: SessionRunDependencies, work: TurnWork, store: TurnStore) -> str:
    """Tries once to settle the open writes by reading; returns the reason to give for those that are still open."""
    if work.attempts > parts.limits.attempts + 1:
        return "whoever tried ended before it was done"
    try:
        async with asyncio.timeout(_SETTLE_OPEN_WRITES_SECONDS):
            await parts.worker.settle_open_writes(work, store)
    except (LeaseLost, HandedOver, StoreUnavailable):
        raise
    except Exception as error:  # the outer edge of a turn: whatever it was, the turn is given up all the same
        log.exception("open_writes_not_settled", turn=work.turn.turn_id, error=repr(error))
        return f"{type(error).__name__}: {error}"
    return "nobody could read"


async def settle_open_writes_unread(work: TurnWork, store: TurnStore, reason: str) -> None:
    """Settles the open writes of a task that cannot be read, as unverified or in doubt."""
    journal = Journal(store, (), (await store.get_stop_state()).now, 0.0)
    journal.redact_from_now_on(find_protected_values(work.record.request.text))
    await settle_without_reading(store, journal, reason)
