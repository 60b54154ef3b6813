"""Builds what a turn stores at its end: the task's record and metadata, the session's memory, events and outcome."""

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from pydantic import JsonValue

from services.executor.core.process.rules import drop_unrealized_remainders
from services.executor.core.reflect.documents import DocumentMaterial, build_document
from services.executor.core.reflect.dry_run import DRY_RUN_KEY, list_dry_run_artifacts
from services.executor.core.reflect.outcome import (
    build_outcome_of_run,
    compose_answer,
    describe_ledger_for_clients,
    describe_score_parts,
)
from services.executor.core.reflect.quality import EndedRun, collect_evidence
from services.executor.core.session.context import AnswerRules
from services.executor.core.session.dossier import RunEnd
from services.executor.core.session.journal import Journal
from services.executor.core.session.ledger import (
    list_past_calls_of_facts,
    list_past_calls_of_writes,
    select_calls_to_remember,
)
from services.executor.core.states.machine import ends_timed_wait
from services.executor.ports.turns import QUESTION_ROLE, SessionState, Timer, TurnEnd, TurnWork
from shared.contracts.approval import ApprovalStatus
from shared.contracts.task import Artifact, HistoryMessage, TaskRecord, Turn, TurnKind
from shared.domain.conversation import TURNS_KEPT_VERBATIM, SpokenTurn, excerpt_turns
from shared.domain.exact_json import loads, to_builtins, to_i_json
from shared.domain.quality import QualityScore, compute_quality
from shared.domain.words import TaskState

# What a session of any length keeps between its turns; see also the bounds of its calls.
_MOST_TURNS = 30
_LONGEST_TEXT = 4_000  # characters of one text that a later turn is reminded of
_MOST_CORRECTIONS = 200
_MOST_MESSAGES = 100  # messages of one task
_DEFAULT_ANSWER_RULES = AnswerRules()
_APPROVAL_BRIEF = "approval_brief"


def build_turn_end(
    work: TurnWork, run_end: RunEnd, session: SessionState, journal: Journal, rules: AnswerRules = _DEFAULT_ANSWER_RULES
) -> TurnEnd:
    """The end of a turn whose task has ended or waits, redacted. Takes the unstored entries from the journal."""
    now, hidden = journal.now, journal.hidden
    run = build_ended_run(run_end, work.record)
    score = compute_quality(collect_evidence(run), rules.formula)
    answer = compose_answer(work.record, run_end, now, rules, score)
    record = _build_record(work, run_end, answer, _build_metadata(run_end, run, score), journal)
    if run_end.state.is_terminal and run_end.final_progress.insight:  # what the strategy tells of its own course
        journal.add_event("insight", **run_end.final_progress.insight)
    journal.add_event("status", state=record.state.value, reason=record.reason)
    entries, events, _ = journal.pop_unstored()
    approval, timer = run_end.approval, run_end.timer
    if approval is not None and approval.status is ApprovalStatus.WAITING:
        timer = Timer(approval.deadline, approval.timer_subject)
    session = _session_with_calls(_session_with_corrections(session, run_end), run_end, work)
    return TurnEnd(
        record=record,
        session=_session_with_turn(session, run_end, work, answer),
        events=events,
        entries=entries,
        approval=approval,
        timer=timer,
        outcome=build_outcome_of_run(record, run_end, score, hidden) if record.state.is_terminal else None,
        settled_approval=run_end.settled_approval,
    )


def build_unchanged_end(work: TurnWork, session: SessionState, now: datetime) -> TurnEnd:
    """The end of a turn that came too late to change anything; the task stays as it is."""
    record = work.record.model_copy(update={"updated_at": now, "turns_done": work.turns_done})
    return TurnEnd(record, session)


def _build_metadata(run_end: RunEnd, run: EndedRun, score: QualityScore) -> dict[str, JsonValue]:
    """The task's metadata for clients: its states, its verdict, each write with its proof, and more."""
    progress, has_begun = run_end.final_progress, run_end.progress is not None
    dossier, states = progress.dossier, [state.value for state in progress.visited]
    values = drop_unrealized_remainders(progress, run_end.writes) if run_end.state.is_terminal else dossier.values
    if run_end.fsm_state is not None and states[-1:] != [run_end.fsm_state.value]:
        states.append(run_end.fsm_state.value)
    return {
        "process_type": progress.process_type if has_begun else None,
        "strategy": progress.strategy.value,
        "strategy_why": progress.strategy_why,
        "strategy_fell_back": progress.fell_back or None,
        "orchestrator": progress.orchestrator.value if has_begun else None,
        "orchestrators_passed_over": dict(progress.passed_over),
        "bandit": cast(JsonValue, to_builtins(loads(progress.bandit_json))),
        "states": cast("list[JsonValue]", states),
        "tool_calls": progress.calls_made,
        "model_calls": progress.model_calls,
        **describe_ledger_for_clients(run_end.writes),
        "values": {value.name: value.value for value in values},
        "verdict": dossier.verdict.model_dump(mode="json", by_alias=True) if dossier.verdict else None,
        "plan_hash": dossier.plan.hash if dossier.plan else None,
        "approval": dossier.approval_note,
        "confirmations": [
            {"about": step.about, "by": list(step.by), "at": step.at.isoformat(), "approval_id": step.approval_id}
            for step in progress.confirmed
        ],
        "approval_id": run_end.approval.approval_id if run_end.approval else None,
        "approval_request": cast(JsonValue, to_i_json(dict(run_end.question))) if run_end.question else None,
        "escalated": run_end.is_escalated,
        "failed_part": run_end.failed_part,
        "partial": run_end.is_partial,
        "waits_until": run_end.timer.due.isoformat() if run_end.timer else None,
        "spend": dict(run_end.spend),
        "quality": score.value,
        "quality_parts": describe_score_parts(score),
        "missing_outputs": list(run.unmentioned_outputs) if run_end.state is TaskState.COMPLETED else [],
        "review": dict(run_end.review),
        **progress.notes,
    }


