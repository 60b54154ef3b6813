"""The last step of a turn: everything it leaves behind, with the answer as the client gets it, stored at once."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from services.executor.core.plan.outcomes import parts_not_done
from services.executor.core.reflect.documents import DocumentAbout, Material, document
from services.executor.core.reflect.outcome import FinishedRun, metadata, outcome, run_of
from services.executor.core.reflect.quality import evidence
from services.executor.core.session.budget import BudgetSpent, Partial
from services.executor.core.session.context import AnswerRules
from services.executor.core.session.dossier import KEY, Dossier, Progress, artifacts_of_dry_run, is_dry_run
from services.executor.core.session.ledger import past_calls_of_facts, past_calls_of_writes, remember_calls
from services.executor.core.session.values import parts_to_do
from services.executor.core.states.machine import NOTHING_WRITTEN, Failed, RunEnds, ends_rest
from services.executor.ports.sessions import Work
from services.executor.ports.turns import SessionState, Timer, TurnEnd
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import Verdict
from shared.contracts.task import Artifact, HistoryMessage, TaskEvent, TaskRecord, Turn, TurnKind
from shared.domain.answer import is_exact_match
from shared.domain.conversation import KEPT, SpokenTurn, concatenate_turns
from shared.domain.marks import MarkKind
from shared.domain.quality import Score, quality
from shared.domain.redaction import NOTHING, without_marks
from shared.domain.words import DONE, UNDECIDED, TaskState, WriteStatus

_SAID: dict[WriteStatus, str] = {
    WriteStatus.SENDING: "in doubt",
    WriteStatus.SENT: "sent",
    WriteStatus.DENIED: "refused, and not checked",
    WriteStatus.VERIFIED: "verified",
    WriteStatus.UNVERIFIED: "unverified",
    WriteStatus.REFUSED: "failed",
    WriteStatus.UNSENT: "not sent",
    WriteStatus.ABSENT: "not applied as far as a read can show, and not repeated",
    WriteStatus.IN_DOUBT: "in doubt, and not repeated",
    WriteStatus.RESEND: "not sent again",
    WriteStatus.ASKED: "waiting for an answer to what its agent asks",
    WriteStatus.SKIPPED: "left undone",
}
_FOOTER = re.compile(r"\n\n\[Process: [^\n]*\]\Z")


def final_answer(
    text: str,
    writes: Sequence[LedgerEntry],
    verdict: Verdict | None = None,
    footer: str = "",
    *,
    acts: bool = False,
) -> str:
    """The answer as the client gets it: prose with rules, writes and footer below; an exact match to the byte.

    ``acts``: the task has a part to be done, so that it is said if nothing was written.
    """
    if is_exact_match(text):
        return text
    none = NOTHING_WRITTEN if acts and not writes and NOTHING_WRITTEN not in text else ""
    blocks = [_policy(verdict), _writes(writes) or none, footer]
    said = [block for block in blocks if block]
    return "\n\n".join([text.rstrip(), *said]) if said else text


def without_footer(answer: str) -> str:
    """The answer without its footer, which names a duration that differs from run to run."""
    return _FOOTER.sub("", answer)


def _policy(verdict: Verdict | None) -> str:
    """A line that names the triggered rules, each once; empty if there are none."""
    if verdict is None or not verdict.reasons:
        return ""
    return f"Policy: {'passed' if verdict.passed else 'not passed'}. {'; '.join(verdict.reasons)}"


def _writes(writes: Sequence[LedgerEntry]) -> str:
    told = [f"- {one.call.tool} {one.arguments_json}: {_SAID[one.status]} ({one.note})" for one in writes]
    return "\n".join(["Writes:", *told]) if told else ""


# What a session of any length keeps between its turns; see also the bounds of its calls.
TURNS_KEPT = 20
_TURNS_REMEMBERED = 30
_TEXT_KEPT = 4_000  # characters of one text that a later turn is reminded of
_CORRECTIONS_KEPT = 200
_HISTORY_KEPT = 100  # messages of one task
_RULES = AnswerRules()
_BRIEF = "approval_brief"


def turn_end(
    work: Work,
    ended: FinishedRun,
    session: SessionState,
    approval: Approval | None,
    events: Sequence[TaskEvent],
    now: datetime,
    hidden: Mapping[str, MarkKind] = NOTHING,
    rules: AnswerRules = _RULES,
    over: Approval | None = None,
) -> TurnEnd:
    """The end of a turn whose task ended or waits, telling none of ``hidden``. ``over``: the approval that is not asked
    for any more.
    """
    run = run_of(ended, work.record)
    scored = quality(evidence(run), rules.formula)
    answer = _compose_answer(work.record, ended, now, rules, scored)
    record = _record(work, ended, answer, approval, metadata(ended, run, scored), now)
    record = record.model_copy(update={"artifacts": _artifacts(work.record, ended, approval or over, now)})
    told = without_marks({"state": record.state.value, "reason": record.reason}, hidden)
    status = TaskEvent(kind="status", at=now, data=told)
    waits = approval is not None and approval.status is ApprovalStatus.WAITING
    return TurnEnd(
        record=record,
        session=_remember_turn(_remember_calls(_remember_corrections(session, ended), ended, work), work, answer),
        events=(*events, *_insight(ended, now, hidden), status),
        approval=approval,
        timer=Timer(approval.deadline, approval.timer_subject) if approval is not None and waits else ended.timer,
        outcome=outcome(record, ended, scored, now, hidden) if record.state.is_terminal else None,
    )


def _insight(ended: FinishedRun, now: datetime, hidden: Mapping[str, MarkKind]) -> tuple[TaskEvent, ...]:
    """An event with what the strategy tells of its own course; empty while the task goes on."""
    told = ended.progress.insight if ended.progress and ended.state.is_terminal else {}
    return (TaskEvent(kind="insight", at=now, data=without_marks(told, hidden)),) if told else ()


def unchanged_end(work: Work, session: SessionState, now: datetime) -> TurnEnd:
    """The end of a turn that came too late to matter: it leaves the task as it was."""
    done = (*work.record.turns_done, work.turn.turn_id)[-TURNS_KEPT:]
    return TurnEnd(record=work.record.model_copy(update={"updated_at": now, "turns_done": done}), session=session)


def _compose_answer(record: TaskRecord, ended: FinishedRun, now: datetime, rules: AnswerRules, scored: Score) -> str:
    """The answer with what is said below it: the writes always, rules and footer only for a completed task that is
    neither a dry run nor a solver's, whose caller parses it. A task that was to act and has ended says if it wrote
    nothing.
    """
    is_read_by_people = not is_dry_run(record) and record.request.solver is None
    completed = is_read_by_people and ended.state is TaskState.COMPLETED
    parts = ended.progress.dossier.parts if ended.progress else ()
    acts = is_read_by_people and ended.state in (TaskState.COMPLETED, TaskState.FAILED) and bool(parts_to_do(parts))
    verdict = ended.progress.dossier.verdict if ended.progress else None
    footer = _write_footer(record, ended, now, scored) if rules.footer and completed else ""
    verdict = verdict if completed and not ended.escalated else None
    return final_answer(ended.answer, ended.writes, verdict, footer, acts=acts)


def _write_footer(record: TaskRecord, ended: FinishedRun, now: datetime, scored: Score) -> str:
    """The last line of an answer, which tells of its run, where the operator wants one."""
    verdict = ended.progress.dossier.verdict if ended.progress else None
    process = ended.progress.process_type if ended.progress else "general"
    policy = "N/A" if verdict is None else "PASSED" if verdict.passed else "FAILED"
    took = round((now - record.accepted_at).total_seconds() * 1000)
    return f"[Process: {process} | Policy: {policy} | Quality: {scored.value:.2f} | Duration: {took} ms]"


def _record(
    work: Work, ended: FinishedRun, answer: str, approval: Approval | None, told: Mapping[str, JsonValue], now: datetime
) -> TaskRecord:
    return work.record.model_copy(
        update={
            "state": ended.state,
            "reason": ended.reason,
            "answer": answer,
            "metadata": {
                **work.record.metadata,
                **told,
                **({KEY: True} if is_dry_run(work.record) else {}),
                "approval_id": approval.approval_id if approval else None,
            },
            "history": (
                *work.record.history,
                *spoken_messages(work),
                _message("agent", answer, f"{work.turn.turn_id}:answer", now),
            )[-_HISTORY_KEPT:],
            "later_files": (*work.record.later_files, *work.turn.files),
            "started_at": work.record.started_at or now,
            "updated_at": now,
            "turns_done": (*work.record.turns_done, work.turn.turn_id)[-TURNS_KEPT:],
        }
    )


def spoken_messages(work: Work) -> tuple[HistoryMessage, ...]:
    """The user's message of the turn, unless the history has it already: a task begins with its first message there."""
    turn = work.turn
    if turn.kind not in (TurnKind.MESSAGE, TurnKind.DECISION):
        return ()
    message = _message("user", _words(turn), turn.message_id or turn.turn_id, turn.received_at)
    message = message.model_copy(update={"parts": turn.parts})
    known = {(one.role, one.message_id, one.at) for one in work.record.history}  # a client may use an id again
    return () if (message.role, message.message_id, message.at) in known else (message,)


