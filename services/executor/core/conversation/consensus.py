"""Whether two drafts say the same (seed 000): most of their words, and every figure and identifier."""

import re
from typing import NamedTuple

from services.executor.core.figures.numbers import normal, number_bearing_tokens
from shared.domain.answer import is_exact_match

THRESHOLD = 0.70  # of the words of both together; a score and no amount of money
_WORD = re.compile(r"[^\W\d_]+(?:n't)?")
_DENIALS = frozenset("not no never nothing none nobody without cannot neither nor".split())
_STOP = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both but by could did do
    does doing during each few for from further had has have having he her here his how i if in into is it its itself
    just me more most my of off on once only or other our out over own same she should so some such than that the their
    them then there these they this those through to too under until up very was we were what when where which while
    who whom why will with would you your
    """.split()
)


class Consensus(NamedTuple):
    """``overlap``: the share of words that both drafts use. ``why`` says what they differ in, if they do."""

    overlap: float
    why: str = ""

    @property
    def reached(self) -> bool:
        return not self.why


def consensus(first: str, second: str) -> Consensus:
    """Of two texts. A draft that is an exact-match list agrees only with its own copy, to the byte (I9)."""
    overlap = _overlap(first, second)
    if is_exact_match(first) or is_exact_match(second):
        return Consensus(overlap, "" if first == second else "the lists are not the same")
    if _marks(first) != _marks(second):
        return Consensus(overlap, "figures or identifiers differ: " + ", ".join(sorted(_marks(first) ^ _marks(second))))
    if _denies(first) != _denies(second):
        return Consensus(overlap, "one denies what the other does not")
    return Consensus(overlap, "" if overlap >= THRESHOLD else "too few words in common")


def _overlap(first: str, second: str) -> float:
    """Jaccard's measure on words without stop-words; two texts without any are alike."""
    one, other = _words(first) - _STOP, _words(second) - _STOP
    return len(one & other) / len(one | other) if one | other else 1.0


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _marks(text: str) -> frozenset[str]:
    """What a wording must not change: amounts, dates, identifiers; however each is written."""
    return frozenset(normal(token) for token in number_bearing_tokens(text))


def _denies(text: str) -> bool:
    """Whether a text denies something: a few words in common with its opposite are many."""
    return any(word in _DENIALS or word.endswith("n't") for word in _words(text))
