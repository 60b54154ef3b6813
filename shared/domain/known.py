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
_NAMED_SEEN = 2
_FREQUENT_SEEN = 3  # not fewer than those that are named
_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
_WORDS, _ENTITIES, _DOMAIN, _QUALITY = 40, 80, 30, 20  # hundredths
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
    wanted, text = frozenset(words), task.lower()
    scored = [(_score_relevance(fact, wanted, text, domain), fact) for fact in facts if fact.is_current]
    near = sorted((pair for pair in scored if pair[0] >= _LEAST_SCORE), key=lambda pair: -pair[0])
    return [fact for _, fact in near[:FACTS_SHOWN]]


def select_entities(entities: Sequence[E], task: str, now: datetime | None = None) -> list[E]:
    """The entities that the task names, then the few seen most often; without those last seen long ago."""
    text = task.lower()
    spelled = _spell(entities) if isinstance(entities, tuple) else _spell_names(entities)
    since = _FIRST_MOMENT if now is None else now - ENTITY_LASTS
    known = [place for place, one in enumerate(entities) if one.seen >= _NAMED_SEEN and one.last_seen >= since]
    named = [place for place in known if any(_occurs_in(name, text) for name in spelled[place])]
    named = sorted(named, key=lambda place: -entities[place].seen)[:_NAMED_SHOWN]
    others = [place for place in known if entities[place].seen >= _FREQUENT_SEEN and place not in named]
    frequent = sorted(others, key=lambda place: -entities[place].seen)[:_FREQUENT_SHOWN]
    return [entities[place] for place in (*named, *frequent)]


def _spell_names(entities: Sequence[Entity]) -> list[tuple[str, ...]]:
    """For each entity, its value and other names in lower case."""
    return [tuple(name.lower() for name in (one.value, *one.names)) for one in entities]


_spell = IdentityCache[tuple[Entity, ...], list[tuple[str, ...]]](_spell_names, 64)  # a tenant's come with each task


def _score_relevance(fact: RankedFact, wanted: frozenset[str], text: str, domain: str) -> float:
    shared = len(wanted.intersection(fact.keywords)) / max(1, min(len(wanted), len(fact.keywords)))
    named = any(_occurs_in(entity.lower(), text) for entity in fact.entities)
    about = _WORDS * shared + _ENTITIES * named
    return about + _DOMAIN * (fact.domain == domain) + _QUALITY * fact.quality if about else 0.0


def _occurs_in(wanted: str, text: str) -> bool:
    """Whether a name occurs in the text as whole words."""
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        if not (
            _is_word_character(text[at - 1 : at]) or _is_word_character(text[at + len(wanted) : at + len(wanted) + 1])
        ):
            return True
        at = text.find(wanted, at + 1)
    return False


def _is_word_character(character: str) -> bool:
    """Whether a character is a letter, a digit or ``_``; False for the empty text."""
    return character.isalnum() or character == "_"
