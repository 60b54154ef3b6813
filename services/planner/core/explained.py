"""Which words of a question the records explain; a word that none explains may be the one that matters."""

import re
from collections.abc import Iterable

from services.planner.core.mentions import MentionKind, find_mentions
from services.planner.core.records import FactRecord, read_figure
from services.planner.core.words import (
    FAMILIES,
    STOP,
    are_related,
    field_stems,
    stem,
    stems,
    text_stems,
    text_words,
    with_words_for_rest,
)

_POSSESSIVE = re.compile(r"^['’]s\b")
_ASKING_WORDS = stems(
    "tell give show say name called me us state list detail information info data record much many high large big "
    "exact current currently now today already know look see find out status thing one ones them exist number id "
    "ids amount over above more greater exceed exceeding larger higher bigger least most under below less smaller "
    "lower cheaper up within maximum minimum open pending outstanding undecided waiting unresolved cancelled "
    "canceled json answer work belong".split()
)


_DAY_WORDS, _DAY_PATTERN = stems(("date", "day")), re.compile(r"\d{4}-\d\d-\d\d")
_READING_WORDS = stems(FAMILIES["read"])


def unexplained_words(question: str, records: Iterable[FactRecord], with_values: bool = True) -> frozenset[str]:
    """The stems of a question's content words that neither name nor occur in the records.

    ``with_values``: whether a word may occur in what the records hold; else only their columns explain one.
    """
    for mention in reversed(find_mentions(question)):
        before = question[: mention.start]
        if mention.kind is MentionKind.ID:  # the word before it says what it is the identifier of
            before = re.sub(r"[^\W\d_]+\s+$", "", before)
        question = f"{before} {_POSSESSIVE.sub('', question[mention.end :])}"
    words = text_words(question)
    if words and stem(words[0]) in _READING_WORDS:  # "check ...": what is asked for stands behind it
        words = words[1:]
    asked_stems = frozenset(stem(word) for word in words if word not in STOP) - _ASKING_WORDS
    if not asked_stems:
        return asked_stems
    known_stems: set[str] = set()
    for record in records:
        known_stems |= record.noun
        for name, value in record.fields.items():
            is_figure = read_figure(value) is not None
            known_stems |= with_words_for_rest(field_stems(name)) if is_figure else field_stems(name)
            known_stems |= text_stems(value) if with_values and isinstance(value, str) else frozenset()
            known_stems |= _DAY_WORDS if _DAY_PATTERN.match(str(value)) else frozenset()
        for name, argument in record.fact.arguments.items():
            known_stems |= field_stems(name) | text_stems(str(argument))
    return frozenset(word for word in asked_stems if not any(are_related(word, one) for one in known_stems))


def drop_asking(words: Iterable[str]) -> tuple[str, ...]:
    """The words without those that any question may have."""
    return tuple(word for word in words if stem(word) not in _ASKING_WORDS)