def build_ended_run(run_end: RunEnd, record: TaskRecord) -> EndedRun:
    """The ended run in the form that scoring takes."""
    return EndedRun(
        state=run_end.state,
        answer=run_end.answer,
        progress=run_end.progress,
        writes=run_end.writes,
        task=record.request.text,
        is_escalated=run_end.is_escalated,
        is_dry_run=record.request.is_dry_run,
    )


def _build_record(
    work: TurnWork, run_end: RunEnd, answer: str, metadata: Mapping[str, JsonValue], journal: Journal
) -> TaskRecord:
    record, now = work.record, journal.now
    dry_run_note = {DRY_RUN_KEY: True} if record.request.is_dry_run else {}
    answer_message = HistoryMessage(role="agent", text=answer, message_id=f"{work.turn.turn_id}:answer", at=now)
    return record.model_copy(
        update={
            "state": run_end.state,
            "reason": run_end.reason,
            "answer": answer,
            "metadata": {**record.metadata, **metadata, **dry_run_note},
            "history": (*record.history, *list_new_user_messages(work), answer_message)[-_MOST_MESSAGES:],
            "artifacts": _list_artifacts(record, run_end, now),
            "later_files": (*record.later_files, *work.turn.files),
            "started_at": record.started_at or journal.began,
            "updated_at": now,
            "turns_done": work.turns_done,
        }
    )


def list_new_user_messages(work: TurnWork) -> tuple[HistoryMessage, ...]:
    """The turn's user message, to be added to the history; empty if it is there already, or the turn has none."""
    turn = work.turn
    if turn.kind not in (TurnKind.MESSAGE, TurnKind.DECISION):
        return ()
    text = _get_user_text(turn)
    message_id = turn.message_id or turn.turn_id
    received_at = turn.received_at
    message = HistoryMessage(role="user", text=text, message_id=message_id, at=received_at, parts=turn.parts)
    identity = (message.role, message.message_id, message.at)  # with the time: a client may use an id again
    is_known = any((earlier.role, earlier.message_id, earlier.at) == identity for earlier in work.record.history)
    return () if is_known else (message,)


def _list_artifacts(record: TaskRecord, run_end: RunEnd, now: datetime) -> tuple[Artifact, ...]:
    """The record's artifacts and those of this turn; of equal names only the newest."""
    artifacts = (*record.artifacts, *list_dry_run_artifacts(record, run_end.progress), *run_end.documents)
    artifact_by_name = {artifact.name: artifact for artifact in artifacts}
    approval = run_end.approval or run_end.settled_approval
    if approval is not None and run_end.progress is not None:  # asked of a person; again, once there is an answer
        material = DocumentMaterial(record.request.text, run_end.progress, run_end.writes, approval=approval)
        artifact_by_name[_APPROVAL_BRIEF] = build_document(_APPROVAL_BRIEF, material, record.task_id, now)
    return tuple(artifact_by_name.values())


def _session_with_turn(session: SessionState, run_end: RunEnd, work: TurnWork, answer: str) -> SessionState:
    """The session with this turn's user message and answer added.

    A message equal to the last one is not added. Unchanged by a turn of a timer, an operator or a cancel, except the
    timer that ends a ``TimedWait``.
    """
    turn = work.turn
    new_turns: tuple[tuple[str, str], ...] = ((QUESTION_ROLE if run_end.question else "agent", answer[:_LONGEST_TEXT]),)
    if turn.kind in (TurnKind.MESSAGE, TurnKind.DECISION):
        message = _get_user_text(turn)[:_LONGEST_TEXT]
        last_message = next((text for role, text in reversed(session.turns) if role == "user"), None)
        if message != last_message:
            new_turns = (("user", message), *new_turns)
    elif not ends_timed_wait(turn):
        return session
    return _limit_turns(session._replace(turns=(*session.turns, *new_turns)))


def _limit_turns(session: SessionState) -> SessionState:
    """The session within its bound of turns. If no model summarised the older ones, excerpts become the summary."""
    if len(session.turns) <= _MOST_TURNS:
        return session
    older, recent = session.turns[:-TURNS_KEPT_VERBATIM], session.turns[-TURNS_KEPT_VERBATIM:]
    summary = (SpokenTurn("summary", session.summary),) if session.summary else ()
    return session._replace(summary=excerpt_turns((*summary, *(SpokenTurn(*turn) for turn in older))), turns=recent)


def _session_with_corrections(session: SessionState, run_end: RunEnd) -> SessionState:
    """The session with the renamed columns that the task found; the oldest are dropped."""
    corrections = run_end.final_progress.corrections
    earlier = {old_name: new_name for old_name, new_name in session.corrections.items() if old_name not in corrections}
    return session._replace(corrections=dict([*earlier.items(), *corrections.items()][-_MOST_CORRECTIONS:]))


def _session_with_calls(session: SessionState, run_end: RunEnd, work: TurnWork) -> SessionState:
    """The session with the calls that rules about tools may count later, even while this task waits."""
    names = run_end.final_progress.ruled_tools
    if not names:
        return session
    calls = (
        *list_past_calls_of_facts(run_end.final_progress.dossier.facts),
        *list_past_calls_of_writes(run_end.writes),
    )
    has_ended, task_id = run_end.state.is_terminal, work.record.task_id
    return session._replace(calls=select_calls_to_remember(session.calls, calls, names, task_id, has_ended=has_ended))


def _get_user_text(turn: Turn) -> str:
    return turn.text or str(turn.data.get("decision", ""))
