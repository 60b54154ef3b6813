"""The end of a turn: what its run leaves behind in record, session, events and outcome, and the answer as the client
gets it; all of it is stored at once.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.core.figures.columns import ORDERINGS
from services.executor.core.figures.numbers import figure
from services.executor.core.plan.outcomes import parts_not_done
from services.executor.core.reflect.documents import Material, document
from services.executor.core.reflect.quality import ReflectedRun, evidence
from services.executor.core.session.budget import BudgetSpent, Partial
from services.executor.core.session.context import AnswerRules, is_practice
from services.executor.core.session.dossier import KEY, Dossier, Progress, artifacts_of_dry_run, is_dry_run
from services.executor.core.session.ledger import (
    describe_doubt,
    describe_write,
    open_doubts,
    operator_words,
    past_calls_of_facts,
    past_calls_of_writes,
    remember_calls,
)
from services.executor.core.session.values import NamedValue, kind_of, parts_to_do
from services.executor.core.states.machine import NOTHING_WRITTEN, Failed, RunEnds, ends_rest
from services.executor.ports.sessions import Work
from services.executor.ports.turns import SessionState, Timer, TurnEnd
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import PredictionOutcome, Said, TaskOutcome, Threshold, ThresholdKind
from shared.contracts.policy import Verdict
from shared.contracts.task import Artifact, HistoryMessage, TaskEvent, TaskRecord, Turn, TurnKind
from shared.domain.answer import is_exact_match
from shared.domain.conversation import KEPT, SpokenTurn, concatenate_turns
from shared.domain.exact_json import Json, i_json, loads, loads_object, walk_json, wire
from shared.domain.marks import MarkKind
from shared.domain.quality import Score, quality
from shared.domain.redaction import NOTHING, redact_text, without_marks
from shared.domain.words import DONE, UNDECIDED, FsmState, Strategy, TaskState, WriteStatus

_OWN_LIMIT = re.compile(
    r"\b(?:limits?|thresholds?|maximum|ceiling|cap|exceed\w*|too (?:high|large|much|big)|(?:over|above|beyond) the)\b",
    re.I,
)


def threshold_outcomes(progress: Progress, writes: Sequence[LedgerEntry]) -> tuple[PredictionOutcome, ...]:
    """What became of each prediction: the limits known in PRIME, then the executor's own variances and credits."""
    proved = [entry for entry in writes if entry.status is WriteStatus.VERIFIED and entry.compensates is None]
    refused = [
        entry for entry in writes if entry.status is WriteStatus.REFUSED and _OWN_LIMIT.search(entry.refusal or "")
    ]
    limits = (
        _refusal_against(limit, progress.dossier, refused) or _outcome_of_limit(limit, progress.dossier, proved)
        for limit in progress.thresholds
    )
    figures = (value for value in progress.dossier.values if value.figure)
    predicted = (value for value in figures if kind_of(value.figure) is not ThresholdKind.POLICY_LIMIT)
    return (*limits, *(_outcome_of_figure(value, proved) for value in predicted))


def _refusal_against(limit: Threshold, dossier: Dossier, refused: Sequence[LedgerEntry]) -> PredictionOutcome | None:
    """The outcome of a limit that let a value through which the tool's server refused as too much; else None."""
    limited = figure(limit.value)
    about = [entry for entry in refused if limit.tool in ("", entry.call.tool)]
    actual = (
        _common_value([*_numbers_of_argument(about, limit.name)] or [*_values_in_records(dossier, about, limit.name)])
        if limit.rule_id
        else None
    )
    if actual is None or limited is None or ORDERINGS[limit.sign](actual, limited):
        return None
    return _make_outcome(limit, actual, held=False)


