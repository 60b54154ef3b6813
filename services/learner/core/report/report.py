"""A report of a benchmark: how it went by dimension, what failed most, and which scenarios are hard."""

import json
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import JsonValue

from services.learner.core.report.shapes import Entry, columns, entries

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
