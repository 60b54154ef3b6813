"""Parses benchmark reports of any shape: their results, most frequent failures, and what they teach later tasks."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeGuard

from pydantic import JsonValue, ValidationError

from services.learner.core.files.formats import EARLIEST_MOMENT
from services.learner.core.files.importer import Importer
from services.learner.core.training import BadRow, TrainingRow, TrainingRows, TrainingType, validate_training_rows
from shared.contracts.base import describe_first_error
from shared.contracts.learning_files import LearningFile, LearningImportRequest
from shared.domain.keywords import extract_keywords
from shared.domain.redaction import redact_text

_NAME_FIELDS = (
    "name", "dimension", "scenario", "scenario_id", "scenario_name", "test", "failure", "failure_mode", "failure_type",
    "pattern", "title", "label", "key", "task_id", "id",
)  # fmt: skip
_SCORE_FIELDS = "overall_score score avg_score average_score mean_score mean average avg pass_rate".split()
_CAUSE_FIELDS = "failure_cause cause root_cause reason why failure_reason error issue description".split()
_TEXT_FIELDS = ("task_text", "task", "prompt", "request", "input", "text", "question", "instruction")
_VALUE_FIELD = "value"


class ReportEntry(NamedTuple):
    """One line of a section of a benchmark report: ``name``, what it is about, and ``fields``, the values given for
    it.
    """

    name: str
    fields: Mapping[str, JsonValue]

    @property
    def named_score(self) -> tuple[str, float] | None:
        """The entry's first score with the name of its field; None if it has no score."""
        scores_by_name = (
            (name, _parse_percent_or_number(self.fields.get(name))) for name in (*_SCORE_FIELDS, _VALUE_FIELD)
        )
        return next(((name, score) for name, score in scores_by_name if score is not None), None)

    @property
    def cause(self) -> str:
        """Why the task failed, as the entry says; empty if it does not."""
        return _find_first_text(self.fields, _CAUSE_FIELDS)

    @property
    def text(self) -> str:
        """The task's text; empty if the entry has none."""
        return _find_first_text(self.fields, _TEXT_FIELDS)


def list_report_entries(content: JsonValue) -> list[ReportEntry]:
    """The entries of a section of a report in order, whether it is an object, a list or a single value."""
    if isinstance(content, dict):
        if _is_single_entry(content):
            return [_build_entry_from_object(content)]
        fields_by_name = {name: row if isinstance(row, dict) else {_VALUE_FIELD: row} for name, row in content.items()}
        return [ReportEntry(name, fields) for name, fields in fields_by_name.items()]
    if isinstance(content, list):
        return [_build_entry_from_list_item(list_item) for list_item in content]
    return [] if content in (None, "") else [_build_entry_from_list_item(content)]


def list_column_names(entries: Iterable[ReportEntry]) -> list[str]:
    """The names of all fields in the entries, in the order of their first appearance."""
    return list(dict.fromkeys(name for entry in entries for name in entry.fields))


class ReportScores:
    """Converts a report's scores to numbers from 0 to 1. If any score under a name exceeds 1, all scores under that
    name are out of 100.
    """

    def __init__(self, entries: Iterable[ReportEntry]) -> None:
        named_scores = [entry.named_score for entry in entries]
        self._percent = {name for name, score in filter(None, named_scores) if score > 1}

    def get_score(self, entry: ReportEntry | None) -> float | None:
        """The score of an entry from 0 to 1, also if it is given in per cent; None without an entry, or one with a
        score.
        """
        if entry is None or entry.named_score is None:
            return None
        name, score = entry.named_score
        return score / 100 if name in self._percent else score


def _is_single_entry(mapping: Mapping[str, JsonValue]) -> bool:
    """Whether the mapping describes one subject, rather than mapping subjects to their values."""
    return any(isinstance(mapping.get(name), str) for name in _NAME_FIELDS) and not any(
        isinstance(inner, dict) for inner in mapping.values()
    )


