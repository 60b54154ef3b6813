"""Selects the learned facts and entities that are relevant to a new task."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Protocol, TypeVar

FACTS_KEPT = 500
ENTITIES_KEPT = 1_000
ENTITY_LIFETIME = timedelta(days=7)  # what no task has named for so long is forgotten
FACTS_SHOWN = 4
_MOST_NAMED_SHOWN = 6
_MOST_FREQUENT_SHOWN = 3
_FEWEST_TIMES_NAMED_SEEN = 2
_FEWEST_TIMES_FREQUENT_SEEN = 3  # not fewer than those that are named
_WORDS_WEIGHT, _ENTITIES_WEIGHT, _DOMAIN_WEIGHT, _QUALITY_WEIGHT = 40, 80, 30, 20  # hundredths
_LEAST_SCORE = 40


class RankedFact(Protocol):
    @property
    def domain(self) -> str: ...

    @property
    def keywords(self) -> tuple[str, ...]: ...

    @property
    def entities(self) -> tuple[str, ...]: ...

    @property
    def quality(self) -> float: ...

    @property
    def is_current(self) -> bool: ...


class Entity(Protocol):
    @property
    def value(self) -> str: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def seen(self) -> int: ...

    @property
    def last_seen(self) -> datetime: ...


F = TypeVar("F", bound=RankedFact)
E = TypeVar("E", bound=Entity)


def select_facts(facts: Iterable[F], task: str, words: Iterable[str], domain: str) -> list[F]:
    """The four facts most relevant to the task, by shared words, named entities, process type and quality.

    Ties keep their order, newest first. Contradicted facts are left out. Selecting from the result again returns the
    same.
    """
    task_words, lowered_task = frozenset(words), task.lower()
    scored = [(_score_relevance(fact, task_words, lowered_task, domain), fact) for fact in facts if fact.is_current]
    relevant = sorted((pair for pair in scored if pair[0] >= _LEAST_SCORE), key=lambda pair: -pair[0])
    return [fact for _, fact in relevant[:FACTS_SHOWN]]


def select_entities(entities: Sequence[E], task: str, now: datetime) -> list[E]:
    """The entities that the task names, then the few seen most often; without those last seen long ago."""
    known_entities = [
        entity
        for entity in sorted(entities, key=lambda entity: -entity.seen)
        if entity.seen >= _FEWEST_TIMES_NAMED_SEEN and entity.last_seen >= now - ENTITY_LIFETIME
    ]
    lowered_task = task.lower()
    named = [entity for entity in known_entities if _is_named(entity, lowered_task)][:_MOST_NAMED_SHOWN]
    frequent = (
        entity for entity in known_entities if entity.seen >= _FEWEST_TIMES_FREQUENT_SEEN and entity not in named
    )
    return [*named, *islice(frequent, _MOST_FREQUENT_SHOWN)]


def _is_named(entity: Entity, lowered_task: str) -> bool:
    """Whether the text has the entity's value or another name of it as whole words."""
    return any(_occurs_in(name.lower(), lowered_task) for name in (entity.value, *entity.names))


def _score_relevance(fact: RankedFact, task_words: frozenset[str], lowered_task: str, domain: str) -> float:
    shared = len(task_words.intersection(fact.keywords)) / max(1, min(len(task_words), len(fact.keywords)))
    is_named = any(_occurs_in(entity.lower(), lowered_task) for entity in fact.entities)
    score = _WORDS_WEIGHT * shared + _ENTITIES_WEIGHT * is_named
    return score + _DOMAIN_WEIGHT * (fact.domain == domain) + _QUALITY_WEIGHT * fact.quality if score else 0.0


def _occurs_in(name: str, text: str) -> bool:
    """Whether a name occurs in the text as whole words."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        if not (_is_word_character(text[start - 1 : start]) or _is_word_character(text[end : end + 1])):
            return True
        start = text.find(name, start + 1)
    return False


def _is_word_character(character: str) -> bool:
    """Whether a character is a letter, a digit or ``_``; False for the empty text."""
    return character.isalnum() or character == "_"
