"""Parses learning files (arms, totals, cases): either all entries, or what is wrong with them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, NamedTuple, TypeVar

from pydantic import AliasChoices, AwareDatetime, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from services.learner.ports.files import ArmRecord, FileTotals
from shared.contracts.base import FrozenModel, describe_first_error
from shared.contracts.digest import LONGEST_SUMMARY, shorten_notes
from shared.contracts.knowledge import Accuracy, CaseEntry
from shared.domain.bandit import REWARD_UNITS, Arm
from shared.domain.cases import CaseOutcome
from shared.domain.estimates import PREDICTIONS_KEPT, TREND_DAYS_KEPT, TREND_POINTS_KEPT, parse_trend
from shared.domain.exact_json import digest
from shared.domain.keywords import extract_keywords
from shared.domain.redaction import redact_text
from shared.domain.words import Strategy

MOST_PROBLEMS = 20
MOST_ENTRIES = 20_000
T = TypeVar("T")


class BadFile(Exception):
    """The file cannot be imported: ``problems`` names the first entries that are wrong."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems[:MOST_PROBLEMS])


class BadEntry(ValueError):
    """An entry of a file is wrong; the message says how."""


def entries_of_list(content: JsonValue, *names: str) -> list[JsonValue]:
    """The entries of a file that is a list, or an object with a list under one of the names. Raises ``BadFile``."""
    if isinstance(content, dict):
        content = next((content[name] for name in names if name in content), None)
    if not isinstance(content, list):
        raise BadFile([f"it is no list, and has none under {' or '.join(names)}"])
    return _check_count(content)


def entries_of_object(content: JsonValue, *names: str) -> Mapping[str, JsonValue]:
    """The entries of a file that is an object, or has an object under one of the names. Raises ``BadFile``."""
    if isinstance(content, dict):
        content = next((content[name] for name in names if name in content), content)
    if not isinstance(content, dict):
        raise BadFile(["it is no object"])
    _check_count(list(content))
    return content


def parse_entries(entries: Iterable[tuple[str, JsonValue]], read: Callable[[JsonValue], T]) -> list[T]:
    """Parses each entry with ``read``. Raises ``BadFile`` with the positions of wrong entries, up to a bound."""
    values: list[T] = []
    problems: list[str] = []
    for place, entry in entries:
        try:
            values.append(read(entry))
        except ValidationError as error:
            problems.append(f"{place}: {describe_first_error(error)}")
        except BadEntry as error:
            problems.append(f"{place}: {error}")
    if problems:
        raise BadFile(problems)
    return values


def number_entries(entries: Iterable[JsonValue]) -> Iterable[tuple[str, JsonValue]]:
    return ((f"entry {number}", entry) for number, entry in enumerate(entries, 1))


def _check_count(entries: list[JsonValue]) -> list[JsonValue]:
    if len(entries) > MOST_ENTRIES:
        raise BadFile([f"it has more than {MOST_ENTRIES} entries"])
    return entries


_MOST_PULLS = 10**9


class _Arm(FrozenModel):
    """An arm in a file. ``units``: the exact sum of rewards in ten-thousandths; computed from the mean if absent."""

    n: int = Field(ge=0, le=_MOST_PULLS, validation_alias=AliasChoices("n", "pulls", "count"))
    q: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False, validation_alias=AliasChoices("q", "mean", "value"))
    units: int | None = Field(default=None, ge=0)
    trend: str = ""


def read_arms(content: JsonValue) -> list[ArmRecord]:
    """The arms of a file, without those that were never pulled; raises ``BadFile``."""
    arms_by_kind = entries_of_object(content, "arms", "bandit")
    checked_arms = parse_entries(arms_by_kind.items(), _read_object)
    arm_entries = (
        (f"{kind} {strategy}", {"kind": kind, "strategy": strategy, "arm": arm})
        for kind, arms in zip(arms_by_kind, checked_arms, strict=True)
        for strategy, arm in arms.items()
    )
    return [record for record in parse_entries(arm_entries, _read_arm) if record.arm.n]


def _check_trend(entry: JsonValue) -> str:
    """Returns the entry if it is a valid stored trend. Raises ``BadEntry``."""
    if not isinstance(entry, str):
        raise BadEntry("it is no text")
    try:
        points = parse_trend(entry)
    except ValueError as error:
        raise BadEntry("trend: its points are not n:units:at") from error
    if len(points) > TREND_POINTS_KEPT:
        raise BadEntry(f"trend: it has more than {TREND_POINTS_KEPT} points")
    return entry


def _read_object(entry: JsonValue) -> dict[str, JsonValue]:
    if not isinstance(entry, dict):
        raise BadEntry("it is no object of strategies")
    return entry


def _read_arm(entry: JsonValue) -> ArmRecord:
    fields = _read_object(entry)
    try:
        strategy = Strategy(str(fields["strategy"]))
    except ValueError:
        raise BadEntry(f"a strategy is one of {', '.join(Strategy)}") from None
    arm = _Arm.model_validate(_read_object(fields["arm"]))
    units = round(arm.q * arm.n * REWARD_UNITS) if arm.units is None else arm.units
    if units > arm.n * REWARD_UNITS:
        raise BadEntry("units: more than its pulls could have earned")
    return ArmRecord((str(fields["kind"]), strategy.value), Arm(arm.n, units), _check_trend(arm.trend))


