"""``knowledge_base.json`` and ``entities.json``: facts with the seed's names or ours, and what tasks named."""

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from services.learner.core.files.case_file import Moment
from services.learner.core.files.reading import BadEntry, entries_of_list, number_entries, read_all
from services.learner.ports.files import EntityRecord
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact
from shared.domain.keywords import keywords
from shared.domain.redaction import redact_text

_TEXT = 500
_FIELD = 300
_MOST_SEEN = 10**9


class _FileFact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    text: str = Field(min_length=1, max_length=_TEXT, validation_alias=AliasChoices("text", "fact", "content"))
    domain: str = "general"
    quality: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    task_id: str = Field(default="", validation_alias=AliasChoices("task_id", "source_task", "source"))
    confidence: float = Field(default=0.6, ge=0, le=1, allow_inf_nan=False)
    seen: int = Field(default=1, ge=1, le=_MOST_SEEN)
    at: Moment = Field(validation_alias=AliasChoices("at", "timestamp", "created_at"))
    first_at: Moment | None = None
    superseded_at: Moment | None = None


class _Entity(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    key: str = Field(default="", max_length=_FIELD)
    kind: str = Field(min_length=1, max_length=50, pattern=r"^[^:]+$", validation_alias=AliasChoices("kind", "type"))
    value: str = Field(min_length=1, max_length=_FIELD)
    seen: int = Field(default=1, ge=1, le=_MOST_SEEN, validation_alias=AliasChoices("seen", "count"))
    last_seen: Moment
    first_seen: Moment | None = None
    links: EntityLinks = EntityLinks()


def read_facts(content: JsonValue) -> list[KnownFact]:
    """The facts of a file, the newest first; raises ``BadFile``."""
    found = read_all(number_entries(entries_of_list(content, "facts", "entries", "knowledge")), _fact)
    return sorted(found, key=lambda fact: fact.at, reverse=True)


def read_entities(content: JsonValue) -> list[EntityRecord]:
    """The entities of a file; raises ``BadFile``."""
    return read_all(number_entries(entries_of_list(content, "entities")), _entity)


def _fact(entry: JsonValue) -> KnownFact:
    fact = _FileFact.model_validate(entry)
    told = fact.model_dump()
    told["keywords"] = told.get("keywords") or keywords(fact.text)
    read = KnownFact.model_validate(told)
    if redact_text(read.text) != read.text:
        raise BadEntry("text: it holds something that may not be kept")
    return read


def _entity(entry: JsonValue) -> EntityRecord:
    read = _Entity.model_validate(entry)
    if redact_text(read.value) != read.value:
        raise BadEntry("value: it may not be kept")
    known = KnownEntity.model_validate(read.model_dump(exclude={"key", "links"}))
    return EntityRecord(read.key or f"{read.kind}:{read.value.casefold()}", known, read.links)
