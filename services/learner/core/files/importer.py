"""Imports a file into a tenant's memory: read whole, decided on what is stored, stored in one step."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from services.learner.core.files.arm_file import read_arms
from services.learner.core.files.case_file import Moment, read_cases
from services.learner.core.files.deciding import (
    FileDecision,
    with_arms,
    with_cases,
    with_entities,
    with_known_facts,
    with_statistics,
)
from services.learner.core.files.reading import BadEntry, BadFile, entries_of_list, number_entries, read_all
from services.learner.core.files.total_file import read_statistics
from services.learner.ports.files import EntityRecord, ImportRepository, StoredFile
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import FileReport, FileRequest, LearningFile
from shared.domain.keywords import keywords
from shared.domain.redaction import redact_text
from shared.ports.store import StoreUnavailable

_TRIES = 100  # every event that is learned meanwhile changes what is stored
Decides: TypeAlias = Callable[[StoredFile], FileDecision]


class Importer:
    def __init__(self, repository: ImportRepository, clock: Callable[[], datetime]) -> None:
        self._repository = repository
        self._clock = clock

    async def carry_out(self, request: FileRequest) -> FileReport:
        """What became of the file. Repeat it freely. Raises ``StoreUnavailable``."""
        try:
            total, decides = await asyncio.to_thread(self._read, request)  # a large file would hold up the learner
        except BadFile as bad:
            return FileReport(file=request.file, problems=bad.problems, dry_run=request.dry_run)
        for _ in range(_TRIES):
            stored = await self._repository.read_stored(request.tenant)
            done = await asyncio.to_thread(decides, stored)
            known = max(0, total - done.taken - done.left_out)
            if (
                request.dry_run
                or not done.taken
                or await self._repository.keep(request.tenant, done.brought, stored.versions)
            ):
                return FileReport(
                    file=request.file, taken=done.taken, known=known, left_out=done.left_out, dry_run=request.dry_run
                )
        raise StoreUnavailable(f"what is learned of {request.tenant} changed at each of {_TRIES} tries")

    def _read(self, request: FileRequest) -> tuple[int, Decides]:
        """How many entries the file has, and what they change. Raises ``BadFile``."""
        match request.file:
            case LearningFile.CASE_LOG:
                cases = read_cases(request.content)
                return len({case.case_id for case in cases}), lambda stored: with_cases(stored, cases)
            case LearningFile.STRATEGY_BANDIT:
                arms = read_arms(request.content)
                return len(arms), lambda stored: with_arms(stored, arms)
            case LearningFile.KNOWLEDGE_BASE:
                facts = read_facts(request.content)
                return len(facts), lambda stored: with_known_facts(stored, facts)
            case LearningFile.ENTITIES:
                entities = read_entities(request.content)
                return len(entities), lambda stored: with_entities(stored, entities, self._clock())
            case LearningFile.STATISTICS:
                told = read_statistics(request.content)
                return 1 + len(told.accuracy), lambda stored: with_statistics(stored, told)
            case LearningFile.SYNTHESIZED:
                raise BadFile(["processes are imported by the executor, which follows them"])


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
