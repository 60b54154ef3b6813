"""Merges new facts with known ones: each is kept once, of two contradicting ones the newer, up to a bound."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from services.learner.core.memory.entities import (
    find_entities,
    format_number,
    list_entity_names,
    read_number,
    strip_legal_form,
)
from services.learner.ports.memory import FactChange, KnownFacts, RawFact, TaskToSearchForFacts
from shared.contracts.knowledge import KnownFact
from shared.contracts.relevance import FACTS_KEPT
from shared.domain.keywords import extract_keywords, stem
from shared.domain.redaction import redact_text

MOST_FACTS_OF_TASK = 4
_LONGEST_TEXT = 240
_LONGEST_FIELD = 80
_MOST_CONFIDENCE = 0.95
_LEAST_WORD_OVERLAP = 0.8
_MOST_ENTITIES = 6
_MOST_CACHED_TEXTS = 4096  # texts whose meaning is remembered: each fact is held against every other one


def choose_facts_to_keep(facts: Iterable[RawFact], todo: TaskToSearchForFacts) -> tuple[KnownFact, ...]:
    """The facts that a model found in a task which are kept: at most four, without those that contain protected
    values.
    """
    usable_facts = [fact for fact in facts if fact.text.strip() and redact_text(fact.text) == fact.text]
    return tuple(_build_known_fact(fact, todo) for fact in usable_facts[:MOST_FACTS_OF_TASK])


def merge_facts(known_facts: KnownFacts, new_facts: Sequence[KnownFact]) -> FactChange:
    """Merges new facts with the known ones, and returns which stored rows to remove and which to add.

    A fact that is known already is not stored again but becomes more certain; of two that contradict each other, the
    older one is marked as superseded. If there are too many, superseded facts are dropped first, then the oldest.
    """
    rows_by_id = {id(fact): row for row, fact in known_facts.rows}
    facts = [fact for _, fact in known_facts.rows]
    for fact in new_facts:
        facts = _merge_fact(facts, fact)
    facts.sort(key=lambda fact: (fact.superseded_at is None, fact.at), reverse=True)  # the last are dropped
    capped_facts = facts[:FACTS_KEPT]
    kept_ids = {id(fact) for fact in capped_facts}
    removed_rows = tuple(row for fact_id, row in rows_by_id.items() if fact_id not in kept_ids)
    added_facts = [fact for fact in capped_facts if id(fact) not in rows_by_id]
    return FactChange(removed_rows, tuple(sorted(added_facts, key=lambda fact: fact.at)))


def _merge_fact(facts: list[KnownFact], new: KnownFact) -> list[KnownFact]:
    same_fact = next((fact for fact in facts if says_the_same(fact, new)), None)
    if same_fact is not None:
        facts = [fact for fact in facts if fact is not same_fact]
        new = _strengthen_fact(same_fact, new)
    rivals = [fact for fact in facts if fact.superseded_at is None and contradicts(fact, new)]
    newest_rival = max(rivals, key=lambda fact: fact.at, default=None)
    if newest_rival is not None and newest_rival.at > new.at:
        return [_supersede_fact(new, newest_rival), *facts]
    if newest_rival is not None:
        new = new.model_copy(update={"replaces": newest_rival.text})
    rival_ids = set(map(id, rivals))
    return [new, *(_supersede_fact(fact, new) if id(fact) in rival_ids else fact for fact in facts)]


def says_the_same(fact: KnownFact, other: KnownFact) -> bool:
    """Whether both say the same: the same value of the same attribute, or the same figures in nearly the same words."""
    meaning, other_meaning = _get_subject_and_attribute(fact), _get_subject_and_attribute(other)
    if meaning and meaning == other_meaning:
        return _normalize_value(fact.value) == _normalize_value(other.value)
    if meaning and other_meaning and meaning[0] != other_meaning[0]:
        return False
    words, other_words = frozenset(fact.keywords), frozenset(other.keywords)
    has_same_figures = _find_figures(fact.text) == _find_figures(other.text)
    return (
        has_same_figures and bool(words) and len(words & other_words) >= _LEAST_WORD_OVERLAP * len(words | other_words)
    )


def contradicts(fact: KnownFact, other: KnownFact) -> bool:
    """Whether the two facts state different values of the same attribute of the same subject."""
    meaning, words = _get_subject_and_attribute(fact), _normalize_value(fact.value)
    return (
        meaning is not None and meaning == _get_subject_and_attribute(other) and words != _normalize_value(other.value)
    )


def _strengthen_fact(known_fact: KnownFact, new: KnownFact) -> KnownFact:
    """The known fact after another task stated it again (``new``): more certain, and valid again if ``new`` is not
    older.
    """
    doubt = (1 - known_fact.confidence) * (1 - new.confidence)
    newest_fact = new if new.at >= known_fact.at else known_fact
    return newest_fact.model_copy(
        update={
            "quality": max(known_fact.quality, new.quality),
            "confidence": min(_MOST_CONFIDENCE, round(1 - doubt, 4)),
            "seen": known_fact.seen + new.seen,
            "first_at": min(known_fact.first_at or known_fact.at, new.first_at or new.at),
            "replaces": new.replaces or known_fact.replaces,
            "superseded_at": None if newest_fact is new else known_fact.superseded_at,
            "superseded_by": "" if newest_fact is new else known_fact.superseded_by,
        }
    )


def _supersede_fact(fact: KnownFact, newer_fact: KnownFact) -> KnownFact:
    return fact.model_copy(update={"superseded_at": newer_fact.at, "superseded_by": newer_fact.text})


def _build_known_fact(raw: RawFact, todo: TaskToSearchForFacts) -> KnownFact:
    text = " ".join(raw.text.split())[:_LONGEST_TEXT]
    names = dict.fromkeys(
        name for entity in find_entities(f"{raw.subject}. {text}") for name in list_entity_names(entity)
    )
    subject = " ".join(raw.subject.split())[:_LONGEST_FIELD]
    entities = dict.fromkeys((*((subject,) if subject else ()), *names))
    return KnownFact(
        text=text,
        domain=todo.process_type,
        keywords=extract_keywords(f"{raw.attribute} {text}"),
        entities=tuple(entities)[:_MOST_ENTITIES],
        quality=todo.quality,
        task_id=todo.task_id,
        session_id=todo.session_id,
        at=todo.ended_at,
        first_at=todo.ended_at,
        subject=subject,
        attribute=" ".join(raw.attribute.split())[:_LONGEST_FIELD],
        value=" ".join(raw.value.split())[:_LONGEST_FIELD],
        confidence=raw.confidence,
    )


def _get_subject_and_attribute(fact: KnownFact) -> tuple[str, frozenset[str]] | None:
    """What the fact states a value of: its subject and its attribute's stems; None if it lacks one."""
    return _normalize_subject_and_attribute(fact.subject, fact.attribute)


