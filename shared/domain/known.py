"""Selects the learned facts and entities that are relevant to a new task."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from shared.domain.identity_cache import IdentityCache

FACTS_KEPT = 500
ENTITIES_KEPT = 1_000
ENTITY_LASTS = timedelta(days=7)  # what no task has named for so long is forgotten
FACTS_SHOWN = 4
_NAMED_SHOWN = 6
_FREQUENT_SHOWN = 3
_NAMED_FEWEST_SEEN = 2
_FREQUENT_FEWEST_SEEN = 3  # not fewer than those that are named
_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
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


def select_entities(entities: Sequence[E], task: str, now: datetime | None = None) -> list[E]:
    """The entities that the task names, then the few seen most often; without those last seen long ago."""
    lowered_task = task.lower()
    spelled = _cached_spellings(entities) if isinstance(entities, tuple) else _spell_names(entities)
    since = _FIRST_MOMENT if now is None else now - ENTITY_LASTS
    recent = [place for place, entity in enumerate(entities) if entity.last_seen >= since]
    by_count = sorted(recent, key=lambda place: -entities[place].seen)
    known = [place for place in by_count if entities[place].seen >= _NAMED_FEWEST_SEEN]
    named = [place for place in known if any(_occurs_in(name, lowered_task) for name in spelled[place])][:_NAMED_SHOWN]
    frequent = [place for place in known if entities[place].seen >= _FREQUENT_FEWEST_SEEN and place not in named]
    return [entities[place] for place in (*named, *frequent[:_FREQUENT_SHOWN])]


def _spell_names(entities: Sequence[Entity]) -> list[tuple[str, ...]]:
    """For each entity, its value and other names in lower case."""
    return [tuple(name.lower() for name in (entity.value, *entity.names)) for entity in entities]


# A tenant's entities come with each of its tasks.
_cached_spellings = IdentityCache[tuple[Entity, ...], list[tuple[str, ...]]](_spell_names, 64)


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
