"""A report of a benchmark in whatever shape it comes: how it went, what failed most, what that teaches later tasks."""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from services.learner.core.files.importer import Importer
from services.learner.core.training import BadRow, Rows, TrainingRow, TrainingType, read_rows_of, why
from shared.contracts.learning_files import FileRequest, LearningFile
from shared.domain.keywords import keywords
from shared.domain.redaction import redact_text

_NAMES = (
    "name", "dimension", "scenario", "scenario_id", "scenario_name", "test", "failure", "failure_mode", "failure_type",
    "pattern", "title", "label", "key", "task_id", "id",
)  # fmt: skip
_SCORES = ("overall_score", "score", "avg_score", "average_score", "mean_score", "mean", "average", "avg", "pass_rate")
_CAUSES = ("failure_cause", "cause", "root_cause", "reason", "why", "failure_reason", "error", "issue", "description")
_TEXTS = ("task_text", "task", "prompt", "request", "input", "text", "question", "instruction")
_VALUE = "value"


class Entry(NamedTuple):
    """One line of a part: what it is about, and what is said of it."""

    name: str
    said: Mapping[str, JsonValue]

    @property
    def named_score(self) -> tuple[str, float] | None:
        """The score that is given, and under which name."""
        found = ((name, _number(self.said.get(name))) for name in (*_SCORES, _VALUE))
        return next(((name, score) for name, score in found if score is not None), None)

    @property
    def cause(self) -> str:
        return _first_text(self.said, _CAUSES)

    @property
    def text(self) -> str:
        return _first_text(self.said, _TEXTS)


def entries(part: JsonValue) -> list[Entry]:
    """The lines of a part, in their order. Nothing at all has none."""
    if isinstance(part, dict):
        one = _is_one_entry(part)
        return [_of_object(part)] if one else [_of_mapping(name, inner) for name, inner in part.items()]
    if isinstance(part, list):
        return [_of_list(one) for one in part]
    return [] if part in (None, "") else [_of_list(part)]


def columns(found: Iterable[Entry]) -> list[str]:
    """What is said of any of them, in the order in which it comes up."""
    return list(dict.fromkeys(name for entry in found for name in entry.said))


class ReportScores:
    """Scores from 0 to 1, whichever scale a report has: under a name with one that is over 1, all are out of 100."""

    def __init__(self, found: Iterable[Entry]) -> None:
        scored = [entry.named_score for entry in found]
        self._percent = {name for name, score in filter(None, scored) if score > 1}

    def score_of(self, entry: Entry | None) -> float | None:
        if entry is None or entry.named_score is None:
            return None
        name, score = entry.named_score
        return score / 100 if name in self._percent else score


def _is_one_entry(part: Mapping[str, JsonValue]) -> bool:
    """Whether the mapping speaks of one thing, and not of one thing for each of its names."""
    return any(isinstance(part.get(name), str) for name in _NAMES) and not any(
        isinstance(one, dict) for one in part.values()
    )


def _of_list(one: JsonValue) -> Entry:
    return _of_object(one) if isinstance(one, dict) else Entry(as_word(one), {})


def _of_object(one: Mapping[str, JsonValue]) -> Entry:
    name = next((name for name in _NAMES if isinstance(one.get(name), str | int) and one[name] != ""), None)
    return Entry(as_word(one[name]) if name else "", {key: value for key, value in one.items() if key != name})


def _of_mapping(name: str, one: JsonValue) -> Entry:
    return Entry(name, one if isinstance(one, dict) else {_VALUE: one})


def as_word(value: JsonValue) -> str:
    """A value as a word in a table."""
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
        case list():
            return ", ".join(map(as_word, value))
        case dict():
            return ", ".join(f"{name}: {as_word(inner)}" for name, inner in value.items())
        case _:
            return str(value)


def _number(value: JsonValue) -> float | None:
    """Also one that is written as a text, with or without a percent sign."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    return found if 0 <= found <= 100 else None


def _first_text(said: Mapping[str, JsonValue], names: Iterable[str]) -> str:
    texts = (said.get(name) for name in names)
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")


REPORTS_PREFIX = "agentbench-reports/"
_PARTS = ("dimension_analysis", "top_failures", "scenario_difficulty_ranking", "next_4h_recommended_tests")
_NEVER = datetime(1, 1, 1, tzinfo=UTC)


class BadReport(Exception):
    """The content is no report; the message says why."""


class Report(NamedTuple):
    """``told`` is all of it; ``source`` the name of where it was found."""

    source: str
    told: dict[str, JsonValue]

    def part(self, name: str) -> list[Entry]:
        return entries(self.told.get(name))

    @property
    def at(self) -> datetime:
        """When it was made; long ago, if it does not say so."""
        said = self.told.get("generated_at")
        try:
            at = datetime.fromisoformat(said) if isinstance(said, str) else _NEVER
        except ValueError:
            return _NEVER
        return at if at.tzinfo else at.replace(tzinfo=UTC)


def read_report(source: str, content: bytes) -> Report:
    """The report that a text holds. Raises ``BadReport``: it is no JSON object, or has none of a report's parts."""
    try:
        told: JsonValue = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadReport(f"{source} is no JSON: {type(error).__name__}") from error
    if not isinstance(told, dict):
        raise BadReport(f"{source} is no JSON object")
    inner = told.get("report")
    if isinstance(inner, dict) and not _is_report(told):
        told = inner
    if not _is_report(told):
        raise BadReport(f"{source} has no part of a report: {', '.join(_PARTS)}")
    return Report(source, told)


