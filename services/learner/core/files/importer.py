"""Imports a file into a tenant's memory: parses it whole, merges it with what is stored, and stores the result in one
step.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from services.learner.core.files import formats
from services.learner.core.memory.facts import merge_facts, says_the_same
from services.learner.core.training import merge_cases
from services.learner.ports.files import ArmRecord, EntityRecord, FileChanges, ImportRepository, StoredFile
from services.learner.ports.memory import KnownFacts
from shared.contracts.knowledge import CaseEntry, EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import FileReport, FileRequest, LearningFile
from shared.domain.bandit import Arm
from shared.domain.keywords import keywords
from shared.domain.known import ENTITIES_KEPT, ENTITY_LASTS, FACTS_KEPT
from shared.domain.redaction import redact_text
from shared.ports.store import StoreUnavailable


class FileDecision(NamedTuple):
    """What to store of a file, and how many of its entries are taken and left out; the others are known already."""

    changes: FileChanges
    taken: int
    left_out: int = 0


def merge_file_cases(stored: StoredFile, new: Sequence[CaseEntry]) -> FileDecision:
    log = merge_cases(stored.cases, new)
    before = {entry.text for entry in stored.cases}
    ids = {case.case_id for case in new}
    standing = {entry.case.case_id for entry in log if entry.case}
    taken = sum(entry.text not in before for entry in log)
    return FileDecision(FileChanges(cases=[entry.text for entry in log] if taken else None), taken, len(ids - standing))


def merge_file_arms(stored: StoredFile, new: Sequence[ArmRecord]) -> FileDecision:
    arms = [record for record in new if record.arm.n > stored.arms.get(record.name, Arm()).n]
    return FileDecision(FileChanges(arms=arms), len(arms))


def merge_file_facts(stored: StoredFile, new: Sequence[KnownFact]) -> FileDecision:
    """Merges facts with the stored ones. A tenant without facts takes them unchanged, including superseded ones."""
    if not stored.facts:
        kept = new[:FACTS_KEPT]
        texts = [fact.model_dump_json() for fact in kept]
        return FileDecision(FileChanges(facts=texts if texts else None), len(texts), len(new) - len(kept))
    known = tuple((text, fact) for text, fact in stored.facts if fact is not None)
    latest = {fact.text: fact.at for _, fact in sorted(known, key=lambda row: row[1].at)}
    others = [fact for fact in new if fact.text not in latest or latest[fact.text] < fact.at]
    fresh = [fact for fact in others if not _is_known(fact, [one for _, one in known])]
    change = merge_facts(KnownFacts("", known), fresh[::-1])
    gone = set(change.gone)
    texts = [fact.model_dump_json() for fact in reversed(change.come)]
    rows = [*texts, *(text for text, _ in stored.facts if text not in gone)][:FACTS_KEPT]
    return FileDecision(FileChanges(facts=rows if fresh else None), len(fresh))


def merge_file_entities(stored: StoredFile, new: Sequence[EntityRecord], now: datetime) -> FileDecision:
    lasting = [record for record in new if now - record.entity.last_seen <= ENTITY_LASTS]
    better = [record for record in lasting if _has_newer_counts(stored, record)]
    replaced = [record for record in better if record.field in stored.entities]
    fresh = [record for record in better if record.field not in stored.entities]
    fresh.sort(key=lambda record: record.entity.last_seen, reverse=True)
    free = max(0, ENTITIES_KEPT - len(stored.entities))
    taken = [*replaced, *fresh[:free]]
    return FileDecision(FileChanges(entities=taken), len(taken), len(new) - len(lasting) + len(fresh[free:]))


def merge_file_statistics(stored: StoredFile, new: formats.FileStatistics) -> FileDecision:
    more = new.totals.counts.get("events", 0) > stored.events
    known = {name: row.attempts for name, row in stored.accuracy.items()}
    accuracy = {name: row for name, row in new.accuracy.items() if row.attempts > known.get(name, 0)}
    return FileDecision(FileChanges(totals=new.totals if more else None, accuracy=accuracy), more + len(accuracy))


def _is_known(fact: KnownFact, known: Sequence[KnownFact]) -> bool:
    """Whether the fact is stored and its stored form is no older. A superseded fact counts as known."""
    return not fact.is_current or any(says_the_same(one, fact) and one.at >= fact.at for one in known)


def _has_newer_counts(stored: StoredFile, record: EntityRecord) -> bool:
    known = stored.entities.get(record.field)
    return known is None or record.entity.seen > known.seen


_MOST_TRIES = 100  # every event that is learned meanwhile changes what is stored
Decides: TypeAlias = Callable[[StoredFile], FileDecision]


class Importer:
    def __init__(self, repository: ImportRepository, clock: Callable[[], datetime]) -> None:
        self._repository = repository
        self._clock = clock

    async def carry_out(self, request: FileRequest) -> FileReport:
        """Imports a file and reports on it. May be repeated. Raises ``StoreUnavailable``."""
        try:
            total, decides = await asyncio.to_thread(self._parse, request)  # a large file would hold up the learner
        except formats.BadFile as bad:
            return FileReport(file=request.file, problems=bad.problems, dry_run=request.dry_run)
        for _ in range(_MOST_TRIES):
            stored = await self._repository.read_stored(request.tenant)
            done = await asyncio.to_thread(decides, stored)
            known = max(0, total - done.taken - done.left_out)
            if (
                request.dry_run
                or not done.taken
                or await self._repository.store_changes(request.tenant, done.changes, stored.versions)
            ):
                return FileReport(
                    file=request.file, taken=done.taken, known=known, left_out=done.left_out, dry_run=request.dry_run
                )
        raise StoreUnavailable(f"what is learned of {request.tenant} changed at each of {_MOST_TRIES} tries")

    def _parse(self, request: FileRequest) -> tuple[int, Decides]:
        """The number of entries in the file, and a function that decides what they change. Raises ``BadFile``."""
        match request.file:
            case LearningFile.CASE_LOG:
                cases = formats.read_cases(request.content)
                return len({case.case_id for case in cases}), lambda stored: merge_file_cases(stored, cases)
            case LearningFile.STRATEGY_BANDIT:
                arms = formats.read_arms(request.content)
                return len(arms), lambda stored: merge_file_arms(stored, arms)
            case LearningFile.KNOWLEDGE_BASE:
                facts = read_facts(request.content)
                return len(facts), lambda stored: merge_file_facts(stored, facts)
            case LearningFile.ENTITIES:
                entities = read_entities(request.content)
                return len(entities), lambda stored: merge_file_entities(stored, entities, self._clock())
            case LearningFile.STATISTICS:
                told = formats.read_statistics(request.content)
                return 1 + len(told.accuracy), lambda stored: merge_file_statistics(stored, told)
            case LearningFile.SYNTHESIZED:
                raise formats.BadFile(["processes are imported by the executor, which follows them"])


_LONGEST_TEXT = 500
_LONGEST_FIELD = 300
_MOST_SEEN = 10**9


class _FileFact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    text: str = Field(min_length=1, max_length=_LONGEST_TEXT, validation_alias=AliasChoices("text", "fact", "content"))
    domain: str = "general"
    quality: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    task_id: str = Field(default="", validation_alias=AliasChoices("task_id", "source_task", "source"))
    confidence: float = Field(default=0.6, ge=0, le=1, allow_inf_nan=False)
    seen: int = Field(default=1, ge=1, le=_MOST_SEEN)
    at: formats.Moment = Field(validation_alias=AliasChoices("at", "timestamp", "created_at"))
    first_at: formats.Moment | None = None
    superseded_at: formats.Moment | None = None


class _Entity(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    key: str = Field(default="", max_length=_LONGEST_FIELD)
    kind: str = Field(min_length=1, max_length=50, pattern=r"^[^:]+$", validation_alias=AliasChoices("kind", "type"))
    value: str = Field(min_length=1, max_length=_LONGEST_FIELD)
    seen: int = Field(default=1, ge=1, le=_MOST_SEEN, validation_alias=AliasChoices("seen", "count"))
    last_seen: formats.Moment
    first_seen: formats.Moment | None = None
    links: EntityLinks = EntityLinks()


def read_facts(content: JsonValue) -> list[KnownFact]:
    """The facts of a file, newest first; raises ``BadFile``."""
    found = formats.parse_entries(
        formats.number_entries(formats.entries_of_list(content, "facts", "entries", "knowledge")), _read_fact
    )
    return sorted(found, key=lambda fact: fact.at, reverse=True)


def read_entities(content: JsonValue) -> list[EntityRecord]:
    """The entities of a file; raises ``BadFile``."""
    return formats.parse_entries(formats.number_entries(formats.entries_of_list(content, "entities")), _read_entity)


def _read_fact(entry: JsonValue) -> KnownFact:
    fact = _FileFact.model_validate(entry)
    told = fact.model_dump()
    told["keywords"] = told.get("keywords") or keywords(fact.text)
    read = KnownFact.model_validate(told)
    if redact_text(read.text) != read.text:
        raise formats.BadEntry("text: it holds something that may not be kept")
    return read


def _read_entity(entry: JsonValue) -> EntityRecord:
    read = _Entity.model_validate(entry)
    if redact_text(read.value) != read.value:
        raise formats.BadEntry("value: it may not be kept")
    known = KnownEntity.model_validate(read.model_dump(exclude={"key", "links"}))
    return EntityRecord(read.key or f"{read.kind}:{read.value.casefold()}", known, read.links)
