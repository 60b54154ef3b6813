"""What a benchmark report teaches later tasks: what tasks of a kind failed of, as facts, and its failures as cases."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from pydantic import JsonValue

from services.learner.core.report.prepared import prepare_training
from services.learner.core.report.report import BadReport, read_report
from services.learner.core.report.shapes import Entry
from services.learner.core.training.rows import BadRow, Rows, read_rows_of
from shared.domain.keywords import keywords
from shared.domain.redaction import redact_text

_PARTS = ("top_failures", "brainos_training_signals")
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
    facts = (_fact(entry, min(at, now), name) for part in _PARTS for entry in report.part(part))
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
