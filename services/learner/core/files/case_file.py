"""``case_log.json``: entries with the seed's names or ours, the oldest first."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AliasChoices, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from services.learner.core.files.reading import BadEntry, entries_of_list, number_entries, read_all
from shared.contracts.case import CaseEntry
from shared.domain.cases import CaseOutcome
from shared.domain.exact_json import digest
from shared.domain.keywords import keywords
from shared.domain.redaction import redact_text
from shared.domain.words import Strategy

_SUMMARY, _NOTE, _NOTES, _KEYWORDS, _ID = 200, 200, 10, 15, 16
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def _notes(value: object) -> object:
    """A text is one note; an empty one is none."""
    return ([value] if value.strip() else []) if isinstance(value, str) else [] if value is None else value


def _moment(value: object) -> object:
    """Texts without a zone are UTC."""
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            return value
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    return value


Notes = Annotated[tuple[str, ...], BeforeValidator(_notes)]
Moment = Annotated[AwareDatetime, BeforeValidator(_moment), Field(ge=_EARLIEST, le=_LATEST)]


class _Case(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, populate_by_name=True)

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
    """The cases of a file, the newest first; raises ``BadFile``. Nothing that the guard marks is in them."""
    return read_all(number_entries(entries_of_list(content, "cases", "entries", "case_log")), _read)[::-1]


def _read(entry: JsonValue) -> CaseEntry:
    if not isinstance(entry, dict):
        raise BadEntry("it is no object")
    case = _Case.model_validate(entry)
    summary = redact_text(case.summary)[:_SUMMARY]
    told = case.model_dump(exclude={"case_id", "keywords", "summary"})
    return CaseEntry.model_validate(
        {
            **told,
            "case_id": case.case_id or f"import-{digest([summary, case.at.isoformat()])[:_ID]}",
            "summary": summary,
            "keywords": tuple(redact_text(word) for word in case.keywords[:_KEYWORDS]) or keywords(summary),
            "worked": _short(case.worked),
            "failed": _short(case.failed),
        }
    )


def _short(notes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(redact_text(note)[:_NOTE] for note in notes[:_NOTES])
