"""REFLECT: what an ended or waiting run leaves behind, in the record's metadata and in the outcome event."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.core.figures.numbers import figure
from services.executor.core.reflect.quality import ReflectedRun
from services.executor.core.session.context import is_practice
from services.executor.core.session.dossier import Dossier, Progress, is_dry_run
from services.executor.core.session.ledger import describe_doubt, open_doubts, operator_words
from services.executor.core.session.values import NamedValue, kind_of
from services.executor.ports.turns import Timer
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import PredictionOutcome, Said, TaskOutcome, Threshold, ThresholdKind
from shared.contracts.policy import Verdict
from shared.contracts.task import Artifact, TaskRecord
from shared.domain.exact_json import Json, JsonObject, i_json, loads, loads_object, walk_json, wire
from shared.domain.marks import MarkKind
from shared.domain.quality import Score
from shared.domain.redaction import NOTHING, redact_text, without_marks
from shared.domain.words import FsmState, Strategy, TaskState, WriteStatus

_OWN_LIMIT = re.compile(
    r"\b(?:limits?|thresholds?|maximum|ceiling|cap|exceed\w*|too (?:high|large|much|big)|(?:over|above|beyond) the)\b",
    re.I,
)
_HOLDS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    ">": lambda actual, limit: actual > limit,
    ">=": lambda actual, limit: actual >= limit,
    "<": lambda actual, limit: actual < limit,
    "<=": lambda actual, limit: actual <= limit,
}


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
    if actual is None or limited is None or _HOLDS[limit.sign](actual, limited):
        return None
    return _make_outcome(limit, actual, held=False)


def _values_in_records(dossier: Dossier, about: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    """Yields the field's values in the records that these writes name in an argument."""
    named = {
        given for entry in about for given in loads_object(entry.arguments_json).values() if isinstance(given, str)
    }
    for fact in dossier.facts:
        records = [found for _, found in walk_json(fact.result) if isinstance(found, dict)] if fact.ok else []
        for record in records:
            number = figure(record.get(name))
            if number is not None and any(isinstance(value, str) and value in named for value in record.values()):
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
    return _HOLDS[limit.sign](actual, limited) is triggered


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
        duration_ms=round((now - record.accepted_at).total_seconds() * 1000),
        ended_at=now,
        worked=without_marks(_tools(ended, worked=True), hidden),
        failed=without_marks(_tools(ended, worked=False), hidden),
        thresholds=_thresholds(ended, hidden),
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


def _thresholds(ended: FinishedRun, hidden: Mapping[str, MarkKind]) -> tuple[PredictionOutcome, ...]:
    if ended.progress is None:
        return ()
    found = [one for one in threshold_outcomes(ended.progress, ended.writes) if one.actual is not None]
    said = [one.model_dump(include={"name", "predicted", "actual", "source"}) for one in found]
    return tuple(one.model_copy(update=without_marks(text, hidden)) for one, text in zip(found, said, strict=True))


def _strategy_applied(ended: FinishedRun, record: TaskRecord) -> bool:
    """Whether the chosen strategy carried the task to an end that tells how well it works."""
    carried = ended.progress is not None and not ended.progress.fell_back
    return carried and ended.state is not TaskState.CANCELED and not is_dry_run(record)


def _tools(ended: FinishedRun, *, worked: bool) -> tuple[str, ...]:
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
        "writes": [cast(JsonValue, i_json(_describe_write(entry))) for entry in entries],
        "doubts": [cast(JsonValue, i_json(describe_doubt(entry))) for entry in open_doubts(entries)],
        "resolutions": cast("list[JsonValue]", i_json(operator_words(entries))),
    }


def _describe_write(entry: LedgerEntry) -> JsonObject:
    return {
        "call_id": entry.call.call_id,
        "connection": entry.call.connection_id,
        "tool": entry.call.tool,
        "arguments": loads(entry.arguments_json),
        "status": entry.status.value,
        "note": entry.note,
        "attempt": entry.attempt,
        "compensates": entry.compensates,
    }
