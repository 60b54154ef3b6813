"""Describes an ended task: to clients, its answer with additions and its writes; to the learner, its one event."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import cast

from pydantic import JsonValue

from services.executor.core.figures.columns import COMPARE_BY_SIGN
from services.executor.core.figures.numbers import read_figure
from services.executor.core.session.context import AnswerRules, is_practice
from services.executor.core.session.dossier import Dossier, Progress, RunEnd
from services.executor.core.session.ledger import (
    describe_doubt,
    describe_write,
    list_open_doubts,
    list_operator_decisions,
)
from services.executor.core.session.values import NamedValue, classify_threshold_kind, list_parts_to_do
from services.executor.core.states.machine import NOTHING_WRITTEN_TEXT
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import OutcomeTexts, PredictionOutcome, TaskOutcome, Threshold, ThresholdKind
from shared.contracts.policy import Verdict
from shared.contracts.task import TaskRecord
from shared.domain.answer import is_json_list
from shared.domain.exact_json import JsonObject, as_object, as_text, loads_object, to_i_json, walk_json
from shared.domain.protected_values import ProtectedKind
from shared.domain.quality import QualityScore
from shared.domain.redaction import NO_PROTECTED_VALUES, redact_json, redact_text
from shared.domain.words import Strategy, TaskState, WriteStatus

_MOST_TOOLS = 10
_LONGEST_TEXT, _MOST_VALUES = 1_200, 12  # characters and figures of a task that the learner gets


def build_outcome_of_record(
    record: TaskRecord, writes: Iterable[LedgerEntry], hidden: Mapping[str, ProtectedKind], *, is_applied: bool
) -> TaskOutcome:
    """The outcome of an ended task, from its record and writes alone, with protected values removed.

    ``is_applied``: whether its strategy was used, so that the outcome counts for it.
    """
    quality = record.metadata.get("quality") if record.state is TaskState.COMPLETED else None
    duration = record.updated_at - record.accepted_at
    return TaskOutcome(
        event_id=f"{record.task_id}:1",
        tenant=record.tenant,
        session_id=record.session_id,
        task_id=record.task_id,
        state=record.state,
        process_type=redact_text(str(record.metadata.get("process_type") or "general"), hidden),
        strategy=Strategy(str(record.metadata.get("strategy") or Strategy.FSM.value)),
        strategy_applied=is_applied,
        dry_run=record.request.is_dry_run,
        practice=is_practice(record),
        quality=float(quality) if isinstance(quality, (int, float)) else 0.0,
        summary=redact_text(record.reason or record.request.text, hidden)[:200],
        tool_calls=0,
        model_calls=0,
        policy_passed=None,
        writes=dict(Counter(entry.status.value for entry in writes)),
        reason=None if record.reason is None else redact_text(record.reason, hidden),
        duration_ms=max(0, round(duration.total_seconds() * 1000)),
        ended_at=record.updated_at,
    )


def build_outcome_of_run(
    record: TaskRecord, run_end: RunEnd, score: QualityScore, hidden: Mapping[str, ProtectedKind] = NO_PROTECTED_VALUES
) -> TaskOutcome:
    """The outcome of a task: what its run read, predicted and answered. ``record``: in its final state."""
    progress = run_end.final_progress
    verdict = progress.dossier.verdict
    fell_back = {"strategy_fell_back": progress.fell_back} if progress.fell_back else {}
    update = {
        "quality": score.value,
        "summary": redact_text(record.request.text, hidden)[:200],
        "tool_calls": progress.calls_made,
        "model_calls": progress.model_calls,
        "policy_passed": verdict.passed if verdict else None,
        "escalated": run_end.is_escalated,
        "worked": redact_json(_list_tools_by_success(run_end, succeeded=True), hidden),
        "failed": redact_json(_list_tools_by_success(run_end, succeeded=False), hidden),
        "thresholds": _list_known_predictions(run_end, hidden),
        "said": _select_texts_for_learning(run_end, record, hidden),
        # What a case is made of beside these fields; all else stands in the task's record.
        "details": redact_json({"quality_parts": describe_score_parts(score), **fell_back}, hidden),
    }
    is_applied = _was_strategy_applied(run_end, record)
    return build_outcome_of_record(record, run_end.writes, hidden, is_applied=is_applied).model_copy(update=update)


def describe_score_parts(score: QualityScore) -> dict[str, JsonValue]:
    """The parts of a score by name, and under ``formula`` the name of its formula."""
    return {"formula": score.formula.value, **score.parts}


def _select_texts_for_learning(
    run_end: RunEnd, record: TaskRecord, hidden: Mapping[str, ProtectedKind]
) -> OutcomeTexts | None:
    """The texts in which the learner may find facts; None for a dry run or practice, whose data are not real."""
    if record.request.is_dry_run or is_practice(record):
        return None
    values = [*as_object(record.metadata.get("values")).items()]
    return OutcomeTexts(
        task=redact_text(record.request.text, hidden)[:_LONGEST_TEXT],
        answer=redact_text(run_end.answer, hidden)[:_LONGEST_TEXT],
        values=redact_json({name: as_text(value) for name, value in values[:_MOST_VALUES]}, hidden),
    )


def _list_known_predictions(run_end: RunEnd, hidden: Mapping[str, ProtectedKind]) -> tuple[PredictionOutcome, ...]:
    """The predictions whose actual values are known, with protected values removed."""
    outcomes = list_prediction_outcomes(run_end.final_progress, run_end.writes)
    known_outcomes = [outcome for outcome in outcomes if outcome.actual is not None]
    texts = (
        (outcome, outcome.model_dump(include={"name", "predicted", "actual", "source"})) for outcome in known_outcomes
    )
    return tuple(outcome.model_copy(update=redact_json(fields, hidden)) for outcome, fields in texts)


def _was_strategy_applied(run_end: RunEnd, record: TaskRecord) -> bool:
    """Whether the chosen strategy carried the task to its end, be it a failure: not canceled, and no dry run."""
    was_kept = run_end.progress is not None and not run_end.progress.fell_back
    return was_kept and run_end.state is not TaskState.CANCELED and not record.request.is_dry_run


def _list_tools_by_success(run_end: RunEnd, *, succeeded: bool) -> tuple[str, ...]:
    """Up to ten tools that worked; with ``succeeded=False``, whose reads failed or whose writes no read proved."""
    read_tools = [fact.tool for fact in run_end.final_progress.dossier.facts if fact.ok is succeeded]
    written_tools = [entry.call.tool for entry in run_end.writes if (entry.status is WriteStatus.VERIFIED) is succeeded]
    return tuple(dict.fromkeys((*read_tools, *written_tools)))[:_MOST_TOOLS]


_LIMIT_WORD_PATTERN = re.compile(
    r"\b(?:limits?|thresholds?|maximum|ceiling|cap|exceed\w*|too (?:high|large|much|big)|(?:over|above|beyond) the)\b",
    re.I,
)


def list_prediction_outcomes(progress: Progress, writes: Sequence[LedgerEntry]) -> tuple[PredictionOutcome, ...]:
    """What became of each prediction: of the limits known before the task acted, then of variances and credits."""
    verified = [entry for entry in writes if entry.status is WriteStatus.VERIFIED and entry.compensates is None]
    refusals = [
        entry
        for entry in writes
        if entry.status is WriteStatus.REFUSED and _LIMIT_WORD_PATTERN.search(entry.refusal or "")
    ]
    limits = (_compare_limit(limit, progress.dossier, verified, refusals) for limit in progress.thresholds)
    figures = (value for value in progress.dossier.values if value.figure)
    predicted = (value for value in figures if classify_threshold_kind(value.figure) is not ThresholdKind.POLICY_LIMIT)
    return (*limits, *(_compare_figure(value, verified) for value in predicted))


def _find_refused_value(limit: Threshold, dossier: Dossier, refusals: Sequence[LedgerEntry]) -> Decimal | None:
    """The value that a server refused though the limit permits it (so the limit was wrong); None if there is none."""
    bound = read_figure(limit.value)
    if bound is None or not limit.rule_id:
        return None
    writes = [entry for entry in refusals if limit.tool in ("", entry.call.tool)]
    actual = _get_common_value(
        _find_numbers_of_argument(writes, limit.name) or _find_values_in_records(dossier, writes, limit.name)
    )
    return None if actual is None or COMPARE_BY_SIGN[limit.sign](actual, bound) else actual


def _find_values_in_records(dossier: Dossier, writes: Sequence[LedgerEntry], name: str) -> list[Decimal]:
    """The field's values in the records that these writes name in an argument."""
    ids = {text for entry in writes for text in _collect_texts(loads_object(entry.arguments_json))}
    results = (fact.result for fact in dossier.facts if fact.ok) if ids else ()
    records = [value for result in results for _, value in walk_json(result) if isinstance(value, dict)]
    named_records = [record for record in records if not ids.isdisjoint(_collect_texts(record))]
    figures = (read_figure(record.get(name)) for record in named_records)
    return [number for number in figures if number is not None]


