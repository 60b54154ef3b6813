"""How what was known of entities and predictions changes with one more task. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from services.learner.core.entities.find import names_of
from services.learner.core.entities.kinds import EntityKind, Found
from services.learner.core.memory.memo import Memo
from services.learner.memory_ports import Change, Known, Prediction
from shared.contracts.accuracy import Accuracy
from shared.contracts.knowledge import EntityLinks, KnownEntity, TaskSource
from shared.domain.accuracy import WINDOW_KEPT, drifts

_TOGETHER = 8
_TASKS = 5
_NAMES = 4


def changed(known: Known, memo: Memo) -> Change:
    """What the memo makes of it: each entity seen once more, each prediction tried once more."""
    fields = [one.field for one in memo.entities]
    return Change(
        tenant=memo.tenant,
        event_id=memo.event_id,
        entities={one.field: _seen(known.entities.get(one.field), one, memo.source.at) for one in memo.entities},
        links={field: _linked(known.links.get(field, EntityLinks()), field, fields, memo.source) for field in fields},
        accuracy={
            one: _tried(known.accuracy.get(one, Accuracy()), held, memo.source.at)
            for one, held in predictions(memo).items()
        },
        todo=memo.todo,
    )


def predictions(memo: Memo) -> Mapping[Prediction, bool]:
    return {(memo.process_type, kind.value): held for kind, held in memo.held.items()}


def _seen(before: KnownEntity | None, found: Found, at: datetime) -> KnownEntity:
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


def _linked(before: EntityLinks, field: str, fields: Sequence[str], source: TaskSource) -> EntityLinks:
    together = dict.fromkeys((*(other for other in fields if other != field), *before.together))
    tasks = (source, *(task for task in before.tasks if task.task_id != source.task_id))
    return EntityLinks(together=tuple(together)[:_TOGETHER], tasks=tasks[:_TASKS])


def _tried(before: Accuracy, held: bool, at: datetime) -> Accuracy:
    window = (*before.window, held)[-WINDOW_KEPT:]
    begins = drifts(window) and not drifts(before.window)
    return Accuracy(
        attempts=before.attempts + 1,
        matches=before.matches + held,
        window=window,
        drift_alerts=before.drift_alerts + begins,
        at=at,
    )
