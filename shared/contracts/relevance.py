"""Which learned cases are worth reading, and which cases, facts and entities are relevant to a new task.

A log of cases lists the newest first.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from math import ceil

from shared.contracts.knowledge import CaseEntry, KnownEntity, KnownFact
from shared.domain.cases import POOR_QUALITY, CaseOutcome
from shared.domain.identity_cache import cached_by_identity

_CASES_SHOWN = 3
_OLD_CASE_AGE = timedelta(hours=72)
_FEWEST_FAILURES_OF_A_PATTERN = 3  # so many failures alike are one lesson learned, not three
_LEAST_WORD_OVERLAP = 0.5
_MOST_SHARE_PRUNED = 0.7
_FEWEST_CASES_LEFT = 3


def prune_cases(log: Sequence[CaseEntry], now: datetime) -> list[CaseEntry]:
    """Drops cases from a case log that teach little: poor failures, repeated failures, and cases over 72 hours old.
    ``log`` must never be changed, because the result is cached for it.

    If that would drop more than 70 % of the log, its better half is kept instead, and at least three cases.
    """
    since = now - _OLD_CASE_AGE
    teaching = _drop_uninstructive_cases(log)
    recent = [case for case in teaching if case.at >= since]
    if len(log) - len(recent) <= _MOST_SHARE_PRUNED * len(log):
        return recent
    return sorted(log, key=lambda case: -case.quality)[: max(_FEWEST_CASES_LEFT, ceil(len(log) / 2))]


def select_relevant_cases(log: Iterable[CaseEntry], words: Iterable[str]) -> list[CaseEntry]:
    """The three cases that share most keywords with a task; ties go to quality, then to the one listed first."""
    task_words, cases_by_overlap = frozenset(words), dict[int, list[CaseEntry]]()
    for case in log:
        cases_by_overlap.setdefault(len(task_words.intersection(case.keywords)), []).append(case)
    best_cases: list[CaseEntry] = []
    for overlap in sorted(cases_by_overlap.keys() - {0}, reverse=True):
        best_cases += sorted(cases_by_overlap[overlap], key=lambda case: case.quality, reverse=True)
        if len(best_cases) >= _CASES_SHOWN:
            break
    return best_cases[:_CASES_SHOWN]


@cached_by_identity(64)  # one log comes with several tasks
def _drop_uninstructive_cases(log: Sequence[CaseEntry]) -> list[CaseEntry]:
    """The cases except failures that are of poor quality, or among three or more with similar keywords."""
    return [
        case
        for case, is_repeated in zip(log, _flag_repeated_failures(log), strict=True)
        if not is_repeated and (case.quality >= POOR_QUALITY or case.outcome is not CaseOutcome.FAILURE)
    ]


def _flag_repeated_failures(log: Sequence[CaseEntry]) -> list[bool]:
    """For each case, whether it is one of three or more failures with similar keywords."""
    words_by_case = [frozenset(case.keywords) if case.outcome is CaseOutcome.FAILURE else frozenset() for case in log]
    times = Counter(words for words in words_by_case if words)
    sets_by_word: dict[str, list[frozenset[str]]] = {}  # only sets that share a word are compared
    for words in times:
        for word in words:
            sets_by_word.setdefault(word, []).append(words)
    alike = {words: sum(times[other] for other in _find_similar_keyword_sets(words, sets_by_word)) for words in times}
    return [bool(words) and alike[words] >= _FEWEST_FAILURES_OF_A_PATTERN for words in words_by_case]


def _find_similar_keyword_sets(
    words: frozenset[str], sets_by_word: Mapping[str, Sequence[frozenset[str]]]
) -> list[frozenset[str]]:
    """The keyword sets, also ``words``, that share with ``words`` at least half of the words that either has."""
    shared = Counter(other for word in words for other in sets_by_word[word])
    return [
        other for other, common in shared.items() if common >= _LEAST_WORD_OVERLAP * (len(words) + len(other) - common)
    ]


FACTS_KEPT = 500
ENTITIES_KEPT = 1_000
ENTITY_LIFETIME = timedelta(days=7)  # what no task has named for so long is forgotten
_FACTS_SHOWN = 4
_MOST_NAMED_SHOWN = 6
_MOST_FREQUENT_SHOWN = 3
_FEWEST_TIMES_NAMED_SEEN = 2
_FEWEST_TIMES_FREQUENT_SEEN = 3  # not fewer than those that are named
_WORDS_WEIGHT, _ENTITIES_WEIGHT, _DOMAIN_WEIGHT, _QUALITY_WEIGHT = 40, 80, 30, 20  # hundredths
_LEAST_SCORE = 40


def select_relevant_facts(facts: Iterable[KnownFact], task: str, words: Iterable[str], domain: str) -> list[KnownFact]:
    """At most four facts that are relevant to the task, by shared words, named entities, process type and quality.

    Ties keep their order, newest first. Contradicted facts are left out. Selecting from the result again returns the
    same.
    """
    task_words, lowered_task = frozenset(words), task.lower()
    scored = [(_score_relevance(fact, task_words, lowered_task, domain), fact) for fact in facts if fact.is_current]
    relevant = sorted((pair for pair in scored if pair[0] >= _LEAST_SCORE), key=lambda pair: -pair[0])
    return [fact for _, fact in relevant[:_FACTS_SHOWN]]


def select_entities_to_show(entities: Sequence[KnownEntity], task: str, now: datetime) -> list[KnownEntity]:
    """The entities to tell a model about: those that the task names, then the few that were named by most tasks; none
    that was named once or last seen long ago.
    """
    since, lowered_task = now - ENTITY_LIFETIME, task.lower()
    seen_often = (entity for entity in entities if entity.seen >= _FEWEST_TIMES_NAMED_SEEN)
    known_entities = sorted(
        (entity for entity in seen_often if entity.last_seen >= since), key=lambda entity: -entity.seen
    )
    named = [entity for entity in known_entities if _is_entity_named(entity, lowered_task)][:_MOST_NAMED_SHOWN]
    frequent = (
        entity for entity in known_entities if entity.seen >= _FEWEST_TIMES_FREQUENT_SEEN and entity not in named
    )
    return [*named, *islice(frequent, _MOST_FREQUENT_SHOWN)]


def _is_entity_named(entity: KnownEntity, lowered_task: str) -> bool:
    """Whether the text has the entity's value or another name of it as whole words."""
    return any(_occurs_in(name.lower(), lowered_task) for name in (entity.value, *entity.names))


def _score_relevance(fact: KnownFact, task_words: frozenset[str], lowered_task: str, domain: str) -> float:
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
