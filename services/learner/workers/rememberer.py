"""Stores what outcomes say besides their cases: entities, predictions, and tasks to be searched for facts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import structlog

from services.learner.adapters.redis_knowledge import RedisKnowledge
from services.learner.core.memory.entities import EntityKind, FoundEntity, find_entities, list_entity_names
from services.learner.core.memory.lesson import UnreadableOutcome, parse_outcome
from services.learner.ports import memory
from services.learner.ports.outcomes import Delivery
from shared.contracts.knowledge import EntityLinks, EntityMention, KnownEntity, PredictionAccuracy
from shared.contracts.outcome import OutcomeTexts, TaskOutcome, ThresholdKind
from shared.domain.estimates import PREDICTIONS_KEPT, is_drifting
from shared.domain.redaction import redact_text
from shared.ports.store import StoreUnavailable

LEAST_QUALITY_FOR_FACTS = 0.5  # the least quality of a task that teaches facts
_MOST_ENTITIES_NAMED = 12
_KINDS_NAMED_FIRST = (EntityKind.VENDOR, EntityKind.PERSON, EntityKind.PRODUCT)


class OutcomeEntities(NamedTuple):
    """What one outcome adds to a tenant's memory: the entities that it names, and ``predictions_held``: by kind of
    threshold, whether all predictions that could be checked came true.
    """

    tenant: str
    event_id: str
    process_type: str
    source: EntityMention
    entities: tuple[FoundEntity, ...]
    predictions_held: Mapping[ThresholdKind, bool]
    todo: memory.TaskToSearchForFacts | None


def _extract_entities_and_predictions(outcome: TaskOutcome, *, wants_facts: bool) -> OutcomeEntities:
    """What an outcome adds to memory, with protected values removed."""
    texts = _redact_texts(outcome.said or OutcomeTexts(task=outcome.summary))
    entities = find_entities(f"{texts.task}\n{texts.answer}")
    teaches_facts = wants_facts and outcome.said is not None and outcome.quality >= LEAST_QUALITY_FOR_FACTS
    return OutcomeEntities(
        tenant=outcome.tenant,
        event_id=outcome.event_id,
        process_type=outcome.process_type,
        source=EntityMention(task_id=outcome.task_id, session_id=outcome.session_id, at=outcome.ended_at),
        entities=entities,
        predictions_held=dict(_check_predictions(outcome)),
        todo=_build_task_to_search(outcome, texts, entities) if teaches_facts else None,
    )


def _check_predictions(outcome: TaskOutcome) -> Iterator[tuple[ThresholdKind, bool]]:
    """Yields each kind of threshold with checked predictions, and whether all of these came true."""
    for kind in ThresholdKind:
        results = {threshold.held for threshold in outcome.thresholds if threshold.kind is kind} - {None}
        if results:
            yield kind, all(results)


def _build_task_to_search(
    outcome: TaskOutcome, texts: OutcomeTexts, entities: tuple[FoundEntity, ...]
) -> memory.TaskToSearchForFacts:
    return memory.TaskToSearchForFacts(
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
        entities=_order_entity_names(entities),
    )


def _order_entity_names(entities: tuple[FoundEntity, ...]) -> tuple[str, ...]:
    """The names of a task's entities: first of people and vendors, which facts are usually about, then of others."""
    subjects_first = sorted(entities, key=lambda entity: entity.kind not in _KINDS_NAMED_FIRST)
    return tuple(name for entity in subjects_first for name in list_entity_names(entity))[:_MOST_ENTITIES_NAMED]


def _redact_texts(texts: OutcomeTexts) -> OutcomeTexts:
    values = {redact_text(name): redact_text(value) for name, value in texts.values.items()}
    return OutcomeTexts(task=redact_text(texts.task), answer=redact_text(texts.answer), values=values)


log = structlog.get_logger()

