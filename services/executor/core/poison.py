"""The end of a turn that was begun too often without ever ending."""

from services.executor.ports import TurnEnd, TurnStore, Work
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskRecord
from shared.domain.words import Strategy, TaskState, WriteStatus

_OPEN = (WriteStatus.SENDING, WriteStatus.IN_DOUBT)


async def give_up(work: Work, store: TurnStore, attempts: int) -> TurnEnd:
    """The task ends ``failed``; its reason names the attempts and every write whose fate is not known."""
    ledger = await store.ledger()
    writes = {status.value: 0 for status in WriteStatus}
    for entry in ledger.values():
        writes[entry.status.value] += 1
    doubtful = [entry.call.tool for entry in ledger.values() if entry.status in _OPEN]
    reason = f"The worker stopped {attempts} times while carrying out this turn; it is not tried again."
    if doubtful:
        reason += f" In doubt, to be checked by a person: {', '.join(doubtful)}."
    now = (await store.pulse()).now
    update = {"state": TaskState.FAILED, "reason": reason, "answer": reason, "updated_at": now}
    record = work.record.model_copy(update=update)
    return TurnEnd(record=record, session=await store.session(), outcome=_outcome(record, reason, writes))


def _outcome(record: TaskRecord, reason: str, writes: dict[str, int]) -> TaskOutcome:
    started = record.started_at or record.accepted_at
    return TaskOutcome(
        event_id=f"{record.task_id}:1",
        tenant=record.tenant,
        session_id=record.session_id,
        task_id=record.task_id,
        state=record.state,
        process_type=str(record.metadata.get("process_type", "general")),
        strategy=Strategy(str(record.metadata.get("strategy", Strategy.FSM.value))),
        quality=0.0,
        summary=reason,
        tool_calls=0,
        model_calls=0,
        writes={status: count for status, count in writes.items() if count},
        policy_passed=None,
        reason=reason,
        duration_ms=int((record.updated_at - started).total_seconds() * 1000),
        ended_at=record.updated_at,
    )
