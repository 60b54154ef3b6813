"""How what was known of entities and predictions changes with one more task. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from services.learner.core.entities.find import names_of
from services.learner.core.entities.kinds import EntityKind, FoundEntity
from services.learner.core.memory.memo import Memo
from services.learner.ports.memory import MemoryChange, Prediction, StoredKnowledge
from shared.contracts.accuracy import Accuracy
from shared.contracts.knowledge import EntityLinks, KnownEntity, TaskSource
from shared.domain.accuracy import WINDOW_KEPT, drifts

_TOGETHER = 8
_TASKS = 5
_NAMES = 4


def change_of(known: StoredKnowledge, memos: Sequence[Memo]) -> MemoryChange:
    """What new memos of one tenant make of it, in order: for each, entities seen and predictions tried once more."""
    entities, links, accuracy = dict(known.entities), dict(known.links), dict(known.accuracy)
    for memo in memos:
        fields = [one.field for one in memo.entities]
        for one in memo.entities:
            entities[one.field] = _count_sight(entities.get(one.field), one, memo.source.at)
            links[one.field] = _link(links.get(one.field, EntityLinks()), one.field, fields, memo.source)
        for prediction, held in predictions(memo).items():
            accuracy[prediction] = _count_try(accuracy.get(prediction, Accuracy()), held, memo.source.at)
    named = {one.field for memo in memos for one in memo.entities}
    tried = {prediction for memo in memos for prediction in predictions(memo)}
    return MemoryChange(
        tenant=memos[0].tenant,
        event_ids=tuple(memo.event_id for memo in memos),
        entities={field: entities[field] for field in sorted(named)},
        links={field: links[field] for field in sorted(named)},
        accuracy={prediction: accuracy[prediction] for prediction in sorted(tried)},
        todos=tuple(memo.todo for memo in memos if memo.todo is not None),
    )


def predictions(memo: Memo) -> Mapping[Prediction, bool]:
    return {(memo.process_type, kind.value): held for kind, held in memo.held.items()}


def _count_sight(before: KnownEntity | None, found: FoundEntity, at: datetime) -> KnownEntity:
    names = names_of(found)
    if before is None:
        return KnownEntity(kind=found.kind.value, value=names[0], seen=1, first_seen=at, last_seen=at, names=names[1:])
    written = dict.fromkeys((*names[1:], *before.names, *((names[0],) if names[0] != before.value else ())))
    longer = found.kind is EntityKind.VENDOR and len(names[0]) > len(before.value)
    value = names[0] if longer else before.value
    others = tuple(name for name in dict.fromkeys((*written, before.value)) if name != value)[:_NAMES]
    first, last = min(before.first_seen or before.last_seen, at), max(before.last_seen, at)
    return before.model_copy(
        update={"value": value, "seen": before.seen + 1, "first_seen": first, "last_seen": last, "names": others}
    )


def _link(before: EntityLinks, field: str, fields: Sequence[str], source: TaskSource) -> EntityLinks:
    together = dict.fromkeys((*(other for other in fields if other != field), *before.together))
    tasks = (source, *(task for task in before.tasks if task.task_id != source.task_id))
    return EntityLinks(together=tuple(together)[:_TOGETHER], tasks=tasks[:_TASKS])


def _count_try(before: Accuracy, held: bool, at: datetime) -> Accuracy:
    window = (*before.window, held)[-WINDOW_KEPT:]
    begins = drifts(window) and not drifts(before.window)
    return Accuracy(
        attempts=before.attempts + 1,
        matches=before.matches + held,
        window=window,
        drift_alerts=before.drift_alerts + begins,
        at=at,
    )
