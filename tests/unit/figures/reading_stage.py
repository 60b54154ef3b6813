"""What the tests of readings share: a fixed Wednesday, and short ways to ask."""

from collections.abc import Mapping, Set
from datetime import date, datetime
from zoneinfo import ZoneInfo

from services.executor.core.figures.arguments import hints_of_argument
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.trace import (
    ArgumentTrace,
    CalculatedResult,
    FactsIndex,
    TraceSources,
    is_value_in_text,
    trace_scalar,
)
from services.executor.core.session.values import Fact
from shared.domain.exact_json import Json, JsonObject, dumps

NOW = datetime(2026, 3, 4, 10, tzinfo=ZoneInfo("Europe/Berlin"))  # a Wednesday


def read(text: str) -> Mentions:
    return find_mentions(text, NOW)


def days_in(text: str) -> set[date]:
    return set(read(text).days)


def is_said(text: str, name: str, value: Json, schema: JsonObject | None = None) -> bool:
    return is_value_in_text(value, hints_of_argument(name, schema or {}, value), read(text))


def as_facts(results: Mapping[str, Json], tool: str = "get_it") -> list[Fact]:
    return [
        Fact(ref=ref, connection_id="c", tool=tool, arguments_json="{}", result_json=dumps(result))
        for ref, result in results.items()
    ]


def sources(
    task: str = "",
    facts: Mapping[str, Json] | None = None,
    *,
    earlier: tuple[str, ...] = (),
    calculated: Mapping[str, CalculatedResult] | None = None,
    in_cents: Set[str] = frozenset(),
) -> TraceSources:
    index = FactsIndex(as_facts(facts or {}), NOW)
    return TraceSources(read(task), index, NOW, tuple(map(read, earlier)), calculated or {}, in_cents)


def trace(name: str, value: Json, known: TraceSources, schema: JsonObject | None = None) -> ArgumentTrace:
    return trace_scalar(name, schema or {}, value, known)