@lru_cache(maxsize=_MOST_CACHED_TEXTS)
def _normalize_subject_and_attribute(subject: str, attribute: str) -> tuple[str, frozenset[str]] | None:
    stems = frozenset(map(stem, attribute.casefold().replace("_", " ").split()))
    return (_normalize_subject(subject), stems) if subject and stems else None


@lru_cache(maxsize=_MOST_CACHED_TEXTS)
def _normalize_subject(name: str) -> str:
    """A subject's name for comparison; a company's legal form is removed."""
    return strip_legal_form(name).casefold()


@lru_cache(maxsize=_MOST_CACHED_TEXTS)
def _normalize_value(value: str) -> frozenset[str]:
    """A value for comparison: money and dates in a normal form, else its words."""
    entities = find_entities(value)
    if entities:
        return frozenset(entity.field for entity in entities)
    return frozenset(map(_normalize_word, value.casefold().split()))


def _normalize_word(word: str) -> str:
    text = word.strip(".,;:()\"'")
    is_number = text[:1].isdecimal() and text.replace(",", "").replace(".", "").isdecimal()  # "¹" is a digit only
    number = read_number(text) if is_number else None
    return stem(text) if number is None else format_number(number)


@lru_cache(maxsize=_MOST_CACHED_TEXTS)
def _find_figures(text: str) -> frozenset[str]:
    return frozenset(_normalize_word(word) for word in text.casefold().split() if any(map(str.isdigit, word)))