def _artifacts(
    record: TaskRecord, ended: FinishedRun, approval: Approval | None, now: datetime
) -> tuple[Artifact, ...]:
    """The task's artifacts with those that this turn adds; of one name only the newest stays."""
    added = (*record.artifacts, *artifacts_of_dry_run(record, ended.progress), *ended.documents)
    named = {artifact.name: artifact for artifact in added}
    if approval is not None and ended.progress is not None:  # asked of a person; again, once there is an answer
        material = Material(record.request.text, ended.progress, ended.writes, approval=approval)
        named[_BRIEF] = document(_BRIEF, material, DocumentAbout(record.task_id, now))
    return tuple(named.values())


def _remember_turn(session: SessionState, work: Work, answer: str) -> SessionState:
    """The session with the turn's words and answer; words that are said again are not kept twice."""
    turn = work.turn
    said: tuple[tuple[str, str], ...] = (("agent", answer[:_TEXT_KEPT]),)
    if turn.kind in (TurnKind.MESSAGE, TurnKind.DECISION):
        words = _words(turn)[:_TEXT_KEPT]
        latest = next((text for role, text in reversed(session.turns) if role == "user"), None)
        said = said if words == latest else (("user", words), *said)
    elif not ends_rest(turn):
        return session
    return _limit_turns(session._replace(turns=(*session.turns, *said)))


