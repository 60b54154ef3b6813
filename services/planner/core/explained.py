"""Which words of a question what was read accounts for: one that it does not know may be what the question turns on."""

import re
from collections.abc import Iterable

from services.planner.core.mentions import MentionKind, find
from services.planner.core.records import FactRecord
from services.planner.core.words import FAMILIES, STOP, field_stems, stem, stems, text_stems, text_words

_LEAST = 3  # letters that two words begin with alike: ``owns`` and ``owner``
_ASKING = stems(
    "tell give show say name called me us state list detail information info data record much many high large big "
    "exact current currently now today already know look see find out status thing one ones them exist number id "
    "ids amount over above more greater exceed exceeding larger higher bigger least most under below less smaller "
    "lower cheaper up within maximum minimum open pending outstanding undecided waiting unresolved cancelled "
    "canceled json answer work belong".split()
)


_READING = stems(FAMILIES["read"])


def unexplained_words(question: str, records: Iterable[FactRecord]) -> frozenset[str]:
    """The stems of a question's words that the records neither are called by nor hold, and that no question needs."""
    for mention in reversed(find(question)):
        before = question[: mention.start]
        if mention.kind is MentionKind.ID:  # the word before it says what it is the identifier of
            before = re.sub(r"[^\W\d_]+\s+$", "", before)
        question = f"{before} {question[mention.end :]}"
    words = text_words(question)
    if words and stem(words[0]) in _READING:  # "check ...": what is asked for stands behind it
        words = words[1:]
    asked = frozenset(stem(word) for word in words if word not in STOP) - _ASKING
    if not asked:
        return asked
    known: set[str] = set()
    for record in records:
        known |= record.noun
        for name, value in record.fields.items():
            known |= field_stems(name)
            known |= text_stems(value) if isinstance(value, str) else frozenset()
        for name, given in record.fact.arguments.items():
            known |= field_stems(name) | text_stems(str(given))
    return frozenset(word for word in asked if not any(are_related(word, one) for one in known))


def are_related(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    return word == other or (len(shorter) >= _LEAST and longer.startswith(shorter) and not re.search(r"\d", longer))