def _collect_texts(record: JsonObject) -> set[str]:
    return {value for value in record.values() if isinstance(value, str)}


def _compare_limit(
    limit: Threshold, dossier: Dossier, verified: Sequence[LedgerEntry], refusals: Sequence[LedgerEntry]
) -> PredictionOutcome:
    if (refused := _find_refused_value(limit, dossier, refusals)) is not None:
        return _build_prediction_outcome(limit, refused, was_right=False)
    actual = _find_actual_value(limit, dossier, verified)
    was_right = None if actual is None else _does_rule_agree(limit, actual, dossier.verdict)
    return _build_prediction_outcome(limit, actual, was_right=was_right)


def _build_prediction_outcome(limit: Threshold, actual: Decimal | None, *, was_right: bool | None) -> PredictionOutcome:
    return PredictionOutcome(
        kind=limit.kind,
        name=limit.name,
        sign=limit.sign,
        predicted=limit.value,
        actual=None if actual is None else f"{actual:f}",
        held=was_right,
        source=limit.source,
    )


def _find_actual_value(limit: Threshold, dossier: Dossier, verified: Sequence[LedgerEntry]) -> Decimal | None:
    """The actual value to compare with a limit: the process's figure of that name or, for a limit that decides its
    rule, the value written, calculated or read under that name. None unless there is exactly one.
    """
    named_figures = [value.number for value in dossier.values if limit.name and value.figure == limit.name]
    figures = [number for number in named_figures if number is not None]
    if figures or not limit.rule_id:
        return _get_common_value(figures)
    writes = [entry for entry in verified if limit.tool in ("", entry.call.tool)]
    if limit.tool and not writes:
        return None
    calculated = [value.number for value in dossier.values if value.number is not None and value.name == limit.name]
    written = _find_numbers_of_argument(writes, limit.name)
    return _get_common_value(written or calculated or _find_values_in_records(dossier, writes, limit.name))