def _limit_turns(session: SessionState) -> SessionState:
    """The session; of too many turns that no model summarized, the older ones' beginnings are the summary."""
    if len(session.turns) <= _TURNS_REMEMBERED:
        return session
    older, recent = session.turns[:-KEPT], session.turns[-KEPT:]
    before = (SpokenTurn("summary", session.summary),) if session.summary else ()
    return session._replace(summary=concatenate_turns((*before, *(SpokenTurn(*turn) for turn in older))), turns=recent)


def _remember_corrections(session: SessionState, ended: FinishedRun) -> SessionState:
    """The session with what the task learned of renamed columns; the oldest are forgotten."""
    learned = ended.progress.corrections if ended.progress else {}
    older = {old: new for old, new in session.corrections.items() if old not in learned}
    return session._replace(corrections=dict([*older.items(), *learned.items()][-_CORRECTIONS_KEPT:]))


def _remember_calls(session: SessionState, ended: FinishedRun, work: Work) -> SessionState:
    """The session with those calls that rules about tools will ask for again, also while this task waits."""
    progress, task_id = ended.progress, work.record.task_id
    if progress is None or not progress.ruled_tools:
        return session
    made = (*past_calls_of_facts(progress.dossier.facts), *past_calls_of_writes(ended.writes))
    names = progress.ruled_tools
    return session._replace(calls=remember_calls(session.calls, made, names, task_id, ended=ended.state.is_terminal))


def _words(turn: Turn) -> str:
    return turn.text or str(turn.data.get("decision", ""))


def _message(role: str, text: str, message_id: str, at: datetime) -> HistoryMessage:
    return HistoryMessage(role=role, text=text, message_id=message_id, at=at)


def budget_ending(spent: BudgetSpent, progress: Progress | None, ledger: Mapping[str, LedgerEntry]) -> RunEnds:
    """How a run ends whose budget is spent: ``Partial`` if it has values or writes to tell of, no write is open, and no
    planned call and no part to be done is left undone; else ``Failed``.
    """
    dossier = progress.dossier if progress else Dossier()
    writes, plan = tuple(ledger.values()), dossier.plan
    done = {(entry.plan_hash, entry.call.call_id) for entry in writes if entry.status in DONE}
    undone = [call.tool for call in plan.calls if (plan.hash, call.call_id) not in done] if plan else []
    if undone:
        return Failed(f"{spent.reason}; planned and not done: {', '.join(undone)}")
    if left := parts_not_done(parts_to_do(dossier.parts), dossier.every_plan, ledger):
        return Failed(f"{spent.reason}; not done: {'; '.join(part.quote[:120] for part, _ in left)}")
    if any(entry.status in UNDECIDED for entry in writes):
        return Failed(spent.reason)
    if not (done or dossier.values):
        return Failed(f"{spent.reason}; nothing was found or done until then")
    return Partial(spent.reason)


def known_so_far(reason: str, progress: Progress | None) -> str:
    """The answer of a partial result: why it is partial, and the values that the run had found."""
    dossier = progress.dossier if progress else None
    values = [f"- {value.name}: {value.value}" for value in dossier.values] if dossier else []
    return "\n".join([f"Partial result: {reason}.", *(["Known until then:", *values] if values else [])])


def say_left_out(reason: str, progress: Progress | None, writes: Sequence[LedgerEntry]) -> str:
    """The answer of a task that was canceled: the reason, and each planned call that was never begun."""
    plan = progress.dossier.plan if progress else None
    begun = {(entry.plan_hash, entry.call.call_id) for entry in writes}
    calls = [call for call in plan.calls if (plan.hash, call.call_id) not in begun] if plan else []
    left = [f"- {call.tool} {call.arguments_json}" for call in calls]
    return "\n".join([f"{reason}.", "Left out:", *left]) if left else reason
