"""Merges new facts with known ones: each is kept once, of two contradicting ones the newer, up to a bound."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from services.learner.core.memory.entities import (
    find_entities,
    name_without_legal_form,
    names_of,
    number_as_text,
    read_number,
)
from services.learner.ports.memory import FactChange, FactTodo, KnownFacts, RawFact
from shared.contracts.knowledge import KnownFact
from shared.domain.keywords import keywords, stem
from shared.domain.known import FACTS_KEPT
from shared.domain.redaction import redact_text

FACTS_OF_A_TASK = 4
_MOST_CHARACTERS = 240
_MOST_OF_FIELD = 80
_MOST_CONFIDENCE = 0.95
_LEAST_OVERLAP = 0.8
_MOST_ENTITIES = 6
_TEXTS_REMEMBERED = 4096  # texts whose meaning is remembered: each fact is held against every other one


def choose_facts_to_keep(found: Iterable[RawFact], todo: FactTodo) -> tuple[KnownFact, ...]:
    """The facts to keep of a task, at most four, without those that contain protected values."""
    usable = [raw for raw in found if raw.text.strip() and redact_text(raw.text) == raw.text]
    return tuple(_build_fact(raw, todo) for raw in usable[:FACTS_OF_A_TASK])


def merge_facts(known: KnownFacts, new: Sequence[KnownFact]) -> FactChange:
    """The changes of the stored rows. A fact that is known already is strengthened, not stored again."""
    stored = {id(fact): row for row, fact in known.rows}
    facts = [fact for _, fact in known.rows]
    for fact in new:
        facts = _merge_fact(facts, fact)
    kept = _cap_facts(facts)
    left = {id(fact) for fact in kept}
    gone = tuple(row for key, row in stored.items() if key not in left)
    come = [fact for fact in kept if id(fact) not in stored]
    return FactChange(gone, tuple(sorted(come, key=lambda fact: fact.at)))


def _merge_fact(facts: list[KnownFact], new: KnownFact) -> list[KnownFact]:
    same = next((fact for fact in facts if says_the_same(fact, new)), None)
    if same is not None:
        facts = [fact for fact in facts if fact is not same]
        new = _strengthen_fact(same, new)
    rivals = [fact for fact in facts if fact.superseded_at is None and contradicts(fact, new)]
    newest = max(rivals, key=lambda fact: fact.at, default=None)
    if newest is not None and newest.at > new.at:
        return [_supersede_fact(new, newest), *facts]
    if newest is not None:
        new = new.model_copy(update={"replaces": newest.text})
    return [new, *(_supersede_fact(fact, new) if any(fact is one for one in rivals) else fact for fact in facts)]


def says_the_same(one: KnownFact, other: KnownFact) -> bool:
    """Whether both say the same: the same value of the same attribute, or nearly the same words and figures."""
    if _meaning_of(one) and _meaning_of(one) == _meaning_of(other):
        return _value_of(one) == _value_of(other)
    if _meaning_of(one) and _meaning_of(other) and _normalize_subject(one.subject) != _normalize_subject(other.subject):
        return False
    words, others = frozenset(one.keywords), frozenset(other.keywords)
    figures = _find_figures(one.text) == _find_figures(other.text)
    return figures and bool(words) and len(words & others) >= _LEAST_OVERLAP * len(words | others)


def contradicts(one: KnownFact, other: KnownFact) -> bool:
    """Whether they state different values of the same attribute of the same subject."""
    return bool(_meaning_of(one)) and _meaning_of(one) == _meaning_of(other) and _value_of(one) != _value_of(other)


def _strengthen_fact(before: KnownFact, new: KnownFact) -> KnownFact:
    """The known fact after it was taught again: newer and more certain, and valid again if it had been contradicted."""
    unsure = (1 - before.confidence) * (1 - new.confidence)
    newest = new if new.at >= before.at else before
    return newest.model_copy(
        update={
            "quality": max(before.quality, new.quality),
            "confidence": min(_MOST_CONFIDENCE, round(1 - unsure, 4)),
            "seen": before.seen + new.seen,
            "first_at": min(before.first_at or before.at, new.first_at or new.at),
            "replaces": new.replaces or before.replaces,
            "superseded_at": None if newest is new else before.superseded_at,
            "superseded_by": "" if newest is new else before.superseded_by,
        }
    )


def _supersede_fact(fact: KnownFact, by: KnownFact) -> KnownFact:
    return fact.model_copy(update={"superseded_at": by.at, "superseded_by": by.text})


def _cap_facts(facts: Sequence[KnownFact]) -> list[KnownFact]:
    """The facts within the bound: superseded ones are dropped first, then the oldest."""
    by_worth = sorted(facts, key=lambda fact: (fact.superseded_at is None, fact.at), reverse=True)
    return by_worth[:FACTS_KEPT]


def _build_fact(raw: RawFact, todo: FactTodo) -> KnownFact:
    text = " ".join(raw.text.split())[:_MOST_CHARACTERS]
    named = dict.fromkeys(name for found in find_entities(f"{raw.subject}. {text}") for name in names_of(found))
    subject = " ".join(raw.subject.split())[:_MOST_OF_FIELD]
    entities = dict.fromkeys((*((subject,) if subject else ()), *named))
    return KnownFact(
        text=text,
        domain=todo.process_type,
        keywords=keywords(f"{raw.attribute} {text}"),
        entities=tuple(entities)[:_MOST_ENTITIES],
        quality=todo.quality,
        task_id=todo.task_id,
        session_id=todo.session_id,
        at=todo.ended_at,
        first_at=todo.ended_at,
        subject=subject,
        attribute=" ".join(raw.attribute.split())[:_MOST_OF_FIELD],
        value=" ".join(raw.value.split())[:_MOST_OF_FIELD],
        confidence=raw.confidence,
    )


def _meaning_of(fact: KnownFact) -> tuple[str, frozenset[str]] | None:
    return _subject_and_attribute_stems(fact.subject, fact.attribute)


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def _subject_and_attribute_stems(subject: str, attribute: str) -> tuple[str, frozenset[str]] | None:
    """The subject and the stems of the attribute's words; None if one of them is missing."""
    stems = frozenset(map(stem, attribute.casefold().replace("_", " ").split()))
    return (_normalize_subject(subject), stems) if subject and stems else None


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def _normalize_subject(name: str) -> str:
    """A subject's name for comparison; a company's legal form is removed."""
    return name_without_legal_form(name).casefold()


def _value_of(fact: KnownFact) -> frozenset[str]:
    return _value_words(fact.value)


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def _value_words(value: str) -> frozenset[str]:
    """A value for comparison: money and dates in a normal form, else its words."""
    found = find_entities(value)
    if found:
        return frozenset(one.field for one in found)
    return frozenset(map(_normalize_word, value.casefold().split()))


def _normalize_word(word: str) -> str:
    bare = word.strip(".,;:()\"'")
    number = read_number(bare) if bare[:1].isdigit() and bare.replace(",", "").replace(".", "").isdigit() else None
    return stem(bare) if number is None else number_as_text(number)


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def _find_figures(text: str) -> frozenset[str]:
    return frozenset(_normalize_word(word) for word in text.casefold().split() if any(map(str.isdigit, word)))
