"""Stores what outcomes say besides their cases: entities, predictions, and tasks to be searched for facts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import structlog

from services.learner.core.memory.entities import EntityKind, FoundEntity, find_entities, names_of
from services.learner.core.memory.lesson import UnreadableOutcome, parse_outcome
from services.learner.ports import memory
from services.learner.ports.outcomes import Delivery
from shared.contracts.knowledge import Accuracy, EntityLinks, KnownEntity, TaskSource
from shared.contracts.outcome import OutcomeTexts, TaskOutcome, ThresholdKind
from shared.domain.estimates import WINDOW_KEPT, is_drifting
from shared.domain.redaction import redact_text
from shared.ports.store import StoreUnavailable

FACTS_FROM = 0.5  # the least quality of a task that teaches facts
_ENTITIES_NAMED = 12
_SUBJECTS = (EntityKind.VENDOR, EntityKind.PERSON, EntityKind.PRODUCT)


class OutcomeMemo(NamedTuple):
    """What one outcome adds to memory. ``predictions_held``: by kind, whether all that could be checked came true."""

    tenant: str
    event_id: str
    process_type: str
    source: TaskSource
    entities: tuple[FoundEntity, ...]
    predictions_held: Mapping[ThresholdKind, bool]
    todo: memory.FactTodo | None


def memo_of(outcome: TaskOutcome, *, wants_facts: bool) -> OutcomeMemo:
    """The memo of an outcome, with protected values removed."""
    said = _redact(outcome.said or OutcomeTexts(task=outcome.summary))
    found = find_entities(f"{said.task}\n{said.answer}")
    teaches = wants_facts and outcome.said is not None and outcome.quality >= FACTS_FROM
    return OutcomeMemo(
        tenant=outcome.tenant,
        event_id=outcome.event_id,
        process_type=outcome.process_type,
        source=TaskSource(task_id=outcome.task_id, session_id=outcome.session_id, at=outcome.ended_at),
        entities=found,
        predictions_held=dict(_threshold_samples(outcome)),
        todo=_build_todo(outcome, said, found) if teaches else None,
    )


def _threshold_samples(outcome: TaskOutcome) -> Iterator[tuple[ThresholdKind, bool]]:
    """Yields one sample for each kind of threshold, whether the task had one or ten of it."""
    for kind in ThresholdKind:
        proved = [one.held for one in outcome.thresholds if one.kind is kind and one.held is not None]
        if proved:
            yield kind, all(proved)


def _build_todo(outcome: TaskOutcome, texts: OutcomeTexts, found: tuple[FoundEntity, ...]) -> memory.FactTodo:
    return memory.FactTodo(
        tenant=outcome.tenant,
        event_id=outcome.event_id,
        task_id=outcome.task_id,
        session_id=outcome.session_id,
        process_type=outcome.process_type,
        quality=outcome.quality,
        ended_at=outcome.ended_at,
        task=texts.task,
        answer=texts.answer,
        values=dict(texts.values),
        entities=_entity_names(found),
    )


def _entity_names(found: tuple[FoundEntity, ...]) -> tuple[str, ...]:
    """The names of a task's entities, with people and vendors, which facts are usually about, before numbers."""
    first = sorted(found, key=lambda one: one.kind not in _SUBJECTS)
    return tuple(name for one in first for name in names_of(one))[:_ENTITIES_NAMED]


def _redact(texts: OutcomeTexts) -> OutcomeTexts:
    values = {redact_text(name): redact_text(value) for name, value in texts.values.items()}
    return OutcomeTexts(task=redact_text(texts.task), answer=redact_text(texts.answer), values=values)


log = structlog.get_logger()

_AT_ONCE = 40  # events of a tenant in one step: what holds up the server, and whoever else writes that memory
_MOST_TRIES = 20  # how often another learner may be first to write a tenant's memory


@dataclass
class MemoryCounts:
    """What this process has remembered since its start.

    ``passed``: skipped events, which were unreadable (see the dead letters) or of a tenant whose memory is spoiled.
    """

    remembered: int = 0
    known: int = 0
    passed: int = 0


class MemoryContended(RuntimeError):
    """Other writers kept changing a tenant's memory, so the event is handled again later."""


