"""Builds the one event that the learner gets of an ended task, with the result of each prediction."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from pydantic import JsonValue

from services.executor.core.figures.columns import ORDERINGS
from services.executor.core.figures.numbers import read_figure
from services.executor.core.session.context import is_practice
from services.executor.core.session.dossier import Dossier, Progress, RunEnd
from services.executor.core.session.values import NamedValue, threshold_kind_of
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import OutcomeTexts, PredictionOutcome, TaskOutcome, Threshold, ThresholdKind
from shared.contracts.policy import Verdict
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import loads_object, walk_json
from shared.domain.marks import ProtectedKind
from shared.domain.quality import Score
from shared.domain.redaction import NOTHING, redact_json, redact_text
from shared.domain.words import Strategy, TaskState, WriteStatus

_TOOLS_NAMED = 10
_SAID, _VALUES_SAID = 1_200, 12  # characters, figures


def outcome_of_record(
    record: TaskRecord, writes: Iterable[LedgerEntry], hidden: Mapping[str, ProtectedKind], *, is_applied: bool
) -> TaskOutcome:
    """The outcome of an ended task, from its record and writes alone, with protected values removed. ``is_applied``:
    whether its strategy was used, so that the outcome counts for it.
    """
    measured = record.metadata.get("quality") if record.state is TaskState.COMPLETED else None
    took = record.updated_at - record.accepted_at
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
        quality=float(measured) if isinstance(measured, (int, float)) else 0.0,
        summary=redact_text(record.reason or record.request.text, hidden)[:200],
        tool_calls=0,
        model_calls=0,
        policy_passed=None,
        writes=dict(Counter(entry.status.value for entry in writes)),
        reason=None if record.reason is None else redact_text(record.reason, hidden),
        duration_ms=max(0, round(took.total_seconds() * 1000)),
        ended_at=record.updated_at,
    )


def outcome_of_run(
    record: TaskRecord, ended: RunEnd, scored: Score, hidden: Mapping[str, ProtectedKind] = NOTHING
) -> TaskOutcome:
    """The outcome of a task at the end of its run, with what the run read, predicted and answered. ``record``: in its
    final state.
    """
    progress = ended.final_progress
    verdict = progress.dossier.verdict
    fell_back = {"strategy_fell_back": progress.fell_back} if progress.fell_back else {}
    update = {
        "quality": scored.value,
        "summary": redact_text(record.request.text, hidden)[:200],
        "tool_calls": progress.calls_made,
        "model_calls": progress.model_calls,
        "policy_passed": verdict.passed if verdict else None,
        "escalated": ended.escalated,
        "worked": redact_json(_list_tools(ended, worked=True), hidden),
        "failed": redact_json(_list_tools(ended, worked=False), hidden),
        "thresholds": _list_thresholds(ended, hidden),
        "said": _texts_for_learning(ended, record, hidden),
        # What a case is made of beside these fields; all else stands in the task's record.
        "details": redact_json({"quality_parts": parts_of_score(scored), **fell_back}, hidden),
    }
    is_applied = _was_strategy_applied(ended, record)
    return outcome_of_record(record, ended.writes, hidden, is_applied=is_applied).model_copy(update=update)


def parts_of_score(scored: Score) -> dict[str, JsonValue]:
    """The parts of a score, and the name of its formula."""
    return {"formula": scored.formula.value, **scored.parts}


def _texts_for_learning(ended: RunEnd, record: TaskRecord, hidden: Mapping[str, ProtectedKind]) -> OutcomeTexts | None:
    """The texts in which the learner may find facts; None for a dry run or practice, whose data are not real."""
    if record.request.is_dry_run or is_practice(record):
        return None
    values = ended.final_progress.dossier.values
    return OutcomeTexts(
        task=redact_text(record.request.text, hidden)[:_SAID],
        answer=redact_text(ended.answer, hidden)[:_SAID],
        values=redact_json({value.name: value.value for value in values[:_VALUES_SAID]}, hidden),
    )


def _list_thresholds(ended: RunEnd, hidden: Mapping[str, ProtectedKind]) -> tuple[PredictionOutcome, ...]:
    found = [one for one in threshold_outcomes(ended.final_progress, ended.writes) if one.actual is not None]
    said = [one.model_dump(include={"name", "predicted", "actual", "source"}) for one in found]
    return tuple(one.model_copy(update=redact_json(text, hidden)) for one, text in zip(found, said, strict=True))


def _was_strategy_applied(ended: RunEnd, record: TaskRecord) -> bool:
    """Whether the chosen strategy carried the task to its end, be it a failure: not canceled, and no dry run."""
    carried = ended.progress is not None and not ended.progress.fell_back
    return carried and ended.state is not TaskState.CANCELED and not record.request.is_dry_run


def _list_tools(ended: RunEnd, *, worked: bool) -> tuple[str, ...]:
    """Up to ten tools that worked; with ``worked=False``, whose reads failed or whose writes no read proved."""
    read = [fact.tool for fact in ended.final_progress.dossier.facts if fact.ok is worked]
    written = [entry.call.tool for entry in ended.writes if (entry.status is WriteStatus.VERIFIED) is worked]
    return tuple(dict.fromkeys((*read, *written)))[:_TOOLS_NAMED]


_SPEAKS_OF_LIMIT = re.compile(
    r"\b(?:limits?|thresholds?|maximum|ceiling|cap|exceed\w*|too (?:high|large|much|big)|(?:over|above|beyond) the)\b",
    re.I,
)


def threshold_outcomes(progress: Progress, writes: Sequence[LedgerEntry]) -> tuple[PredictionOutcome, ...]:
    """The result of each prediction: the limits known in PRIME, then the variances and credits that the executor
    computed.
    """
    proved = [entry for entry in writes if entry.status is WriteStatus.VERIFIED and entry.compensates is None]
    refused = [
        entry
        for entry in writes
        if entry.status is WriteStatus.REFUSED and _SPEAKS_OF_LIMIT.search(entry.refusal or "")
    ]
    limits = (
        _refusal_against(limit, progress.dossier, refused) or _outcome_of_limit(limit, progress.dossier, proved)
        for limit in progress.thresholds
    )
    figures = (value for value in progress.dossier.values if value.figure)
    predicted = (value for value in figures if threshold_kind_of(value.figure) is not ThresholdKind.POLICY_LIMIT)
    return (*limits, *(_outcome_of_figure(value, proved) for value in predicted))


def _refusal_against(limit: Threshold, dossier: Dossier, refused: Sequence[LedgerEntry]) -> PredictionOutcome | None:
    """The outcome of a limit that permitted a value which the tool server then refused as too large; None if there is
    none.
    """
    limited = read_figure(limit.value)
    about = [entry for entry in refused if limit.tool in ("", entry.call.tool)]
    actual = (
        _common_value([*_numbers_of_argument(about, limit.name)] or [*_values_in_records(dossier, about, limit.name)])
        if limit.rule_id
        else None
    )
    if actual is None or limited is None or ORDERINGS[limit.sign](actual, limited):
        return None
    return _build_prediction_outcome(limit, actual, was_right=False)


def _values_in_records(dossier: Dossier, about: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    """Yields the field's values in the records that these writes name in an argument."""
    named = {
        given for entry in about for given in loads_object(entry.arguments_json).values() if isinstance(given, str)
    }
    results = (fact.result for fact in dossier.facts if fact.ok) if named else ()
    for record in (found for result in results for _, found in walk_json(result) if isinstance(found, dict)):
        if name in record and any(isinstance(value, str) and value in named for value in record.values()):
            number = read_figure(record[name])
            if number is not None:
                yield number


