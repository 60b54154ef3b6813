"""Parses learning files: either all entries, or what is wrong with the first of them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, NamedTuple, Self, TypeVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    AwareDatetime,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from services.learner.ports.files import ArmRecord, EntityRecord, TaskStatistics
from shared.contracts.base import FrozenModel
from shared.contracts.knowledge import CaseEntry, EntityLinks, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.outcome_digest import LONGEST_SUMMARY, shorten_and_redact_notes
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


def _parse_file_content(form: TypeAdapter[T], content: JsonValue, *names: str) -> T:
    """Parses the content as ``form``; of an object that has one of ``names`` as a field, that field's value. Raises
    ``BadFile``.
    """
    if isinstance(content, dict):
        content = next((content[name] for name in names if name in content), content)
    try:
        return form.validate_python(content)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
    raise BadFile([f"{_format_error_place(fault['loc'])}: {fault['msg']}" for fault in faults])


def _format_error_place(location: Sequence[int | str]) -> str:
    return ".".join(f"entry {part + 1}" if isinstance(part, int) else part for part in location) or "the file"


def _require_valid_trend(text: str) -> str:
    """Returns a stored trend; raises ``ValueError`` if it is invalid or too long."""
    try:
        points = parse_trend(text)
    except ValueError as error:
        raise ValueError("its points are not n:units:at") from error
    if len(points) > TREND_POINTS_KEPT:
        raise ValueError(f"it has more than {TREND_POINTS_KEPT} points")
    return text


_MOST_PULLS = 10**9
_LARGEST_NUMBER = 10**12
_Trend = Annotated[str, AfterValidator(_require_valid_trend)]
_Count = Annotated[int, Field(strict=True, ge=0, le=_LARGEST_NUMBER)]
_Entries = Field(max_length=MOST_ENTRIES)


class _ArmInFile(FrozenModel):
    """An arm (a strategy with its results for one process) in a file. ``units``: the exact sum of rewards in
    ten-thousandths; computed from the mean if absent.
    """

    n: int = Field(ge=0, le=_MOST_PULLS, validation_alias=AliasChoices("n", "pulls", "count"))
    q: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False, validation_alias=AliasChoices("q", "mean", "value"))
    units: int | None = Field(default=None, ge=0)
    trend: _Trend = ""

    @model_validator(mode="after")
    def _check_units(self) -> Self:
        if self.sum_reward_units() > self.n * REWARD_UNITS:
            raise ValueError("units: more than its pulls could have earned")
        return self

    def sum_reward_units(self) -> int:
        return round(self.q * self.n * REWARD_UNITS) if self.units is None else self.units


_ARMS_FORM = TypeAdapter(Annotated[dict[str, dict[Strategy, _ArmInFile]], _Entries])


def read_arms(content: JsonValue) -> list[ArmRecord]:
    """Parses the arms (results of strategies) in a learning file, without those that were never used; raises
    ``BadFile``.
    """
    return [
        ArmRecord((kind, strategy.value), Arm(arm.n, arm.sum_reward_units()), arm.trend)
        for kind, arms in _parse_file_content(_ARMS_FORM, content, "arms", "bandit").items()
        for strategy, arm in arms.items()
        if arm.n
    ]


_MOST_KEYWORDS, _ID_CHARACTERS = 15, 16
EARLIEST_MOMENT, _LATEST_MOMENT = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def _convert_notes_to_list(value: object) -> object:
    """The notes as a list: a single text becomes one note; an empty text or None becomes none."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [] if value is None else value