def _values_in_records(dossier: Dossier, about: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    """Yields the field's values in the records that these writes name in an argument."""
    named = {
        given for entry in about for given in loads_object(entry.arguments_json).values() if isinstance(given, str)
    }
    results = (fact.result for fact in dossier.facts if fact.ok) if named else ()
    for record in (found for result in results for _, found in walk_json(result) if isinstance(found, dict)):
        if name in record and any(isinstance(value, str) and value in named for value in record.values()):
            number = figure(record[name])
            if number is not None:
                yield number


def _outcome_of_limit(limit: Threshold, dossier: Dossier, proved: Sequence[LedgerEntry]) -> PredictionOutcome:
    actual = _compared_value(limit, dossier, proved)
    held = None if actual is None else _rule_agrees(limit, actual, dossier.verdict)
    return _make_outcome(limit, actual, held=held)


def _make_outcome(limit: Threshold, actual: Decimal | None, *, held: bool | None) -> PredictionOutcome:
    return PredictionOutcome(
        kind=limit.kind,
        name=limit.name,
        sign=limit.sign,
        predicted=limit.value,
        actual=None if actual is None else f"{actual:f}",
        held=held,
        source=limit.source,
    )


def _compared_value(limit: Threshold, dossier: Dossier, proved: Sequence[LedgerEntry]) -> Decimal | None:
    """The actual value to compare with a limit, None if there is not exactly one: the process's own figure of that
    name; else, for a limit that decides its rule, what was written, calculated or read under that name.
    """
    own = [value for value in dossier.values if limit.name and value.figure == limit.name]
    figures = [value.number for value in own if value.number is not None]
    if figures or not limit.rule_id:
        return _common_value(figures)
    about = [entry for entry in proved if limit.tool in ("", entry.call.tool)]
    if limit.tool and not about:
        return None
    named = [value.number for value in dossier.values if value.number is not None and value.name == limit.name]
    return _common_value(
        [*_numbers_of_argument(about, limit.name)] or named or [*_values_in_records(dossier, about, limit.name)]
    )


def _rule_agrees(limit: Threshold, actual: Decimal, verdict: Verdict | None) -> bool | None:
    """Whether the rule triggered exactly if the value was beyond the limit; None without a binding verdict."""
    limited = figure(limit.value)
    if not limit.rule_id or verdict is None or not verdict.binding or limited is None:
        return None
    rules = [rule for rule in verdict.triggered_rules if not rule.indeterminate]
    triggered = any((rule.rule_id, rule.policy_id) == (limit.rule_id, limit.policy_id) for rule in rules)
    return ORDERINGS[limit.sign](actual, limited) is triggered


def _outcome_of_figure(value: NamedValue, proved: Sequence[LedgerEntry]) -> PredictionOutcome:
    """The outcome of a computed figure. Its actual value is a verified write's: traced to it, under its name, or the
    only number of a tool named after it.
    """
    traced = [number for entry in proved for number in _numbers_in_arguments(entry, _arguments_from(entry, value.name))]
    actual = _common_value(
        traced or [*_numbers_of_argument(proved, value.figure)] or [*_only_numbers_of_tools_named(proved, value.figure)]
    )
    return PredictionOutcome(
        kind=kind_of(value.figure),
        name=value.name,
        sign="",
        predicted=value.value,
        actual=None if actual is None else f"{actual:f}",
        held=None if actual is None else actual == Decimal(value.value),
        source=f"{value.operation} of {', '.join(operand.path or operand.ref for operand in value.operands)}",
    )


def _arguments_from(entry: LedgerEntry, value: str) -> set[str]:
    """The arguments that were traced to a named value."""
    return {one.argument for one in entry.call.origins if one.source == "value" and one.ref == value}


def _numbers_of_argument(proved: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    for entry in proved:
        yield from _numbers_in_arguments(entry, {name})


def _only_numbers_of_tools_named(proved: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    words = set(name.split("_"))
    for entry in proved:
        numbers = [*_numbers_in_arguments(entry, set(loads_object(entry.arguments_json)))]
        if words <= set(entry.call.tool.split("_")) and len(numbers) == 1:
            yield from numbers


def _numbers_in_arguments(entry: LedgerEntry, names: set[str]) -> Iterator[Decimal]:
    given = loads_object(entry.arguments_json)
    found = (figure(given.get(name)) for name in sorted(names))
    return (number for number in found if number is not None)


def _common_value(values: Sequence[Decimal]) -> Decimal | None:
    """The value, if there is one and all are the same; else None."""
    return values[0] if values and len(set(values)) == 1 else None


_TOOLS_NAMED = 10
_SAID, _VALUES_SAID = 1_200, 12  # characters, figures


class FinishedRun(NamedTuple):
    """How a run stands at its end: ``progress`` is None where it ended before it began."""

    state: TaskState
    fsm_state: FsmState | None
    reason: str | None
    answer: str
    progress: Progress | None
    writes: Sequence[LedgerEntry]
    escalated: bool = False
    failed_part: str | None = None  # the part of the installation that did not work, where one did not
    partial: bool = False  # the budget was spent: what is known is the result
    timer: Timer | None = None  # what ends its waiting, where it waits for something else than an approval
    asked: Mapping[str, Json] | None = None  # what a person is asked, where one is
    spend: Mapping[str, JsonValue] = MappingProxyType({})  # what the model's calls have used up
    documents: tuple[Artifact, ...] = ()
    review: Mapping[str, JsonValue] = MappingProxyType({})  # what was done for the answer after it was drafted


def metadata(ended: FinishedRun, run: ReflectedRun, scored: Score) -> dict[str, JsonValue]:
    """What clients see beside the answer: the states the task went through, its verdict, each write with its proof."""
    progress = ended.progress
    states = [state.value for state in progress.visited] if progress else []
    if ended.fsm_state is not None and states[-1:] != [ended.fsm_state.value]:
        states.append(ended.fsm_state.value)
    dossier = progress.dossier if progress else None
    verdict = dossier.verdict.model_dump(mode="json", by_alias=True) if dossier and dossier.verdict else None
    return {
        "process_type": progress.process_type if progress else None,
        "strategy": (progress.strategy if progress else Strategy.FSM).value,
        "strategy_why": progress.strategy_why if progress else "",
        "strategy_fell_back": progress.fell_back or None if progress else None,
        "orchestrator": progress.orchestrator.value if progress else None,
        "orchestrators_passed_over": dict(progress.passed_over) if progress else {},
        "bandit": cast(JsonValue, wire(loads(progress.bandit_json))) if progress else {},
        "states": cast("list[JsonValue]", states),
        "tool_calls": progress.calls_made if progress else 0,
        "model_calls": progress.model_calls if progress else 0,
        **told_ledger(ended.writes),
        "values": {value.name: value.value for value in dossier.values} if dossier else {},
        "verdict": verdict,
        "plan_hash": dossier.plan.hash if dossier and dossier.plan else None,
        "approval": dossier.approval_note if dossier else None,
        "confirmations": [
            {"about": one.about, "by": list(one.by), "at": one.at.isoformat(), "approval_id": one.approval_id}
            for one in (progress.confirmed if progress else ())
        ],
        "approval_request": cast(JsonValue, i_json(dict(ended.asked))) if ended.asked else None,
        "escalated": ended.escalated,
        "failed_part": ended.failed_part,
        "partial": ended.partial,
        "waits_until": ended.timer.due.isoformat() if ended.timer else None,
        "spend": dict(ended.spend),
        "quality": scored.value,
        "quality_parts": parts(scored),
        "missing_outputs": list(run.missing) if ended.state is TaskState.COMPLETED else [],
        "review": dict(ended.review),
        **(progress.notes if progress else {}),
    }


def outcome(
    record: TaskRecord, ended: FinishedRun, scored: Score, now: datetime, hidden: Mapping[str, MarkKind] = NOTHING
) -> TaskOutcome:
    """The one event that the learner gets for this task, without anything that the privacy guard marks."""
    progress = ended.progress
    verdict = progress.dossier.verdict if progress else None
    fell_back = {"strategy_fell_back": progress.fell_back} if progress and progress.fell_back else {}
    return TaskOutcome(
        event_id=f"{record.task_id}:1",
        tenant=record.tenant,
        session_id=record.session_id,
        task_id=record.task_id,
        state=ended.state,
        process_type=redact_text(progress.process_type, hidden) if progress else "general",
        strategy=progress.strategy if progress else Strategy.FSM,
        strategy_applied=_strategy_applied(ended, record),
        dry_run=is_dry_run(record),
        practice=is_practice(record),
        quality=scored.value,
        summary=redact_text(record.request.text, hidden)[:200],
        tool_calls=progress.calls_made if progress else 0,
        model_calls=progress.model_calls if progress else 0,
        writes=dict(Counter(entry.status.value for entry in ended.writes)),
        policy_passed=verdict.passed if verdict else None,
        reason=None if ended.reason is None else redact_text(ended.reason, hidden),
        escalated=ended.escalated,
        duration_ms=round((now - record.accepted_at).total_seconds() * 1000),
        ended_at=now,
        worked=without_marks(_list_tools(ended, worked=True), hidden),
        failed=without_marks(_list_tools(ended, worked=False), hidden),
        thresholds=_list_thresholds(ended, hidden),
        said=_words_for_learning(ended, record, hidden),
        # What a case is made of beside these fields; all else stands in the task's record.
        details=without_marks({"quality_parts": parts(scored), **fell_back}, hidden),
    )


def _words_for_learning(ended: FinishedRun, record: TaskRecord, hidden: Mapping[str, MarkKind]) -> Said | None:
    """The words in which facts are looked for; None for a dry run or practice, whose people and sums are nobody's."""
    if is_dry_run(record) or is_practice(record):
        return None
    values = ended.progress.dossier.values if ended.progress else ()
    return Said(
        task=redact_text(record.request.text, hidden)[:_SAID],
        answer=redact_text(ended.answer, hidden)[:_SAID],
        values=without_marks({value.name: value.value for value in values[:_VALUES_SAID]}, hidden),
    )


def _list_thresholds(ended: FinishedRun, hidden: Mapping[str, MarkKind]) -> tuple[PredictionOutcome, ...]:
    if ended.progress is None:
        return ()
    found = [one for one in threshold_outcomes(ended.progress, ended.writes) if one.actual is not None]
    said = [one.model_dump(include={"name", "predicted", "actual", "source"}) for one in found]
    return tuple(one.model_copy(update=without_marks(text, hidden)) for one, text in zip(found, said, strict=True))


def _strategy_applied(ended: FinishedRun, record: TaskRecord) -> bool:
    """Whether the chosen strategy carried the task to an end that tells how well it works."""
    carried = ended.progress is not None and not ended.progress.fell_back
    return carried and ended.state is not TaskState.CANCELED and not is_dry_run(record)


def _list_tools(ended: FinishedRun, *, worked: bool) -> tuple[str, ...]:
    """The tools that did what they were called for, or those that did not, each once and at most ten."""
    facts = ended.progress.dossier.facts if ended.progress else ()
    read = [fact.tool for fact in facts if fact.ok is worked]
    written = [entry.call.tool for entry in ended.writes if (entry.status is WriteStatus.VERIFIED) is worked]
    return tuple(dict.fromkeys((*read, *written)))[:_TOOLS_NAMED]


def run_of(ended: FinishedRun, record: TaskRecord) -> ReflectedRun:
    """The run in the form that its score is computed from."""
    return ReflectedRun(
        state=ended.state,
        answer=ended.answer,
        progress=ended.progress,
        writes=ended.writes,
        task=record.request.text,
        escalated=ended.escalated,
        dry_run=is_dry_run(record),
    )


def parts(scored: Score) -> dict[str, JsonValue]:
    """The parts of a score, with its formula's name."""
    return {"formula": scored.formula.value, **scored.parts}


def told_ledger(entries: Sequence[LedgerEntry]) -> dict[str, JsonValue]:
    """Each write with what came of it, those that are in doubt, and what operators said, as clients see it."""
    return {
        "writes": [
            cast(JsonValue, i_json({**describe_write(entry), "compensates": entry.compensates})) for entry in entries
        ],
        "doubts": [cast(JsonValue, i_json(describe_doubt(entry))) for entry in open_doubts(entries)],
        "resolutions": cast("list[JsonValue]", i_json(operator_words(entries))),
    }


_SAID_OF: dict[WriteStatus, str] = {
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
    blocks = [_describe_policy(verdict), _describe_writes(writes) or none, footer]
    said = [block for block in blocks if block]
    return "\n\n".join([text.rstrip(), *said]) if said else text


def without_footer(answer: str) -> str:
    """The answer without its footer, which names a duration that differs from run to run."""
    return _FOOTER.sub("", answer)


def _describe_policy(verdict: Verdict | None) -> str:
    """A line that names the triggered rules, each once; empty if there are none."""
    if verdict is None or not verdict.reasons:
        return ""
    return f"Policy: {'passed' if verdict.passed else 'not passed'}. {'; '.join(verdict.reasons)}"


def _describe_writes(writes: Sequence[LedgerEntry]) -> str:
    told = [f"- {one.call.tool} {one.arguments_json}: {_SAID_OF[one.status]} ({one.note})" for one in writes]
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
    record = _build_record(work, ended, answer, approval, metadata(ended, run, scored), now)
    record = record.model_copy(update={"artifacts": _list_artifacts(work.record, ended, approval or over, now)})
    told = without_marks({"state": record.state.value, "reason": record.reason}, hidden)
    status = TaskEvent(kind="status", at=now, data=told)
    waits = approval is not None and approval.status is ApprovalStatus.WAITING
    return TurnEnd(
        record=record,
        session=_remember_turn(_remember_calls(_remember_corrections(session, ended), ended, work), work, answer),
        events=(*events, *_build_insight(ended, now, hidden), status),
        approval=approval,
        timer=Timer(approval.deadline, approval.timer_subject) if approval is not None and waits else ended.timer,
        outcome=outcome(record, ended, scored, now, hidden) if record.state.is_terminal else None,
    )


def _build_insight(ended: FinishedRun, now: datetime, hidden: Mapping[str, MarkKind]) -> tuple[TaskEvent, ...]:
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


def _build_record(
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
                _build_message("agent", answer, f"{work.turn.turn_id}:answer", now),
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
    message = _build_message("user", _read_words(turn), turn.message_id or turn.turn_id, turn.received_at)
    message = message.model_copy(update={"parts": turn.parts})
    known = {(one.role, one.message_id, one.at) for one in work.record.history}  # a client may use an id again
    return () if (message.role, message.message_id, message.at) in known else (message,)


def _list_artifacts(
    record: TaskRecord, ended: FinishedRun, approval: Approval | None, now: datetime
) -> tuple[Artifact, ...]:
    """The task's artifacts with those that this turn adds; of one name only the newest stays."""
    added = (*record.artifacts, *artifacts_of_dry_run(record, ended.progress), *ended.documents)
    named = {artifact.name: artifact for artifact in added}
    if approval is not None and ended.progress is not None:  # asked of a person; again, once there is an answer
        material = Material(record.request.text, ended.progress, ended.writes, approval=approval)
        named[_BRIEF] = document(_BRIEF, material, record.task_id, now)
    return tuple(named.values())


def _remember_turn(session: SessionState, work: Work, answer: str) -> SessionState:
    """The session with the turn's words and answer; words that are said again are not kept twice."""
    turn = work.turn
    said: tuple[tuple[str, str], ...] = (("agent", answer[:_TEXT_KEPT]),)
    if turn.kind in (TurnKind.MESSAGE, TurnKind.DECISION):
        words = _read_words(turn)[:_TEXT_KEPT]
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


def _read_words(turn: Turn) -> str:
    return turn.text or str(turn.data.get("decision", ""))


def _build_message(role: str, text: str, message_id: str, at: datetime) -> HistoryMessage:
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