def as_json(report: Report) -> dict[str, JsonValue]:
    """For whoever shows it: head, and each part as columns and rows."""
    head: dict[str, JsonValue] = {
        name: report.told.get(name) for name in ("generated_at", "period_hours", "total_runs", "pass_rate")
    }
    parts: dict[str, JsonValue] = {name: _table(report.part(name)) for name in _PARTS}
    return {"source": report.source, **head, **parts}


def _is_report(told: dict[str, JsonValue]) -> bool:
    return any(name in told for name in (*_PARTS, "pass_rate", "total_runs"))


def _table(found: list[Entry]) -> JsonValue:
    names = columns(found)
    rows: list[JsonValue] = [[entry.name, *(entry.said.get(name) for name in names)] for entry in found]
    return {"columns": ["name", *names], "rows": rows}


_SIGNALS, _FAILURES, _RANKING = "brainos_training_signals", "top_failures", "scenario_difficulty_ranking"
_ROWS = ("rows", "examples", "training_rows", "signals", "data")


class PreparedRows(NamedTuple):
    """Rows in the training format, and what no row could be made of, with its reason."""

    rows: Sequence[dict[str, JsonValue]]
    skipped: Sequence[str]


def prepare_training(reports: Iterable[Report]) -> PreparedRows:
    """No score is made up: what has none, neither itself nor in the ranking of its scenario, becomes no row."""
    rows: list[dict[str, JsonValue]] = []
    skipped: list[str] = []
    for report in reports:
        for found in (*_ready_made(report), *_failures(report)):
            skipped.append(found) if isinstance(found, str) else rows.append(found)
    return PreparedRows(list({str(row): row for row in rows}.values()), skipped)


def _ready_made(report: Report) -> Iterator[dict[str, JsonValue] | str]:
    for number, signal in enumerate(_signals(report.told.get(_SIGNALS)), 1):
        if not (isinstance(signal, dict) and "messages" in signal):
            continue
        try:
            TrainingRow.model_validate(signal)
        except ValidationError as error:
            yield f"{report.source}: {_SIGNALS} {number}: {why(error)}"
        else:
            yield signal


def _signals(part: JsonValue) -> list[JsonValue]:
    if isinstance(part, dict):
        return [one for name in _ROWS for one in _signals(part.get(name))]
    return part if isinstance(part, list) else []


def _failures(report: Report) -> Iterator[dict[str, JsonValue] | str]:
    ranking = {entry.name: entry for entry in report.part(_RANKING)}
    told = [one for one in _signals(report.told.get(_SIGNALS)) if not (isinstance(one, dict) and "messages" in one)]
    failures = [(_FAILURES, entry, TrainingType.NEGATIVE_CORRECTED) for entry in report.part(_FAILURES)]
    signals = [(_SIGNALS, entry, _type_of(entry)) for entry in entries(told)]
    scores = ReportScores((*ranking.values(), *(entry for _, entry, _ in (*failures, *signals))))
    for part, entry, kind in (*failures, *signals):
        ranked = ranking.get(entry.name) or ranking.get(_scenario(entry))
        yield _row(report, part, entry, ranked, kind, scores)


def _type_of(entry: Entry) -> TrainingType | None:
    try:
        return TrainingType(str(entry.said.get("training_type")))
    except ValueError:
        return None


def _row(
    report: Report, part: str, entry: Entry, ranked: Entry | None, kind: TrainingType | None, scores: ReportScores
) -> dict[str, JsonValue] | str:
    """A row, or why there is none."""
    name = entry.name or _scenario(entry)
    text = entry.text or " ".join(name.replace("_", " ").split())
    own = scores.score_of(entry)
    score = scores.score_of(ranked) if own is None else own
    if not text or score is None or kind is None:
        missing = "what was asked for" if not text else "its score" if score is None else "its training_type"
        return f"{report.source}: {part}: {name or 'an entry'} does not say {missing}"
    ranking = ranked.said if ranked else {}
    metadata: dict[str, JsonValue] = {
        "task_id": entry.said.get("task_id") or name,
        "scenario": _scenario(entry) or name,
        "difficulty": entry.said.get("difficulty") or ranking.get("difficulty"),
        "source": report.source,
        "overall_score": round(score, 4),
        "training_type": kind.value,
        "failure_cause": (entry.cause or name) if kind is TrainingType.NEGATIVE_CORRECTED else "",
        "tool_count": 0,
        "generated_at": report.told.get("generated_at"),
    }
    return {"messages": [{"role": "user", "content": text}], "metadata": metadata}