# Events of a tenant in one step: longer steps would hold up Redis and other writers of that memory.
_EVENTS_AT_ONCE = 40
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
    """Other writers kept changing a tenant's memory, so its events are handled again later."""


class Rememberer:
    """Stores the entities and predictions of outcomes, and queues the tasks to be searched for facts."""

    def __init__(self, knowledge: RedisKnowledge, *, wants_facts: bool) -> None:
        self._knowledge, self._wants_facts = knowledge, wants_facts
        self.counts = MemoryCounts()

    async def apply_outcomes(self, deliveries: Sequence[Delivery]) -> None:
        for tenant, memos in self._extract_by_tenant(deliveries).items():
            for start in range(0, len(memos), _EVENTS_AT_ONCE):
                await self._remember_batch(tenant, memos[start : start + _EVENTS_AT_ONCE])

    def _extract_by_tenant(self, deliveries: Iterable[Delivery]) -> dict[str, list[OutcomeEntities]]:
        """The memos by tenant, in order, each event once; without unreadable outcomes, dry runs and practice."""
        memos: dict[str, dict[str, OutcomeEntities]] = defaultdict(dict)
        for delivery in deliveries:
            memo = self._extract_from_delivery(delivery)
            if memo is not None:
                memos[memo.tenant][memo.event_id] = memo
        return {tenant: list(memos_by_event.values()) for tenant, memos_by_event in memos.items()}

    def _extract_from_delivery(self, delivery: Delivery) -> OutcomeEntities | None:
        try:
            outcome = parse_outcome(delivery.event)
            return (
                None
                if outcome.dry_run or outcome.practice
                else _extract_entities_and_predictions(outcome, wants_facts=self._wants_facts)
            )
        except UnreadableOutcome:
            self.counts.passed += 1
        except Exception as error:  # the edge of one message: the others are remembered all the same
            self.counts.passed += 1
            log.exception("outcome_not_remembered", entry=delivery.entry_id, error=type(error).__name__)
        return None

    async def _remember_batch(self, tenant: str, memos: Sequence[OutcomeEntities]) -> None:
        try:
            new_count = await self._store_outcomes(tenant, memos)
        except memory.MemorySpoiled as error:
            self.counts.passed += len(memos)
            log.error("tenant_memory_unreadable", tenant=tenant, events=len(memos), error=str(error))
            return
        except (MemoryContended, StoreUnavailable):
            raise
        except Exception as error:  # the edge of one tenant: whatever is stored there stops no other
            if len(memos) > 1:  # one of them is to blame; the others are remembered
                for memo in memos:
                    await self._remember_batch(tenant, [memo])
                return
            self.counts.passed += 1
            log.exception("outcome_not_remembered", tenant=tenant, entry=memos[0].event_id, error=type(error).__name__)
            return
        self.counts.remembered += new_count
        self.counts.known += len(memos) - new_count

    async def _store_outcomes(self, tenant: str, memos: Sequence[OutcomeEntities]) -> int:
        """Stores the tenant's memos; returns how many were new.

        Tasks of known ones are queued again, since that may have failed before. Raises ``MemoryContended`` if other
        writers kept changing the memory.
        """
        events = [memo.event_id for memo in memos]
        fields = sorted({entity.field for memo in memos for entity in memo.entities})
        predictions = sorted({prediction for memo in memos for prediction in _list_prediction_results(memo)})
        for _ in range(_MOST_TRIES):
            knowledge = await self._knowledge.read_stored_knowledge(tenant, events, fields, predictions)
            new_memos = [memo for memo in memos if memo.event_id not in knowledge.remembered]
            events_to_requeue = [memo.event_id for memo in memos if memo.todo and memo.event_id in knowledge.remembered]
            if events_to_requeue:
                await self._knowledge.queue_searches(tenant, events_to_requeue)
            if not new_memos or await self._knowledge.store_memory_change(
                _compute_memory_change(knowledge, new_memos), knowledge.version
            ):
                return len(new_memos)
        raise MemoryContended(f"{len(events)} events could not be remembered in {_MOST_TRIES} attempts")