def _outcome_of_limit(limit: Threshold, dossier: Dossier, proved: Sequence[LedgerEntry]) -> PredictionOutcome:
    actual = _actual_value_for(limit, dossier, proved)
    held = None if actual is None else _does_rule_agree(limit, actual, dossier.verdict)
    return _build_prediction_outcome(limit, actual, was_right=held)


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


def _actual_value_for(limit: Threshold, dossier: Dossier, proved: Sequence[LedgerEntry]) -> Decimal | None:
    """The actual value to compare with a limit: the process's figure of that name or, for a limit that decides its
    rule, the value written, calculated or read under that name. None unless there is exactly one.
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


def _does_rule_agree(limit: Threshold, actual: Decimal, verdict: Verdict | None) -> bool | None:
    """Whether the rule triggered exactly when the value was beyond the limit; None without a binding verdict."""
    limited = read_figure(limit.value)
    if not limit.rule_id or verdict is None or not verdict.binding or limited is None:
        return None
    rules = [rule for rule in verdict.triggered_rules if not rule.indeterminate]
    triggered = any((rule.rule_id, rule.policy_id) == (limit.rule_id, limit.policy_id) for rule in rules)
    return ORDERINGS[limit.sign](actual, limited) is triggered


def _outcome_of_figure(value: NamedValue, proved: Sequence[LedgerEntry]) -> PredictionOutcome:
    """The outcome of a computed figure. Its actual value comes from a verified write whose argument was traced to it or
    has its name.
    """
    traced = [number for entry in proved for number in _numbers_in_arguments(entry, _arguments_with(entry, value.name))]
    actual = _common_value(
        traced
        or [*_numbers_of_argument(proved, value.figure)]
        or [*_only_numbers_of_tools_named_after(proved, value.figure)]
    )
    source = f"{value.operation} of {', '.join(operand.path or operand.ref for operand in value.operands)}"
    limit = Threshold(kind=threshold_kind_of(value.figure), name=value.name, sign="", value=value.value, source=source)
    return _build_prediction_outcome(
        limit, actual, was_right=None if actual is None else actual == Decimal(value.value)
    )


def _arguments_with(entry: LedgerEntry, value: str) -> set[str]:
    """The names of the call's arguments that were traced to the named value."""
    return {one.argument for one in entry.call.origins if one.source == "value" and one.ref == value}


def _numbers_of_argument(proved: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    for entry in proved:
        yield from _numbers_in_arguments(entry, {name})


def _only_numbers_of_tools_named_after(proved: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    """Yields the number of each write whose tool's name has all words of ``name``, if its arguments have just one."""
    words = set(name.split("_"))
    for entry in proved:
        numbers = [*_numbers_in_arguments(entry, set(loads_object(entry.arguments_json)))]
        if words <= set(entry.call.tool.split("_")) and len(numbers) == 1:
            yield from numbers


def _numbers_in_arguments(entry: LedgerEntry, names: set[str]) -> Iterator[Decimal]:
    given = loads_object(entry.arguments_json)
    found = (read_figure(given.get(name)) for name in sorted(names))
    return (number for number in found if number is not None)


def _common_value(values: Sequence[Decimal]) -> Decimal | None:
    """The value if all values are equal; None otherwise, or if there are none."""
    return values[0] if values and len(set(values)) == 1 else None