class Rememberer:
    """Stores the entities and predictions of outcomes, and queues the tasks to be searched for facts."""

    def __init__(self, knowledge: memory.KnowledgeRepository, *, wants_facts: bool) -> None:
        self._knowledge, self._wants_facts = knowledge, wants_facts
        self.counts = MemoryCounts()

    async def apply(self, deliveries: Sequence[Delivery]) -> None:
        for tenant, found in self._list_memos(deliveries).items():
            for first in range(0, len(found), _AT_ONCE):
                await self._remember_batch(tenant, found[first : first + _AT_ONCE])

    def _list_memos(self, deliveries: Iterable[Delivery]) -> dict[str, list[OutcomeMemo]]:
        """The memos by tenant, in order, each event once; without unreadable outcomes, dry runs and practice."""
        memos: dict[str, dict[str, OutcomeMemo]] = defaultdict(dict)
        for delivery in deliveries:
            memo = self._read_memo(delivery)
            if memo is not None:
                memos[memo.tenant][memo.event_id] = memo
        return {tenant: list(found.values()) for tenant, found in memos.items()}

    def _read_memo(self, delivery: Delivery) -> OutcomeMemo | None:
        try:
            outcome = parse_outcome(delivery.event)
            return None if outcome.dry_run or outcome.practice else memo_of(outcome, wants_facts=self._wants_facts)
        except UnreadableOutcome:
            self.counts.passed += 1
        except Exception as error:  # noqa: BLE001  # the edge of one message: the others are remembered all the same
            self.counts.passed += 1
            log.error("not_remembered", entry=delivery.entry_id, error=type(error).__name__)
        return None

    async def _remember_batch(self, tenant: str, memos: Sequence[OutcomeMemo]) -> None:
        try:
            new = await self._store_memos(tenant, memos)
        except memory.MemorySpoiled as error:
            self.counts.passed += len(memos)
            log.error("memory_spoiled", tenant=tenant, events=len(memos), error=str(error))
            return
        except (MemoryContended, StoreUnavailable):
            raise
        except Exception as error:  # noqa: BLE001  # the edge of one tenant: whatever is stored there stops no other
            self.counts.passed += len(memos)
            log.error("not_remembered", tenant=tenant, events=len(memos), error=type(error).__name__)
            return
        self.counts.remembered += new
        self.counts.known += len(memos) - new

    async def _store_memos(self, tenant: str, memos: Sequence[OutcomeMemo]) -> int:
        """Stores memos; returns how many were new. Tasks of known ones are queued again, since that may have failed
        before.
        """
        events = [memo.event_id for memo in memos]
        fields = sorted({one.field for memo in memos for one in memo.entities})
        tried = sorted({prediction for memo in memos for prediction in predictions_of(memo)})
        for _ in range(_MOST_TRIES):
            known = await self._knowledge.read_known(tenant, events, fields, tried)
            new = [memo for memo in memos if memo.event_id not in known.remembered]
            again = [memo.event_id for memo in memos if memo.todo and memo.event_id in known.remembered]
            if again:
                await self._knowledge.queue_searches(tenant, again)
            if not new or await self._knowledge.store_change(change_of(known, new), known.version):
                return len(new)
        raise MemoryContended(f"{len(events)} events could not be remembered in {_MOST_TRIES} attempts")


_MOST_TOGETHER = 8
_MOST_TASKS = 5
_MOST_NAMES = 4


def change_of(known: memory.StoredKnowledge, memos: Sequence[OutcomeMemo]) -> memory.MemoryChange:
    """The changes that new memos make in a tenant's memory: entities seen and predictions checked, once for
    each memo.
    """
    entities, links, accuracy = dict(known.entities), dict(known.links), dict(known.accuracy)
    for memo in memos:
        fields = [one.field for one in memo.entities]
        for one in memo.entities:
            entities[one.field] = _add_sighting(entities.get(one.field), one, memo.source.at)
            links[one.field] = _add_link(links.get(one.field, EntityLinks()), one.field, fields, memo.source)
        for prediction, held in predictions_of(memo).items():
            accuracy[prediction] = _add_prediction(accuracy.get(prediction, Accuracy()), held, memo.source.at)
    named = {one.field for memo in memos for one in memo.entities}
    tried = {prediction for memo in memos for prediction in predictions_of(memo)}
    return memory.MemoryChange(
        tenant=memos[0].tenant,
        event_ids=tuple(memo.event_id for memo in memos),
        entities={field: entities[field] for field in sorted(named)},
        links={field: links[field] for field in sorted(named)},
        accuracy={prediction: accuracy[prediction] for prediction in sorted(tried)},
        todos=tuple(memo.todo for memo in memos if memo.todo is not None),
    )


def predictions_of(memo: OutcomeMemo) -> Mapping[memory.Prediction, bool]:
    return {(memo.process_type, kind.value): held for kind, held in memo.predictions_held.items()}


def _add_sighting(before: KnownEntity | None, found: FoundEntity, at: datetime) -> KnownEntity:
    names = names_of(found)
    if before is None:
        return KnownEntity(kind=found.kind.value, value=names[0], seen=1, first_seen=at, last_seen=at, names=names[1:])
    written = dict.fromkeys((*names[1:], *before.names, *((names[0],) if names[0] != before.value else ())))
    longer = found.kind is EntityKind.VENDOR and len(names[0]) > len(before.value)
    value = names[0] if longer else before.value
    others = tuple(name for name in dict.fromkeys((*written, before.value)) if name != value)[:_MOST_NAMES]
    first, last = min(before.first_seen or before.last_seen, at), max(before.last_seen, at)
    return before.model_copy(
        update={"value": value, "seen": before.seen + 1, "first_seen": first, "last_seen": last, "names": others}
    )


def _add_link(before: EntityLinks, field: str, fields: Sequence[str], source: TaskSource) -> EntityLinks:
    together = dict.fromkeys((*(other for other in fields if other != field), *before.together))
    tasks = (source, *(task for task in before.tasks if task.task_id != source.task_id))
    return EntityLinks(together=tuple(together)[:_MOST_TOGETHER], tasks=tasks[:_MOST_TASKS])


def _add_prediction(before: Accuracy, was_right: bool, at: datetime) -> Accuracy:
    window = (*before.window, was_right)[-WINDOW_KEPT:]
    begins = is_drifting(window) and not is_drifting(before.window)
    return Accuracy(
        attempts=before.attempts + 1,
        matches=before.matches + was_right,
        window=window,
        drift_alerts=before.drift_alerts + begins,
        at=at,
    )