_MOST_LINKED_ENTITIES = 8
_MOST_LINKED_TASKS = 5
_MOST_NAMES_OF_ENTITY = 4


def _compute_memory_change(knowledge: memory.StoredKnowledge, memos: Sequence[OutcomeEntities]) -> memory.MemoryChange:
    """The changes that new memos make in a tenant's memory: entities seen and predictions checked, once for
    each memo.
    """
    entities = dict(knowledge.entities)
    links = dict(knowledge.links)
    accuracy = dict(knowledge.accuracy)
    for memo in memos:
        fields = [entity.field for entity in memo.entities]
        for entity in memo.entities:
            entities[entity.field] = _add_sighting(entities.get(entity.field), entity, memo.source.at)
            links[entity.field] = _add_link(links.get(entity.field, EntityLinks()), entity.field, fields, memo.source)
        for prediction, came_true in _list_prediction_results(memo).items():
            accuracy[prediction] = _add_prediction(
                accuracy.get(prediction, PredictionAccuracy()), came_true, memo.source.at
            )
    seen_fields = {entity.field for memo in memos for entity in memo.entities}
    predictions = {prediction for memo in memos for prediction in _list_prediction_results(memo)}
    return memory.MemoryChange(
        tenant=memos[0].tenant,
        event_ids=tuple(memo.event_id for memo in memos),
        entities={field: entities[field] for field in sorted(seen_fields)},
        links={field: links[field] for field in sorted(seen_fields)},
        accuracy={prediction: accuracy[prediction] for prediction in sorted(predictions)},
        todos=tuple(memo.todo for memo in memos if memo.todo is not None),
    )


def _list_prediction_results(memo: OutcomeEntities) -> Mapping[memory.PredictionKey, bool]:
    return {(memo.process_type, kind.value): came_true for kind, came_true in memo.predictions_held.items()}


def _add_sighting(known_entity: KnownEntity | None, entity: FoundEntity, at: datetime) -> KnownEntity:
    names = list_entity_names(entity)
    if known_entity is None:
        return KnownEntity(kind=entity.kind.value, value=names[0], seen=1, first_seen=at, last_seen=at, names=names[1:])
    all_names = dict.fromkeys((*names[1:], *known_entity.names, names[0], known_entity.value))
    is_longer = entity.kind is EntityKind.VENDOR and len(names[0]) > len(known_entity.value)
    value = names[0] if is_longer else known_entity.value
    return known_entity.model_copy(
        update={
            "value": value,
            "seen": known_entity.seen + 1,
            "first_seen": min(known_entity.first_seen or known_entity.last_seen, at),
            "last_seen": max(known_entity.last_seen, at),
            "names": tuple(name for name in all_names if name != value)[:_MOST_NAMES_OF_ENTITY],
        }
    )


def _add_link(links: EntityLinks, field: str, fields: Sequence[str], source: EntityMention) -> EntityLinks:
    together = dict.fromkeys((*(other for other in fields if other != field), *links.together))
    tasks = (source, *(task for task in links.tasks if task.task_id != source.task_id))
    return EntityLinks(together=tuple(together)[:_MOST_LINKED_ENTITIES], tasks=tasks[:_MOST_LINKED_TASKS])


def _add_prediction(stored_accuracy: PredictionAccuracy, was_right: bool, at: datetime) -> PredictionAccuracy:
    window = (*stored_accuracy.window, was_right)[-PREDICTIONS_KEPT:]
    begins_to_drift = is_drifting(window) and not is_drifting(stored_accuracy.window)
    return PredictionAccuracy(
        attempts=stored_accuracy.attempts + 1,
        matches=stored_accuracy.matches + was_right,
        window=window,
        drift_alerts=stored_accuracy.drift_alerts + begins_to_drift,
        at=at,
    )
