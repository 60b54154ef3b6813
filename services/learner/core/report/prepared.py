"""Training rows out of reports: what failed, with its cause; and rows that a report brings ready-made."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from services.learner.core.report.report import Report
from services.learner.core.report.shapes import Entry, ReportScores, entries
from services.learner.core.training.rows import TrainingRow, TrainingType, why

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


def _scenario(entry: Entry) -> str:
    said = entry.said.get("scenario")
    return said if isinstance(said, str) else ""
