"""Imports a file into a tenant's memory: parses it whole, merges it with what is stored, and stores the result in one
step.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from services.learner.core.files import formats
from services.learner.core.memory.facts import merge_facts, says_the_same
from services.learner.core.training import merge_case_logs
from services.learner.ports.files import ArmRecord, EntityRecord, ImportChanges, ImportRepository, LearnedSnapshot
from services.learner.ports.memory import KnownFacts
from shared.contracts.knowledge import CaseEntry, KnownFact
from shared.contracts.learning_files import LearningFile, LearningImportReport, LearningImportRequest
from shared.contracts.relevance import ENTITIES_KEPT, ENTITY_LIFETIME, FACTS_KEPT
from shared.domain.bandit import Arm
from shared.ports.store import StoreUnavailable


class ImportDecision(NamedTuple):
    """What importing a file changes. ``taken`` and ``left_out`` count its entries; the others are known already."""

    changes: ImportChanges
    taken: int
    left_out: int = 0


def merge_file_cases(snapshot: LearnedSnapshot, new_cases: Sequence[CaseEntry]) -> ImportDecision:
    log = merge_case_logs(snapshot.cases, new_cases)
    stored_texts = {entry.text for entry in snapshot.cases}
    new_ids = {case.case_id for case in new_cases}
    ids_in_log = {entry.case.case_id for entry in log if entry.case}
    count = sum(entry.text not in stored_texts for entry in log)
    changes = ImportChanges(cases=[entry.text for entry in log] if count else None)
    return ImportDecision(changes, count, len(new_ids - ids_in_log))


def merge_file_arms(snapshot: LearnedSnapshot, new_arms: Sequence[ArmRecord]) -> ImportDecision:
    arms = [record for record in new_arms if record.arm.n > snapshot.arms.get(record.name, Arm()).n]
    return ImportDecision(ImportChanges(arms=arms), len(arms))


def merge_file_facts(snapshot: LearnedSnapshot, new_facts: Sequence[KnownFact]) -> ImportDecision:
    """Merges the newest of the facts with the stored ones.

    ``new_facts``: newest first. A tenant without facts takes them unchanged, including superseded ones.
    """
    new_facts, left_out = new_facts[:FACTS_KEPT], max(0, len(new_facts) - FACTS_KEPT)
    if not snapshot.facts:
        texts = [fact.model_dump_json() for fact in new_facts]
        return ImportDecision(ImportChanges(facts=texts or None), len(texts), left_out)
    rows = tuple((text, fact) for text, fact in snapshot.facts if fact is not None)
    latest_times = {fact.text: fact.at for _, fact in sorted(rows, key=lambda row: row[1].at)}
    newer_facts = [fact for fact in new_facts if fact.text not in latest_times or latest_times[fact.text] < fact.at]
    known_facts = [fact for _, fact in rows]
    facts_to_add = [fact for fact in newer_facts if not _is_known_fact(fact, known_facts)]
    change = merge_facts(KnownFacts("", rows), facts_to_add[::-1])
    removed_texts = set(change.removed_rows)
    texts = [fact.model_dump_json() for fact in reversed(change.added_facts)]
    texts_to_store = [*texts, *(text for text, _ in snapshot.facts if text not in removed_texts)][:FACTS_KEPT]
    return ImportDecision(ImportChanges(facts=texts_to_store if facts_to_add else None), len(facts_to_add), left_out)


def merge_file_entities(snapshot: LearnedSnapshot, records: Sequence[EntityRecord], now: datetime) -> ImportDecision:
    recent_records = [record for record in records if now - record.entity.last_seen <= ENTITY_LIFETIME]
    newer_records = [record for record in recent_records if _has_newer_counts(snapshot, record)]
    replacing_records = [record for record in newer_records if record.field in snapshot.entities]
    new_records = [record for record in newer_records if record.field not in snapshot.entities]
    new_records.sort(key=lambda record: record.entity.last_seen, reverse=True)
    free_places = max(0, ENTITIES_KEPT - len(snapshot.entities))
    taken_records = [*replacing_records, *new_records[:free_places]]
    left_out = len(records) - len(recent_records) + len(new_records[free_places:])
    return ImportDecision(ImportChanges(entities=taken_records), len(taken_records), left_out)


def merge_file_statistics(snapshot: LearnedSnapshot, statistics: formats.FileStatistics) -> ImportDecision:
    is_newer = statistics.totals.counts.get("events", 0) > snapshot.events
    attempts = {name: row.attempts for name, row in snapshot.accuracy.items()}
    accuracy = {name: row for name, row in statistics.accuracy.items() if row.attempts > attempts.get(name, 0)}
    changes = ImportChanges(totals=statistics.totals if is_newer else None, accuracy=accuracy)
    return ImportDecision(changes, is_newer + len(accuracy))


def _is_known_fact(fact: KnownFact, stored_facts: Sequence[KnownFact]) -> bool:
    """Whether the fact is stored and its stored form is no older. A superseded fact counts as known."""
    return not fact.is_current or any(says_the_same(other, fact) and other.at >= fact.at for other in stored_facts)


def _has_newer_counts(snapshot: LearnedSnapshot, record: EntityRecord) -> bool:
    stored_entity = snapshot.entities.get(record.field)
    return stored_entity is None or record.entity.seen > stored_entity.seen


_MOST_TRIES = 100  # every event that is learned meanwhile changes what is stored
DecideOnFile: TypeAlias = Callable[[LearnedSnapshot], ImportDecision]


class Importer:
    """Imports learning files, uploaded or in a folder, into what is learned of a tenant."""

    def __init__(self, repository: ImportRepository, clock: Callable[[], datetime]) -> None:
        self._repository = repository
        self._clock = clock

    async def import_file(self, request: LearningImportRequest) -> LearningImportReport:
        """Imports a file and reports on it. May be repeated. Raises ``StoreUnavailable``."""
        try:
            entry_count, decide = await asyncio.to_thread(self._parse_file, request)  # a large file takes long
        except formats.BadFile as error:
            return LearningImportReport(file=request.file, problems=error.problems, dry_run=request.dry_run)
        for _ in range(_MOST_TRIES):
            snapshot = await self._repository.read_snapshot(request.tenant)
            decision = await asyncio.to_thread(decide, snapshot)
            report = LearningImportReport(
                file=request.file,
                taken=decision.taken,
                known=max(0, entry_count - decision.taken - decision.left_out),
                left_out=decision.left_out,
                dry_run=request.dry_run,
            )
            if request.dry_run or not decision.taken:
                return report
            if await self._repository.store_changes(request.tenant, decision.changes, snapshot.versions):
                return report
        raise StoreUnavailable(f"what is learned of {request.tenant} changed at each of {_MOST_TRIES} tries")

    def _parse_file(self, request: LearningImportRequest) -> tuple[int, DecideOnFile]:
        """Parses the file; returns the number of its entries, and a function that decides from what is stored what the
        import changes. Raises ``BadFile``.
        """
        match request.file:
            case LearningFile.CASE_LOG:
                cases = formats.read_cases(request.content)
                return len({case.case_id for case in cases}), lambda snapshot: merge_file_cases(snapshot, cases)
            case LearningFile.STRATEGY_BANDIT:
                arms = formats.read_arms(request.content)
                return len(arms), lambda snapshot: merge_file_arms(snapshot, arms)
            case LearningFile.KNOWLEDGE_BASE:
                facts = formats.read_facts(request.content)
                return len(facts), lambda snapshot: merge_file_facts(snapshot, facts)
            case LearningFile.ENTITIES:
                entities = formats.read_entities(request.content)
                return len(entities), lambda snapshot: merge_file_entities(snapshot, entities, self._clock())
            case LearningFile.STATISTICS:
                statistics = formats.read_statistics(request.content)
                return 1 + len(statistics.accuracy), lambda snapshot: merge_file_statistics(snapshot, statistics)
            case LearningFile.SYNTHESIZED:
                raise formats.BadFile(["processes are imported by the executor, which follows them"])
