"""What one outcome leaves in memory besides its case: entities, proved predictions, and whether to look for facts."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from services.learner.core.entities.find import find_entities, names_of
from services.learner.core.entities.kinds import EntityKind, FoundEntity
from services.learner.ports.memory import FactTodo
from shared.contracts.knowledge import TaskSource
from shared.contracts.outcome import Said, TaskOutcome
from shared.contracts.threshold import ThresholdKind
from shared.domain.redaction import redact_text

FACTS_FROM = 0.5  # the least quality of a task that teaches facts
_ENTITIES_NAMED = 12
_SUBJECTS = (EntityKind.VENDOR, EntityKind.PERSON, EntityKind.PRODUCT)


class Memo(NamedTuple):
    """``held``: by kind, whether all that was predicted and could be proved held."""

    tenant: str
    event_id: str
    process_type: str
    source: TaskSource
    entities: tuple[FoundEntity, ...]
    held: Mapping[ThresholdKind, bool]
    todo: FactTodo | None


def memo_of(outcome: TaskOutcome, *, wants_facts: bool) -> Memo:
    """The memo without anything that the privacy guard marks, whoever sent the event."""
    said = _redact(outcome.said or Said(task=outcome.summary))
    found = find_entities(f"{said.task}\n{said.answer}")
    teaches = wants_facts and outcome.said is not None and outcome.quality >= FACTS_FROM
    return Memo(
        tenant=outcome.tenant,
        event_id=outcome.event_id,
        process_type=outcome.process_type,
        source=TaskSource(task_id=outcome.task_id, session_id=outcome.session_id, at=outcome.ended_at),
        entities=found,
        held=dict(_threshold_samples(outcome)),
        todo=_todo(outcome, said, found) if teaches else None,
    )


def _threshold_samples(outcome: TaskOutcome) -> Iterator[tuple[ThresholdKind, bool]]:
    """One sample of each kind: a task with ten limits says no more about the next one than a task with one."""
    for kind in ThresholdKind:
        proved = [one.held for one in outcome.thresholds if one.kind is kind and one.held is not None]
        if proved:
            yield kind, all(proved)


def _todo(outcome: TaskOutcome, said: Said, found: tuple[FoundEntity, ...]) -> FactTodo:
    return FactTodo(
        tenant=outcome.tenant,
        event_id=outcome.event_id,
        task_id=outcome.task_id,
        session_id=outcome.session_id,
        process_type=outcome.process_type,
        quality=outcome.quality,
        ended_at=outcome.ended_at,
        task=said.task,
        answer=said.answer,
        values=dict(said.values),
        entities=_entity_names(found),
    )


def _entity_names(found: tuple[FoundEntity, ...]) -> tuple[str, ...]:
    """Those first that facts are about: whom and what tasks deal with, before the numbers that stand in them."""
    first = sorted(found, key=lambda one: one.kind not in _SUBJECTS)
    return tuple(name for one in first for name in names_of(one))[:_ENTITIES_NAMED]


def _redact(said: Said) -> Said:
    values = {redact_text(name): redact_text(value) for name, value in said.values.items()}
    return Said(task=redact_text(said.task), answer=redact_text(said.answer), values=values)
