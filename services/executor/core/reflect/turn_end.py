"""The last step of a turn: everything it leaves behind, as one value to be stored at once."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from services.executor.core.dry_run import KEY, artifacts, is_dry_run
from services.executor.core.past_calls import of_facts, of_writes, remembered
from services.executor.core.reflect.answer import final_answer
from services.executor.core.reflect.outcome import Ended, metadata, outcome
from services.executor.ports.sessions import Work
from services.executor.ports.turns import SessionState, Timer, TurnEnd
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.task import HistoryMessage, TaskEvent, TaskRecord, Turn, TurnKind
from shared.domain.marks import MarkKind
from shared.domain.redaction import NOTHING, without_marks

# What a session of any length keeps between its turns; see also the bounds of its calls.
TURNS_KEPT = 20
_TEXT_KEPT = 4_000  # characters of one text that a later turn is reminded of
_CORRECTIONS_KEPT = 200
_HISTORY_KEPT = 100  # messages of one task


def turn_end(
    work: Work,
    ended: Ended,
    session: SessionState,
    approval: Approval | None,
    events: Sequence[TaskEvent],
    now: datetime,
    hidden: Mapping[str, MarkKind] = NOTHING,
) -> TurnEnd:
    """The end of a turn whose task ended, or waits for a person. Its event and outcome hold none of ``hidden``."""
    answer = final_answer(ended.answer, ended.writes)
    record = _record(work, ended, answer, approval.approval_id if approval else None, now)
    told = without_marks({"state": record.state.value, "reason": record.reason}, hidden)
    status = TaskEvent(kind="status", at=now, data=told)
    waits = approval is not None and approval.status is ApprovalStatus.WAITING
    return TurnEnd(
        record=record,
        session=_remembered(_called(_corrected(session, ended), ended, work), work.turn, answer),
        events=(*events, status),
        approval=approval,
        timer=Timer(approval.deadline, approval.approval_id) if approval is not None and waits else ended.timer,
        outcome=outcome(record, ended, now, hidden) if record.state.is_terminal else None,
    )


def nothing_new(work: Work, session: SessionState, now: datetime) -> TurnEnd:
    """The end of a turn that came too late to matter: the task is as it was."""
    done = (*work.record.turns_done, work.turn.turn_id)[-TURNS_KEPT:]
    return TurnEnd(record=work.record.model_copy(update={"updated_at": now, "turns_done": done}), session=session)


def _record(work: Work, ended: Ended, answer: str, approval_id: str | None, now: datetime) -> TaskRecord:
    said = work.turn.kind is TurnKind.MESSAGE or work.turn.kind is TurnKind.DECISION
    spoken = (_message("user", _words(work.turn), work.turn.turn_id, work.turn.received_at),) if said else ()
    return work.record.model_copy(
        update={
            "state": ended.state,
            "reason": ended.reason,
            "answer": answer,
            "metadata": {**work.record.metadata, **metadata(ended), **_dry(work.record), "approval_id": approval_id},
            "artifacts": (*work.record.artifacts, *artifacts(work.record, ended.progress)),
            "history": (
                *work.record.history,
                *spoken,
                _message("agent", answer, f"{work.turn.turn_id}:answer", now),
            )[-_HISTORY_KEPT:],
            "started_at": work.record.started_at or now,
            "updated_at": now,
            "turns_done": (*work.record.turns_done, work.turn.turn_id)[-TURNS_KEPT:],
        }
    )


def _remembered(session: SessionState, turn: Turn, answer: str) -> SessionState:
    if turn.kind not in (TurnKind.MESSAGE, TurnKind.DECISION):
        return session
    said = (("user", _words(turn)[:_TEXT_KEPT]), ("agent", answer[:_TEXT_KEPT]))
    return session._replace(turns=(*session.turns, *said)[-TURNS_KEPT:])


def _corrected(session: SessionState, ended: Ended) -> SessionState:
    """With what the task learned of renamed columns; the oldest are forgotten."""
    learned = ended.progress.corrections if ended.progress else {}
    older = {old: new for old, new in session.corrections.items() if old not in learned}
    return session._replace(corrections=dict([*older.items(), *learned.items()][-_CORRECTIONS_KEPT:]))


def _dry(record: TaskRecord) -> dict[str, JsonValue]:
    return {KEY: True} if is_dry_run(record) else {}


def _called(session: SessionState, ended: Ended, work: Work) -> SessionState:
    """With the task's calls that rules about tools will ask for again; also while it waits, beside other tasks."""
    progress, task_id = ended.progress, work.record.task_id
    if progress is None or not progress.ruled_tools:
        return session
    made = (*of_facts(progress.dossier.facts), *of_writes(ended.writes))
    names = progress.ruled_tools
    return session._replace(calls=remembered(session.calls, made, names, task_id, ended=ended.state.is_terminal))


def _words(turn: Turn) -> str:
    return turn.text or str(turn.data.get("decision", ""))


def _message(role: str, text: str, message_id: str, at: datetime) -> HistoryMessage:
    return HistoryMessage(role=role, text=text, message_id=message_id, at=at)
