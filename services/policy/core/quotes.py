"""Quotes found again in their source, and what of the source nobody quoted."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from services.policy.core.sentences import sentences, words

MAX_QUOTE = 1_000  # characters
_FEWEST_WORDS = 3  # fewer prove nothing: they stand in any text
_COVERED = 0.5  # of a sentence's words
_BETWEEN = "\x1f"  # in no word


class Quotes:
    """A source and the quotes that were marked in it. Case, spacing and punctuation make no difference."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._words = words(source)
        texts = [word.text for word in self._words]
        self._joined = _joined(texts)
        self._offsets = list(accumulate((len(text) + 1 for text in texts), initial=0))  # of the words in it
        self._marked: set[int] = set()

    def words_of(self, quote: str) -> tuple[str, ...]:
        """The quote's words; ``ValueError`` if it is too short or too long to be one, or not in the source."""
        if len(quote) > MAX_QUOTE:
            raise ValueError(f"the quote has {len(quote)} characters; the limit is {MAX_QUOTE}")
        said = tuple(word.text for word in words(quote))
        if len(said) < _FEWEST_WORDS:
            raise ValueError(f"the quote is too short: it has {len(said)} words, and {_FEWEST_WORDS} are needed")
        if _joined(said) not in self._joined:
            raise ValueError("the quote is not in the text")
        return said

    def mark(self, said: Sequence[str]) -> None:
        """Count the words as quoted, wherever they stand."""
        sought = _joined(said)
        at = self._joined.find(sought)
        while at >= 0:
            place = bisect_left(self._offsets, at)
            self._marked.update(range(place, place + len(said)))
            at = self._joined.find(sought, at + len(sought) - 1)

    def uncovered(self) -> Iterator[str]:
        """The sentences of which less than half of the words are quoted."""
        place = 0
        for sentence in sentences(self._source):
            while place < len(self._words) and self._words[place].start < sentence.start:
                place += 1
            first = place
            while place < len(self._words) and self._words[place].start < sentence.end:
                place += 1
            own = range(first, place)
            if own and sum(at in self._marked for at in own) < _COVERED * len(own):
                yield sentence.text


def _joined(texts: Sequence[str]) -> str:
    return f"{_BETWEEN}{_BETWEEN.join(texts)}{_BETWEEN}"