def _add_utc_to_time(value: object) -> object:
    """A time in a text, taken as UTC if it has no zone; any other value unchanged."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return value
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return value


_Notes = Annotated[tuple[str, ...], BeforeValidator(_convert_notes_to_list)]
_Moment = Annotated[AwareDatetime, BeforeValidator(_add_utc_to_time), Field(ge=EARLIEST_MOMENT, le=_LATEST_MOMENT)]


class _CaseInFile(FrozenModel):
    """A case in a file; its fields have the names of the file."""

    model_config = ConfigDict(populate_by_name=True)

    case_id: str = Field(default="", max_length=200)
    summary: str = Field(validation_alias=AliasChoices("summary", "task_summary"), min_length=1)
    keywords: tuple[str, ...] = ()
    outcome: CaseOutcome
    quality: float = Field(ge=0, le=1, allow_inf_nan=False)
    worked: _Notes = Field(default=(), validation_alias=AliasChoices("worked", "what_worked"))
    failed: _Notes = Field(default=(), validation_alias=AliasChoices("failed", "what_failed"))
    tool_count: int = Field(default=0, ge=0)
    domain: str = "general"
    strategy: Strategy = Strategy.FSM
    session_id: str = ""
    task_id: str = ""
    formula: str = ""
    parts: dict[str, float] = {}
    at: _Moment = Field(validation_alias=AliasChoices("at", "timestamp", "created_at"))


_CASES_FORM = TypeAdapter(Annotated[list[_CaseInFile], _Entries])


def read_cases(content: JsonValue) -> list[CaseEntry]:
    """The cases of a file, newest first, with protected values removed; raises ``BadFile``."""
    return [_build_case(case) for case in _parse_file_content(_CASES_FORM, content, "cases", "entries", "case_log")][
        ::-1
    ]


def _build_case(case: _CaseInFile) -> CaseEntry:
    summary = redact_text(case.summary)[:LONGEST_SUMMARY]
    fields = case.model_dump(exclude={"case_id", "keywords", "summary"})
    return CaseEntry.model_validate(
        {
            **fields,
            "case_id": case.case_id or f"import-{digest([summary, case.at.isoformat()])[:_ID_CHARACTERS]}",
            "summary": summary,
            "keywords": tuple(redact_text(word) for word in case.keywords[:_MOST_KEYWORDS])
            or extract_keywords(summary),
            "worked": shorten_and_redact_notes(case.worked),
            "failed": shorten_and_redact_notes(case.failed),
        }
    )


_LONGEST_TEXT = 500
_LONGEST_FIELD = 300
_MOST_TIMES_SEEN = 10**9


def _require_no_protected_value(text: str) -> str:
    if redact_text(text) != text:
        raise ValueError("it holds something that may not be kept")
    return text


class _FactInFile(KnownFact):
    text: Annotated[str, AfterValidator(_require_no_protected_value)] = Field(
        min_length=1, max_length=_LONGEST_TEXT, validation_alias=AliasChoices("text", "fact", "content")
    )
    domain: str = "general"
    quality: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    task_id: str = Field(default="", validation_alias=AliasChoices("task_id", "source_task", "source"))
    confidence: float = Field(default=0.6, ge=0, le=1, allow_inf_nan=False)
    seen: int = Field(default=1, ge=1, le=_MOST_TIMES_SEEN)
    at: _Moment = Field(validation_alias=AliasChoices("at", "timestamp", "created_at"))
    first_at: _Moment | None = None
    superseded_at: _Moment | None = None


_FACTS_FORM = TypeAdapter(Annotated[list[_FactInFile], _Entries])


def read_facts(content: JsonValue) -> list[KnownFact]:
    """The facts of a file, newest first; raises ``BadFile``."""
    facts = _parse_file_content(_FACTS_FORM, content, "facts", "entries", "knowledge")
    with_keywords = [
        fact if fact.keywords else fact.model_copy(update={"keywords": extract_keywords(fact.text)}) for fact in facts
    ]
    return sorted(with_keywords, key=lambda fact: fact.at, reverse=True)


class _EntityInFile(KnownEntity):
    key: str = Field(default="", max_length=_LONGEST_FIELD)
    kind: str = Field(min_length=1, max_length=50, pattern=r"^[^:]+$", validation_alias=AliasChoices("kind", "type"))
    value: Annotated[str, AfterValidator(_require_no_protected_value)] = Field(min_length=1, max_length=_LONGEST_FIELD)
    seen: int = Field(default=1, ge=1, le=_MOST_TIMES_SEEN, validation_alias=AliasChoices("seen", "count"))
    last_seen: _Moment
    first_seen: _Moment | None = None
    links: EntityLinks = EntityLinks()


_ENTITIES_FORM = TypeAdapter(Annotated[list[_EntityInFile], _Entries])


def read_entities(content: JsonValue) -> list[EntityRecord]:
    """The entities of a file; raises ``BadFile``."""
    return [
        EntityRecord(
            entity.key or f"{entity.kind}:{entity.value.casefold()}",
            KnownEntity.model_validate(entity.model_dump(exclude={"key", "links"})),
            entity.links,
        )
        for entity in _parse_file_content(_ENTITIES_FORM, content, "entities")
    ]


_OUTCOME_NAMES = tuple(outcome.value for outcome in CaseOutcome)
_COUNT_NAME_REGEX = "|".join(("events", *_OUTCOME_NAMES, "quality_units"))
_CountName = Annotated[str, Field(pattern=f"^({_COUNT_NAME_REGEX})$")]
_DayAndCount = Annotated[str, Field(pattern=rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}:({_COUNT_NAME_REGEX})$")]


class _AccuracyInFile(PredictionAccuracy):
    @model_validator(mode="after")
    def _check_numbers(self) -> Self:
        if not 0 <= self.matches <= self.attempts <= _LARGEST_NUMBER or len(self.window) > PREDICTIONS_KEPT:
            raise ValueError("its numbers do not fit together")
        return self


class _StatisticsInFile(FrozenModel):
    counts: dict[_CountName, _Count] = {}
    days: Annotated[dict[_DayAndCount, _Count], _Entries] = {}
    quality_trend: _Trend = ""
    accuracy: Annotated[dict[Annotated[str, Field(pattern=r"^[^:]*:[^:]+$")], _AccuracyInFile], _Entries] = {}

    @field_validator("counts")
    @classmethod
    def _check_sums(cls, counts: dict[str, int]) -> dict[str, int]:
        if sum(counts.get(kind, 0) for kind in _OUTCOME_NAMES) > counts.get("events", 0):
            raise ValueError("more outcomes than events")
        if counts.get("quality_units", 0) > REWARD_UNITS * counts.get("events", 0):
            raise ValueError("quality_units: more than its events could have earned")
        return counts

    @field_validator("days")
    @classmethod
    def _check_days(cls, days: dict[str, int]) -> dict[str, int]:
        if len({name.partition(":")[0] for name in days}) > TREND_DAYS_KEPT:
            raise ValueError(f"more than {TREND_DAYS_KEPT} days")
        return days


_STATISTICS_FORM = TypeAdapter(_StatisticsInFile)


class FileStatistics(NamedTuple):
    """The counts and the accuracy of predictions in a file of statistics."""

    totals: TaskStatistics
    accuracy: Mapping[str, PredictionAccuracy]


def read_statistics(content: JsonValue) -> FileStatistics:
    """The statistics in a file. Raises ``BadFile``."""
    statistics = _parse_file_content(_STATISTICS_FORM, content)
    totals = TaskStatistics(statistics.counts, statistics.days, statistics.quality_trend)
    return FileStatistics(totals, statistics.accuracy)