def _does_rule_agree(limit: Threshold, actual: Decimal, verdict: Verdict | None) -> bool | None:
    """Whether the rule triggered exactly when the value was beyond the limit; None without a binding verdict."""
    bound = read_figure(limit.value)
    if not limit.rule_id or verdict is None or not verdict.binding or bound is None:
        return None
    rules = [rule for rule in verdict.triggered_rules if not rule.indeterminate]
    was_triggered = any((rule.rule_id, rule.policy_id) == (limit.rule_id, limit.policy_id) for rule in rules)
    return COMPARE_BY_SIGN[limit.sign](actual, bound) is was_triggered


def _compare_figure(value: NamedValue, verified: Sequence[LedgerEntry]) -> PredictionOutcome:
    """The outcome of a computed figure, by a verified write with an argument that came from it or has its name."""
    traced = [
        number for entry in verified for number in _find_numbers_in_arguments(entry, _names_traced_to(value, entry))
    ]
    actual = _get_common_value(traced or _find_numbers_of_argument(verified, value.figure))
    source = f"{value.operation} of {', '.join(operand.path or operand.ref for operand in value.operands)}"
    limit = Threshold(
        kind=classify_threshold_kind(value.figure), name=value.name, sign="", value=value.value, source=source
    )
    return _build_prediction_outcome(
        limit, actual, was_right=None if actual is None else actual == Decimal(value.value)
    )


def _names_traced_to(value: NamedValue, entry: LedgerEntry) -> set[str]:
    """The names of the call's arguments that were traced to the value."""
    return {origin.argument for origin in entry.call.origins if (origin.source, origin.ref) == ("value", value.name)}


def _find_numbers_of_argument(writes: Sequence[LedgerEntry], name: str) -> list[Decimal]:
    return [number for entry in writes for number in _find_numbers_in_arguments(entry, {name})]


