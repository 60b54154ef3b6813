"""A text as words with their places, and the numbers that are spelled out among them."""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from text_to_num import find_numbers as find_spoken_numbers

from services.executor.core.figures.vocabulary import fold

_WORD = re.compile(r"(?P<digits>\d+)(?:(?:st|nd|rd|th|er|re|ème)(?!\w))?|[Qq][1-4](?!\w)|[^\W\d_]+(?:-[^\W\d_]+)*")
_ORDINAL = re.compile(r"\d+")
_LEAST_ALONE = 0.0  # the least number that text2num reports alone


class WrittenToken(NamedTuple):
    """A run of letters (hyphens inside kept) or of digits; ``folded`` is without case and accents.

    The ending of an ordinal in digits, ``4th``, belongs to its place and not to what is ``written``.
    """

    written: str
    folded: str
    start: int
    end: int


class SpelledNumber(NamedTuple):
    """A number in words, from token ``first`` up to but without token ``after``."""

    first: int
    after: int
    value: Decimal
    is_ordinal: bool


class _Spoken:
    """A token as text2num wants it: two words with more than a space between them are unrelated."""

    __slots__ = ("_is_apart", "_text")

    def __init__(self, text: str, is_apart: bool) -> None:
        self._text = text
        self._is_apart = is_apart

    def text(self) -> str:
        return self._text

    def nt_separated(self, _previous: "_Spoken") -> bool:
        return self._is_apart

    def not_a_number_part(self) -> bool:
        return self._text.isdecimal()


def split_words(text: str) -> list[WrittenToken]:
    """The words of a text in their order."""
    found = ((match["digits"] or match[0], match.span()) for match in _WORD.finditer(text))
    return [WrittenToken(written, fold(written), *span) for written, span in found]


def read_spelled_numbers(text: str, tokens: Sequence[WrittenToken], languages: Sequence[str]) -> list[SpelledNumber]:
    """The numbers that are spelled out, in the first of the languages that reads the word as one."""
    gaps = [text[one.end : other.start] for one, other in pairwise(tokens)]
    apart = [False, *(not gap.isspace() for gap in gaps)]
    spoken = [_Spoken(token.written.lower(), is_apart) for token, is_apart in zip(tokens, apart, strict=False)]
    taken: set[int] = set()
    found: list[SpelledNumber] = []
    for language in languages:
        for one in find_spoken_numbers(spoken, language, _LEAST_ALONE):
            is_letter = one.end == one.start + 1 and len(tokens[one.start].written) == 1  # the "o" of "o'clock"
            if not is_letter and taken.isdisjoint(range(one.start, one.end)):
                taken.update(range(one.start, one.end))
                found.append(SpelledNumber(one.start, one.end, _exact(one.text, one.is_ordinal), one.is_ordinal))
    return sorted(found)


def _exact(written: str, is_ordinal: bool) -> Decimal:
    digits = _ORDINAL.search(written) if is_ordinal else None
    return Decimal(digits[0] if digits else written.replace(",", "."))
