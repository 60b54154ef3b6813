"""Imports a file into a tenant's memory: read whole, decided on what is stored, stored in one step."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from services.learner.core.files.arm_file import read_arms
from services.learner.core.files.case_file import read_cases
from services.learner.core.files.deciding import (
    FileDecision,
    with_arms,
    with_cases,
    with_entities,
    with_known_facts,
    with_statistics,
)
from services.learner.core.files.fact_file import read_entities, read_facts
from services.learner.core.files.reading import BadFile
from services.learner.core.files.total_file import read_statistics
from services.learner.ports.files import ImportRepository, StoredFile
from shared.contracts.learning_files import FileReport, FileRequest, LearningFile
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
