"""What a file changes in what is stored. The same file twice changes nothing the second time. Pure.

Cases are merged by quality, facts as if they were learned. Of arms, entities, predictions and totals the record with
more behind it holds, as a whole: nothing is ever added up, so that no task counts twice.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from services.learner.core.files.total_file import Statistics
from services.learner.core.memory.facts import is_same, with_facts
from services.learner.core.training.merge import merge_cases
from services.learner.ports.files import ArmRecord, EntityRecord, FileChanges, StoredFile
from services.learner.ports.memory import KnownFacts
from shared.contracts.case import CaseEntry
from shared.contracts.knowledge import KnownFact
from shared.domain.bandit import Arm
from shared.domain.known import ENTITIES_KEPT, ENTITY_LASTS, FACTS_KEPT


class FileDecision(NamedTuple):
    """What is to be stored, and how many entries are taken and left out; the rest is known."""

    brought: FileChanges
    taken: int
    left_out: int = 0


def with_cases(stored: StoredFile, new: Sequence[CaseEntry]) -> FileDecision:
    log = merge_cases(stored.cases, new)
    before = {entry.text for entry in stored.cases}
    ids = {case.case_id for case in new}
    standing = {entry.case.case_id for entry in log if entry.case}
    taken = sum(entry.text not in before for entry in log)
    return FileDecision(FileChanges(cases=[entry.text for entry in log] if taken else None), taken, len(ids - standing))


def with_arms(stored: StoredFile, new: Sequence[ArmRecord]) -> FileDecision:
    arms = [record for record in new if record.arm.n > stored.arms.get(record.name, Arm()).n]
    return FileDecision(FileChanges(arms=arms), len(arms))


def with_known_facts(stored: StoredFile, new: Sequence[KnownFact]) -> FileDecision:
    """A tenant without facts takes them as they are, also those that hold no more."""
    if not stored.facts:
        kept = new[:FACTS_KEPT]
        texts = [fact.model_dump_json() for fact in kept]
        return FileDecision(FileChanges(facts=texts if texts else None), len(texts), len(new) - len(kept))
    known = tuple((text, fact) for text, fact in stored.facts if fact is not None)
    latest = {fact.text: fact.at for _, fact in sorted(known, key=lambda row: row[1].at)}
    others = [fact for fact in new if fact.text not in latest or latest[fact.text] < fact.at]
    fresh = [fact for fact in others if not _is_known(fact, [one for _, one in known])]
    change = with_facts(KnownFacts("", known), fresh[::-1])
    gone = set(change.gone)
    texts = [fact.model_dump_json() for fact in reversed(change.come)]
    rows = [*texts, *(text for text, _ in stored.facts if text not in gone)][:FACTS_KEPT]
    return FileDecision(FileChanges(facts=rows if fresh else None), len(fresh))


def with_entities(stored: StoredFile, new: Sequence[EntityRecord], now: datetime) -> FileDecision:
    lasting = [record for record in new if now - record.entity.last_seen <= ENTITY_LASTS]
    better = [record for record in lasting if _sees_more(stored, record)]
    replaced = [record for record in better if record.field in stored.entities]
    fresh = sorted((record for record in better if record.field not in stored.entities), key=_last_seen, reverse=True)
    free = max(0, ENTITIES_KEPT - len(stored.entities))
    taken = [*replaced, *fresh[:free]]
    return FileDecision(FileChanges(entities=taken), len(taken), len(new) - len(lasting) + len(fresh[free:]))


def with_statistics(stored: StoredFile, new: Statistics) -> FileDecision:
    more = new.totals.counts.get("events", 0) > stored.events
    accuracy = {name: row for name, row in new.accuracy.items() if row.attempts > _attempts(stored, name)}
    return FileDecision(FileChanges(totals=new.totals if more else None, accuracy=accuracy), more + len(accuracy))


def _is_known(fact: KnownFact, known: Sequence[KnownFact]) -> bool:
    """Whether it is stored and no older there; one that holds no more teaches nothing to whoever knows other facts."""
    return not fact.holds or any(is_same(one, fact) and one.at >= fact.at for one in known)


def _sees_more(stored: StoredFile, record: EntityRecord) -> bool:
    known = stored.entities.get(record.field)
    return known is None or record.entity.seen > known.seen


def _last_seen(record: EntityRecord) -> datetime:
    return record.entity.last_seen


def _attempts(stored: StoredFile, name: str) -> int:
    known = stored.accuracy.get(name)
    return known.attempts if known else 0