def _build_entry_from_list_item(list_item: JsonValue) -> ReportEntry:
    return (
        _build_entry_from_object(list_item)
        if isinstance(list_item, dict)
        else ReportEntry(_format_entry_name(list_item), {})
    )


def _build_entry_from_object(fields: Mapping[str, JsonValue]) -> ReportEntry:
    name = next((name for name in _NAME_FIELDS if isinstance(fields.get(name), str | int) and fields[name] != ""), None)
    return ReportEntry(
        _format_entry_name(fields[name]) if name else "", {key: fields[key] for key in fields if key != name}
    )


def _format_entry_name(value: JsonValue) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _parse_percent_or_number(value: JsonValue) -> float | None:
    """A number from 0 to 100 from a number or a text; ``50%`` is 0.5. None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    return number if 0 <= number <= 100 else None


def _find_first_text(fields: Mapping[str, JsonValue], names: Iterable[str]) -> str:
    texts = (fields.get(name) for name in names)
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")


REPORTS_PREFIX = "agentbench-reports/"
_PART_NAMES = ("dimension_analysis", "top_failures", "scenario_difficulty_ranking", "next_4h_recommended_tests")
_NO_DATE = datetime(1, 1, 1, tzinfo=UTC)


class BadReport(Exception):
    """The content is not a report; the message says why."""


class BenchmarkReport(NamedTuple):
    """A parsed report. ``content``: its whole content; ``source``: the name of its file or object."""

    source: str
    content: dict[str, JsonValue]

    def list_entries_of_section(self, section: str) -> list[ReportEntry]:
        return list_report_entries(self.content.get(section))

    @property
    def made_at(self) -> datetime:
        """When the report was made; a date long ago if it does not say."""
        date_text = self.content.get("generated_at")
        try:
            at = datetime.fromisoformat(date_text) if isinstance(date_text, str) else _NO_DATE
        except ValueError:
            return _NO_DATE
        return at if at.tzinfo else at.replace(tzinfo=UTC)


def parse_report(source: str, content: bytes) -> BenchmarkReport:
    """Parses a report. Raises ``BadReport`` for what is not a JSON object or has none of a report's sections."""
    try:
        parsed_content: JsonValue = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadReport(f"{source} is no JSON: {type(error).__name__}") from error
    if not isinstance(parsed_content, dict):
        raise BadReport(f"{source} is no JSON object")
    inner_report = parsed_content.get("report")
    if isinstance(inner_report, dict) and not _is_report(parsed_content):
        parsed_content = inner_report
    if not _is_report(parsed_content):
        raise BadReport(f"{source} has no part of a report: {', '.join(_PART_NAMES)}")
    return BenchmarkReport(source, parsed_content)


def convert_report_to_json(report: BenchmarkReport) -> dict[str, JsonValue]:
    """The report for display: its name and time, and each section as columns and rows."""
    head: dict[str, JsonValue] = {
        name: report.content.get(name) for name in ("generated_at", "period_hours", "total_runs", "pass_rate")
    }
    parts: dict[str, JsonValue] = {
        name: _convert_entries_to_columns_and_rows(report.list_entries_of_section(name)) for name in _PART_NAMES
    }
    return {"source": report.source, **head, **parts}


def _is_report(fields: dict[str, JsonValue]) -> bool:
    return any(name in fields for name in (*_PART_NAMES, "pass_rate", "total_runs"))


def _convert_entries_to_columns_and_rows(entries: list[ReportEntry]) -> JsonValue:
    names = list_column_names(entries)
    rows: list[JsonValue] = [[entry.name, *(entry.fields.get(name) for name in names)] for entry in entries]
    return {"columns": ["name", *names], "rows": rows}


_SIGNALS = "brainos_training_signals"
_FAILURES = "top_failures"
_RANKING = "scenario_difficulty_ranking"
_TASK_TEXT = "what was asked for"
_ROW_FIELDS = ("rows", "examples", "training_rows", "signals", "data")


class PreparedRows(NamedTuple):
    """Rows in the training format, and for each entry that gave none, the reason."""

    rows: Sequence[dict[str, JsonValue]]
    skipped: Sequence[str]