def _find_numbers_in_arguments(entry: LedgerEntry, names: set[str]) -> list[Decimal]:
    arguments = loads_object(entry.arguments_json)
    figures = (read_figure(arguments.get(name)) for name in sorted(names))
    return [number for number in figures if number is not None]


def _get_common_value(values: Sequence[Decimal]) -> Decimal | None:
    """The value if all values are equal; None otherwise, or if there are none."""
    return values[0] if len(set(values)) == 1 else None


_STATUS_IN_WORDS: dict[WriteStatus, str] = {
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
_PROCESS_FOOTER_PATTERN = re.compile(r"\n\n\[Process: [^\n]*\]\Z")


def compose_answer(record: TaskRecord, run_end: RunEnd, now: datetime, rules: AnswerRules, score: QualityScore) -> str:
    """The answer with the writes below it.

    For a completed task rules and footer follow (not in a dry run or for the solver). If a task that was to act has
    ended without a write, the answer says so.
    """
    is_read_by_people = not record.request.is_dry_run and record.request.solver is None
    is_completed = is_read_by_people and run_end.state is TaskState.COMPLETED
    dossier = run_end.final_progress.dossier
    has_ended = run_end.state in (TaskState.COMPLETED, TaskState.FAILED)
    had_to_act = is_read_by_people and has_ended and bool(list_parts_to_do(dossier.parts))
    footer = _write_footer(record, run_end, now, score) if rules.footer and is_completed else ""
    verdict = dossier.verdict if is_completed and not run_end.is_escalated else None
    return append_writes_to_answer(run_end.answer, run_end.writes, verdict, footer, had_to_act=had_to_act)


def _write_footer(record: TaskRecord, run_end: RunEnd, now: datetime, score: QualityScore) -> str:
    """A last line about the run: its process, whether the policy passed, its score and its duration."""
    verdict, process = run_end.final_progress.dossier.verdict, run_end.final_progress.process_type
    policy = "N/A" if verdict is None else "PASSED" if verdict.passed else "FAILED"
    duration_ms = round((now - record.accepted_at).total_seconds() * 1000)
    return f"[Process: {process} | Policy: {policy} | Quality: {score.value:.2f} | Duration: {duration_ms} ms]"


def append_writes_to_answer(
    text: str,
    writes: Sequence[LedgerEntry],
    verdict: Verdict | None = None,
    footer: str = "",
    *,
    had_to_act: bool = False,
) -> str:
    """The answer for the client: prose with rules, writes and footer; a JSON list unchanged.

    ``verdict``: whose reasons are told, if it has some. ``had_to_act``: whether the task had a part to be done, so that
    an answer without writes says so.
    """
    if is_json_list(text):
        return text
    remark = NOTHING_WRITTEN_TEXT if had_to_act and not writes and NOTHING_WRITTEN_TEXT not in text else ""
    policy = describe_verdict(verdict) if verdict and verdict.reasons else ""
    blocks = [policy, _describe_writes(writes) or remark, footer]
    additions = [block for block in blocks if block]
    return "\n\n".join([text.rstrip(), *additions]) if additions else text


def describe_verdict(verdict: Verdict) -> str:
    """One line: whether the plan passed, and the reasons of the triggered rules."""
    return f"Policy: {'passed' if verdict.passed else 'not passed'}. {'; '.join(verdict.reasons)}".rstrip()


def without_footer(answer: str) -> str:
    """The answer without its footer, whose duration differs from run to run."""
    return _PROCESS_FOOTER_PATTERN.sub("", answer)


def _describe_writes(writes: Sequence[LedgerEntry]) -> str:
    lines = ["Writes:"]
    for entry in writes:
        status = _STATUS_IN_WORDS[entry.status]
        lines.append(f"- {entry.call.tool} {entry.arguments_json}: {status} ({entry.note})")
    return "\n".join(lines) if writes else ""


def describe_ledger_for_clients(entries: Sequence[LedgerEntry]) -> dict[str, JsonValue]:
    """``writes`` with their outcomes, open ``doubts``, and the operators' ``resolutions``, for the task's metadata."""
    return {
        "writes": [
            cast(JsonValue, to_i_json({**describe_write(entry), "compensates": entry.compensates})) for entry in entries
        ],
        "doubts": [cast(JsonValue, to_i_json(describe_doubt(entry))) for entry in list_open_doubts(entries)],
        "resolutions": cast("list[JsonValue]", to_i_json(list_operator_decisions(entries))),
    }
