"""The end of a turn that was begun too often without ever ending."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from services.executor.core.dry_run import is_dry_run
from services.executor.core.reflect.answer import final_answer
from services.executor.core.reflect.outcome import told_writes
from services.executor.ports import TurnEnd, TurnStore, Work
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskRecord
from shared.domain.marks import marked
from shared.domain.redaction import redacted
from shared.domain.words import Strategy, TaskState, WriteStatus

_OPEN = (WriteStatus.SENDING, WriteStatus.DENIED, WriteStatus.RESEND, WriteStatus.ABSENT, WriteStatus.IN_DOUBT)
_MADE = (WriteStatus.SENT, WriteStatus.VERIFIED, WriteStatus.UNVERIFIED)
_SILENT = "No attempt could say why: the process that ran it ended."


async def give_up(work: Work, store: TurnStore, attempts: int) -> TurnEnd:
    """The task ends ``failed``; its reason and its report name every write that was made or whose fate is not known."""
    entries = tuple((await store.ledger()).values())
    reason = f"The worker stopped {attempts} times while carrying out this turn; it is not tried again."
    reason += _named("Carried out before", entries, _MADE)
    reason += _named("In doubt, to be checked by a person", entries, _OPEN)
    update = {
        "state": TaskState.FAILED,
        "reason": reason,
        "answer": final_answer(reason, entries),
        "metadata": {**work.record.metadata, "writes": told_writes(entries)},
        "updated_at": (await store.pulse()).now,
    }
    record = work.record.model_copy(update=update)
    return TurnEnd(record=record, session=await store.session(), outcome=await known_outcome(record, store))


def _named(heading: str, entries: Iterable[LedgerEntry], statuses: Collection[WriteStatus]) -> str:
    tools = ", ".join(entry.call.tool for entry in entries if entry.status in statuses)
    return f" {heading}: {tools}." if tools else ""


def letter(work: Work, ended: TaskRecord, attempts: int) -> DeadTurn:
    """What an operator is told of the turn, and all that is needed to begin its task anew."""
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
        last_error=work.last_error or _SILENT,
        died_at=ended.updated_at,
        writes=tuple(_begun(ended)),
    )


def _begun(ended: TaskRecord) -> Iterator[str]:
    told = ended.metadata.get("writes")
    for write in told if isinstance(told, list) else ():
        if isinstance(write, dict) and write.get("status") in (*_MADE, *_OPEN):
            yield f"{write.get('tool')} {json.dumps(write.get('arguments'))}: {write.get('status')}"


async def known_outcome(record: TaskRecord, store: TurnStore) -> TaskOutcome:
    """The outcome of an ended task, from what is stored of it."""
    ledger, hidden = await store.ledger(), marked(record.request.text)
    started = record.started_at or record.accepted_at
    return TaskOutcome(
        event_id=f"{record.task_id}:1",
        tenant=record.tenant,
        session_id=record.session_id,
        task_id=record.task_id,
        state=record.state,
        process_type=str(record.metadata.get("process_type") or "general"),
        strategy=Strategy(str(record.metadata.get("strategy") or Strategy.FSM.value)),
        strategy_applied=record.state is not TaskState.CANCELED and not is_dry_run(record),
        dry_run=is_dry_run(record),
        quality=_quality(record),
        summary=redacted(record.reason or record.request.text, hidden)[:200],
        tool_calls=0,
        model_calls=0,
        writes=dict(Counter(entry.status.value for entry in ledger.values())),
        policy_passed=None,
        reason=None if record.reason is None else redacted(record.reason, hidden),
        duration_ms=max(0, int((record.updated_at - started).total_seconds() * 1000)),
        ended_at=record.updated_at,
    )


def _quality(record: TaskRecord) -> float:
    """As it was measured, where the task was completed."""
    measured = record.metadata.get("quality") if record.state is TaskState.COMPLETED else None
    return float(measured) if isinstance(measured, (int, float)) else 0.0