def build_training_rows(reports: Iterable[BenchmarkReport]) -> PreparedRows:
    """Builds a training row from each entry of the reports that has a text, a type, and a score of its own or its
    scenario's. For every other entry the result says why it gave none.
    """
    rows: list[dict[str, JsonValue]] = []
    reasons: list[str] = []
    for report in reports:
        for row_or_reason in (*_list_ready_made_rows(report), *_build_rows_or_reasons(report)):
            reasons.append(row_or_reason) if isinstance(row_or_reason, str) else rows.append(row_or_reason)
    return PreparedRows(list({str(row): row for row in rows}.values()), reasons)


def _list_ready_made_rows(report: BenchmarkReport) -> Iterator[dict[str, JsonValue] | str]:
    for number, signal in enumerate(_read_signal_rows(report.content.get(_SIGNALS)), 1):
        if not _is_training_signal(signal):
            continue
        try:
            TrainingRow.model_validate(signal)
        except ValidationError as error:
            yield f"{report.source}: {_SIGNALS} {number}: {describe_first_error(error)}"
        else:
            yield signal


def _is_training_signal(signal: JsonValue) -> TypeGuard[dict[str, JsonValue]]:
    """Whether the value is an object with the fields of a ready-made training row."""
    return isinstance(signal, dict) and "messages" in signal


def _read_signal_rows(content: JsonValue) -> list[JsonValue]:
    if isinstance(content, dict):
        return [signal for name in _ROW_FIELDS for signal in _read_signal_rows(content.get(name))]
    return content if isinstance(content, list) else []


def _build_rows_or_reasons(report: BenchmarkReport) -> Iterator[dict[str, JsonValue] | str]:
    ranking = {entry.name: entry for entry in report.list_entries_of_section(_RANKING)}
    all_signals = _read_signal_rows(report.content.get(_SIGNALS))
    plain_signals = [signal for signal in all_signals if not _is_training_signal(signal)]
    failures = [
        (_FAILURES, entry, TrainingType.NEGATIVE_CORRECTED) for entry in report.list_entries_of_section(_FAILURES)
    ]
    signals = [(_SIGNALS, entry, _read_training_type(entry)) for entry in list_report_entries(plain_signals)]
    scores = ReportScores((*ranking.values(), *(entry for _, entry, _ in (*failures, *signals))))
    for part_name, entry, kind in (*failures, *signals):
        ranked_entry = ranking.get(entry.name) or ranking.get(_get_scenario_name(entry))
        yield _build_row(report, part_name, entry, ranked_entry, kind, scores)


def _read_training_type(entry: ReportEntry) -> TrainingType | None:
    try:
        return TrainingType(str(entry.fields.get("training_type")))
    except ValueError:
        return None


def _build_row(
    report: BenchmarkReport,
    part: str,
    entry: ReportEntry,
    ranked_entry: ReportEntry | None,
    kind: TrainingType | None,
    scores: ReportScores,
) -> dict[str, JsonValue] | str:
    """A training row, or the reason why the entry gives none."""
    name = entry.name or _get_scenario_name(entry)
    text = entry.text or " ".join(name.replace("_", " ").split())
    own_score = scores.get_score(entry)
    score = scores.get_score(ranked_entry) if own_score is None else own_score
    if not text or score is None or kind is None:
        missing_field = "its training_type" if score is not None else "its score"
        return f"{report.source}: {part}: {name or 'an entry'} does not say {missing_field if text else _TASK_TEXT}"
    ranking = ranked_entry.fields if ranked_entry else {}
    metadata: dict[str, JsonValue] = {
        "task_id": entry.fields.get("task_id") or name,
        "scenario": _get_scenario_name(entry) or name,
        "difficulty": entry.fields.get("difficulty") or ranking.get("difficulty"),
        "source": report.source,
        "overall_score": round(score, 4),
        "training_type": kind.value,
        "failure_cause": (entry.cause or name) if kind is TrainingType.NEGATIVE_CORRECTED else "",
        "tool_count": 0,
        "generated_at": report.content.get("generated_at"),
    }
    return {"messages": [{"role": "user", "content": text}], "metadata": metadata}


