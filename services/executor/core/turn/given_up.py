"""Builds the ends of turns that are not run: given up after too many attempts, or unreadable."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

import structlog

from services.executor.core.reflect.outcome import (
    append_writes_to_answer,
    build_outcome_of_record,
    describe_ledger_for_clients,
)
from services.executor.core.session import ledger
from services.executor.core.session.context import get_session_for_task, is_practice, starts_assessment
from services.executor.core.session.journal import restore_latest_progress
from services.executor.ports.turns import (
    MOST_TURN_IDS,
    SessionState,
    SessionUnavailable,
    TurnEnd,
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

    None, to leave it unchanged, if there are none (an empty state if an assessment starts), or it cannot be read.
    """
    calls, ruled_tools = await _read_calls_and_ruled_tools(record, store, entries)
    if not (calls and ruled_tools):
        return SessionState() if starts_assessment(record) else None
    try:
        session = get_session_for_task(await store.read_session(), record)
    except SessionUnavailable:  # put off until the archive is back
        raise
    except (StoreUnavailable, ValueError) as error:
        log.warning("memory_not_read", task=record.task_id, error=repr(error))
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
        log.warning("progress_not_read", task=record.task_id, error=repr(error))
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