_TAUGHT = ("top_failures", "brainos_training_signals")
_MOST = 20
_TEXT, _PART = 240, 80  # characters
_UNSCORED = 0.5  # the worth of a fact whose failure has no score, as of any imported fact
_FAILS_OF = "usual failure"
_LONG_AGO = datetime(2, 1, 1, tzinfo=UTC)


def report_rows(name: str, content: bytes) -> Rows:
    """The failures and ready-made rows of a report, as training rows. Never raises: what is no report is a bad row."""
    try:
        found = prepare_training([read_report(name, content)])
    except BadReport as bad:
        return Rows([], [BadRow("the object", str(bad))], 1.0)
    rows = read_rows_of((f"row {number}", row) for number, row in enumerate(_on_one_scale(found.rows, name), 1))
    return rows._replace(bad=[*rows.bad, *(BadRow("the report", reason) for reason in found.skipped)])


def report_facts(name: str, content: bytes, now: datetime) -> list[dict[str, JsonValue]]:
    """What tasks of each kind failed of, as entries of ``knowledge_base.json``; nothing of what is no report.

    A newer report says it of the same subject and attribute, and so replaces what an older one said.
    """
    try:
        report = read_report(name, content)
    except BadReport:
        return []
    at = report.at if report.at > _LONG_AGO else now
    facts = (_fact(entry, min(at, now), name) for part in _TAUGHT for entry in report.part(part))
    return [*_first_of_each(fact for fact in facts if fact is not None)][:_MOST]


def _on_one_scale(rows: Sequence[dict[str, JsonValue]], source: str) -> list[dict[str, JsonValue]]:
    """Ready-made rows out of 100 beside those that were made of failures, which are from 0 to 1."""
    ready = [row for row in rows if _metadata(row).get("source") != source]
    if not any(_score(row) > 1 for row in ready):
        return [*rows]
    return [
        {**row, "metadata": {**_metadata(row), "overall_score": _score(row) / 100}} if row in ready else row
        for row in rows
    ]


def _metadata(row: dict[str, JsonValue]) -> dict[str, JsonValue]:
    told = row.get("metadata")
    return told if isinstance(told, dict) else {}


def _score(row: dict[str, JsonValue]) -> float:
    score = _metadata(row).get("overall_score")
    return score if isinstance(score, int | float) and not isinstance(score, bool) else 0.0


def _fact(entry: Entry, at: datetime, source: str) -> dict[str, JsonValue] | None:
    """None for an entry that says no cause, or in which the privacy guard marks something."""
    subject, cause = _plain(_scenario(entry) or entry.name), _plain(entry.cause)
    text = f"Tasks of the kind {subject!r} failed in a benchmark: {cause}"
    if not subject or not cause or redact_text(text) != text:
        return None
    return {
        "text": text[:_TEXT],
        "domain": _scenario(entry) or entry.name,
        "keywords": [*keywords(f"{subject} {entry.text} {cause}")],
        "entities": [subject[:_PART]],
        "quality": _UNSCORED,
        "task_id": source,
        "at": at.isoformat(),
        "subject": subject[:_PART],
        "attribute": _FAILS_OF,
        "value": cause[:_PART],
    }


def _first_of_each(facts: Iterator[dict[str, JsonValue]]) -> Iterator[dict[str, JsonValue]]:
    """The first of a subject: the failure that is named first is the one that weighs most."""
    subjects: set[JsonValue] = set()
    for fact in facts:
        if fact["subject"] not in subjects:
            subjects.add(fact["subject"])
            yield fact


def _scenario(entry: Entry) -> str:
    said = entry.said.get("scenario")
    return said.strip() if isinstance(said, str) else ""


def _plain(text: str) -> str:
    return " ".join(text.replace("_", " ").split())


def report_teacher(
    importer: Importer, tenant: str, clock: Callable[[], datetime]
) -> Callable[[str, bytes], Awaitable[None]]:
    """What takes in one report; repeat it freely. It raises ``StoreUnavailable``."""

    async def teach(name: str, content: bytes) -> None:
        facts = report_facts(name, content, clock())
        if facts:
            await importer.carry_out(FileRequest(tenant=tenant, file=LearningFile.KNOWLEDGE_BASE, content=[*facts]))

    return teach