_MOST_FACTS = 20
_LONGEST_TEXT, _LONGEST_FIELD = 240, 80  # characters
_UNSCORED_WORTH = 0.5  # the worth of a fact whose failure has no score, as of any imported fact
_FAILURE_ATTRIBUTE = "usual failure"


def validate_report_rows(name: str, content: bytes) -> TrainingRows:
    """The training rows of a report: those that it holds ready-made, and those of its failures. For content that is no
    report, one bad row.
    """
    try:
        report = parse_report(name, content)
        groups = [
            validate_training_rows((f"row {number}", row) for number, row in enumerate(rows, 1))
            for rows in (_list_ready_made_rows(report), _build_rows_or_reasons(report))
        ]
    except BadReport as error:
        return TrainingRows([], [BadRow("the object", str(error))])
    except RecursionError:
        return TrainingRows([], [BadRow("the object", "it is nested too deeply")])
    return TrainingRows([row for group in groups for row in group.good], [row for group in groups for row in group.bad])


def build_failure_facts(name: str, content: bytes, now: datetime) -> list[dict[str, JsonValue]]:
    """Why tasks of each kind failed, as entries of ``knowledge_base.json``; empty for anything but a report.

    Facts of a newer report replace those of an older one, since they have the same subject and attribute.
    """
    try:
        report = parse_report(name, content)
        entries = (*report.list_entries_of_section(_FAILURES), *report.list_entries_of_section(_SIGNALS))
    except (BadReport, RecursionError):
        return []
    at = report.made_at if report.made_at >= EARLIEST_MOMENT else now
    facts: dict[JsonValue, dict[str, JsonValue]] = {}
    for entry in entries:
        if fact := _build_failure_fact(entry, min(at, now), name):
            facts.setdefault(fact["subject"], fact)  # reports list the most important failure first
    return [*facts.values()][:_MOST_FACTS]


def _build_failure_fact(entry: ReportEntry, at: datetime, source: str) -> dict[str, JsonValue] | None:
    """Builds an entry of ``knowledge_base.json`` that says why tasks of the entry's kind failed; None if the entry
    gives no cause, or contains a protected value.
    """
    subject = _shorten_text_for_fact(_get_scenario_name(entry) or entry.name)
    cause = _shorten_text_for_fact(entry.cause)
    text = f"Tasks of the kind {subject!r} failed in a benchmark: {cause}"
    if not subject or not cause or redact_text(text) != text:
        return None
    return {
        "text": text[:_LONGEST_TEXT],
        "domain": _get_scenario_name(entry) or entry.name,
        "keywords": [*extract_keywords(f"{subject} {entry.text} {cause}")],
        "entities": [subject[:_LONGEST_FIELD]],
        "quality": _UNSCORED_WORTH,
        "task_id": source,
        "at": at.isoformat(),
        "subject": subject[:_LONGEST_FIELD],
        "attribute": _FAILURE_ATTRIBUTE,
        "value": cause[:_LONGEST_FIELD],
    }


def _get_scenario_name(entry: ReportEntry) -> str:
    scenario = entry.fields.get("scenario")
    return scenario.strip() if isinstance(scenario, str) else ""


def _shorten_text_for_fact(text: str) -> str:
    return " ".join(text.replace("_", " ").split())


def make_report_importer(
    importer: Importer, tenant: str, clock: Callable[[], datetime]
) -> Callable[[str, bytes], Awaitable[None]]:
    """A function that imports the facts of one report; it may be repeated and raises ``StoreUnavailable``."""

    async def import_facts_of_report(name: str, content: bytes) -> None:
        facts = await asyncio.to_thread(build_failure_facts, name, content, clock())
        if facts:
            await importer.import_file(
                LearningImportRequest(tenant=tenant, file=LearningFile.KNOWLEDGE_BASE, content=[*facts])
            )

    return import_facts_of_report