_MOST_KEYWORDS, _ID_CHARACTERS = 15, 16
EARLIEST_MOMENT, _LATEST_MOMENT = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def _read_notes(value: object) -> object:
    """The notes as a list: a single text becomes one note; an empty text or None becomes none."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [] if value is None else value


def _read_moment(value: object) -> object:
    """A time in a text, taken as UTC if it has no zone; any other value unchanged."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return value
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return value


Notes = Annotated[tuple[str, ...], BeforeValidator(_read_notes)]
Moment = Annotated[AwareDatetime, BeforeValidator(_read_moment), Field(ge=EARLIEST_MOMENT, le=_LATEST_MOMENT)]


class _Case(FrozenModel):
    model_config = ConfigDict(populate_by_name=True)

    case_id: str = Field(default="", max_length=200)
    summary: str = Field(validation_alias=AliasChoices("summary", "task_summary"), min_length=1)
    keywords: tuple[str, ...] = ()
    outcome: CaseOutcome
    quality: float = Field(ge=0, le=1, allow_inf_nan=False)
    worked: Notes = Field(default=(), validation_alias=AliasChoices("worked", "what_worked"))
    failed: Notes = Field(default=(), validation_alias=AliasChoices("failed", "what_failed"))
    tool_count: int = Field(default=0, ge=0)
    domain: str = "general"
    strategy: Strategy = Strategy.FSM
    session_id: str = ""
    task_id: str = ""
    formula: str = ""
    parts: dict[str, float] = {}
    at: Moment = Field(validation_alias=AliasChoices("at", "timestamp", "created_at"))


def read_cases(content: JsonValue) -> list[CaseEntry]:
    """The cases of a file, newest first, with protected values removed; raises ``BadFile``."""
    return parse_entries(number_entries(entries_of_list(content, "cases", "entries", "case_log")), _read_case)[::-1]


def _read_case(entry: JsonValue) -> CaseEntry:
    if not isinstance(entry, dict):
        raise BadEntry("it is no object")
    case = _Case.model_validate(entry)
    summary = redact_text(case.summary)[:LONGEST_SUMMARY]
    fields = case.model_dump(exclude={"case_id", "keywords", "summary"})
    return CaseEntry.model_validate(
        {
            **fields,
            "case_id": case.case_id or f"import-{digest([summary, case.at.isoformat()])[:_ID_CHARACTERS]}",
            "summary": summary,
            "keywords": tuple(redact_text(word) for word in case.keywords[:_MOST_KEYWORDS])
            or extract_keywords(summary),
            "worked": shorten_notes(case.worked),
            "failed": shorten_notes(case.failed),
        }
    )


_OUTCOME_NAMES = tuple(outcome.value for outcome in CaseOutcome)
_COUNT_NAMES = ("events", *_OUTCOME_NAMES, "quality_units")
_DAY_AND_COUNT_PATTERN = re.compile(rf"\d{{4}}-\d\d-\d\d:({'|'.join(_COUNT_NAMES)})")
_PREDICTION_PATTERN = re.compile(r"[^:]*:[^:]+")
_LARGEST_NUMBER = 10**12


class FileStatistics(NamedTuple):
    totals: FileTotals
    accuracy: Mapping[str, Accuracy]


def read_statistics(content: JsonValue) -> FileStatistics:
    """The statistics in a file. Raises ``BadFile``."""
    parts = entries_of_object(content)
    counts = _read_counts(parts.get("counts", {}), "counts")
    days = _read_counts(parts.get("days", {}), "days")
    problems = [f"days {name}: it is no day and count" for name in days if not _DAY_AND_COUNT_PATTERN.fullmatch(name)]
    problems += [f"counts {name}: it is not known" for name in counts if name not in _COUNT_NAMES]
    if sum(counts.get(kind, 0) for kind in _OUTCOME_NAMES) > counts.get("events", 0):
        problems.append("counts: more outcomes than events")
    if counts.get("quality_units", 0) > REWARD_UNITS * counts.get("events", 0):
        problems.append("counts quality_units: more than its events could have earned")
    if len({name.partition(":")[0] for name in days}) > TREND_DAYS_KEPT:
        problems.append(f"days: more than {TREND_DAYS_KEPT} days")
    if problems:
        raise BadFile(problems)
    trend = parse_entries([("quality_trend", parts.get("quality_trend", ""))], _check_trend)[0]
    accuracy = entries_of_object(parts.get("accuracy", {}))
    unknown = [name for name in accuracy if not _PREDICTION_PATTERN.fullmatch(name)]
    if unknown:
        raise BadFile([f"accuracy {name}: it is no process type and kind" for name in unknown])
    rows = parse_entries(((f"accuracy {name}", row) for name, row in accuracy.items()), _read_accuracy)
    return FileStatistics(FileTotals(counts, days, trend), dict(zip(accuracy, rows, strict=True)))


def _read_counts(content: JsonValue, part: str) -> dict[str, int]:
    entries = entries_of_object(content)
    counts = parse_entries(((f"{part} {name}", entry) for name, entry in entries.items()), _check_number)
    return dict(zip(entries, counts, strict=True))


def _check_number(entry: JsonValue) -> int:
    if isinstance(entry, bool) or not isinstance(entry, int) or not 0 <= entry <= _LARGEST_NUMBER:
        raise BadEntry("it is no count")
    return entry


def _read_accuracy(entry: JsonValue) -> Accuracy:
    accuracy = Accuracy.model_validate(entry)
    if not 0 <= accuracy.matches <= accuracy.attempts <= _LARGEST_NUMBER or len(accuracy.window) > PREDICTIONS_KEPT:
        raise BadEntry("its numbers do not fit together")
    return accuracy
